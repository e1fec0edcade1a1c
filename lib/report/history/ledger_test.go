package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/decision"
)

type m = map[string]any

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func at(minutes int) string {
	return noon.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
}

func open(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func put(t *testing.T, h *durable.Home, name string, vs ...any) {
	t.Helper()
	var b strings.Builder
	for _, v := range vs {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := h.Replace(name, []byte(b.String())); err != nil {
		t.Fatal(err)
	}
}

func said(id, who, text, class string, minute int) m {
	return m{"message_id": id, "chat_name": "dev", "create_time": at(minute), "content": text,
		"sender": m{"id": who, "name": strings.ToUpper(who)}, "classification": class}
}

func TestRead(t *testing.T) {
	h := open(t)
	cost := 0.5
	put(t, h, Journal,
		m{"at": at(0), "key": "k", "event": said("1", "ben", "why?", "actionable", 0),
			"facts": m{"question_type": "technical_qa"}},
		m{"at": at(1), "key": "k", "run": m{"run_id": "i-1", "kind": "investigate", "cycle": 1, "round": 1,
			"agent": "claude", "status": "done", "started_at": at(0), "ended_at": at(1),
			"usage": m{"input_tokens": 900, "output_tokens": 100, "cost_usd": cost},
			"value": m{"draft_reply": "It is 3."}}},
		m{"at": at(2), "key": "k", "run": m{"run_id": "v-1", "kind": "validate", "cycle": 1, "round": 1,
			"agent": "codex", "status": "done", "started_at": at(1), "ended_at": at(2),
			"usage": m{"tokens_unknown": true, "cost_usd": nil}, "value": m{"verdict": "pass"}}},
		m{"at": at(3), "key": "k", "event": said("2", "cho", "thanks", "ack", 3)},
		m{"at": at(4), "key": "k", "spent": m{"run_id": "i-2", "why": "budget spent"}},
	)
	word := func(kind, text string, minute int) {
		r := decision.Record{At: at(minute), Kind: kind, By: "ana", Key: "k", Cycle: 1, Text: text,
			DraftSHA256: decision.Sum("It is 3."), Target: &decision.Target{ReplyToID: "1"}, Distance: 7}
		if kind == decision.Edit {
			r.Original, r.DraftSHA256 = decision.Sum("It is 3."), decision.Sum(text)
		}
		if _, err := decision.Append(h, r); err != nil {
			t.Fatal(err)
		}
	}
	word(decision.Offer, "It is 3.", 2)
	word(decision.Approve, "It is 3.", 5)
	word(decision.Undo, "", 6)
	word(decision.Edit, "It is 4.", 7)
	put(t, h, RepliesLog, m{"key": "k", "cycle": 1, "reply_to_message_id": "1", "posted_at": at(10),
		"outcome": "posted"}, m{"key": "x", "cycle": 1, "reply_to_message_id": "9", "posted_at": at(11),
		"outcome": "posted"}, m{"key": "k", "cycle": 1, "reply_to_message_id": "1", "posted_at": at(12),
		"outcome": "posted", "validator_verdict": "notice"})
	put(t, h, SpendLog, m{"at": at(0), "kind": "reserve", "day": "2026-03-02", "run_id": "i-1",
		"person": "ben"}, m{"at": at(1), "kind": "settle", "day": "2026-03-02", "run_id": "i-1"})

	l, err := Read(h, decision.Policy{Approvers: []string{"ana"}}, noon.Add(-time.Hour), noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Runs) != 2 || *l.Runs[0].CostUSD != 0.5 || l.Runs[0].Tokens != 1000 ||
		l.Runs[1].CostUSD != nil || l.Runs[1].Tokens != -1 || l.Runs[1].Verdict != "pass" {
		t.Errorf("%+v %+v", l.Runs[0], l.Runs[1])
	}
	if a := l.Runs[0].Asked; a == nil || a.Person != "BEN" || a.Type != "technical_qa" ||
		l.Runs[0].SHA256 != decision.Sum("It is 3.") || l.Run("v-1") != l.Runs[1] {
		t.Errorf("%+v", a)
	}
	if d := l.Drafts[0]; len(l.Drafts) != 1 || d.Word != decision.Edit || d.Distance != 7 ||
		d.Asked.MessageID != "1" || !d.Decided.Equal(noon.Add(7*time.Minute)) {
		t.Errorf("%+v", d)
	}
	if len(l.Replies) != 2 {
		t.Errorf("%d answers: a notice is none", len(l.Replies))
	}
	wait, ok := l.Replies[0].Wait()
	if _, unknown := l.Replies[1].Wait(); !ok || wait != 10*time.Minute || unknown {
		t.Errorf("%v %v", wait, ok)
	}
	if len(l.Refused) != 1 || len(l.Reserved) != 1 || !l.Started.Equal(noon) {
		t.Errorf("%+v", l)
	}
	later := l.Since(noon.Add(8 * time.Minute))
	if len(later.Runs)+len(later.Drafts)+len(later.Refused) != 0 || len(later.Replies) != 2 {
		t.Errorf("%+v", later)
	}
	// A narrower window still has the questions asked before it.
	if l, err := Read(h, decision.Policy{}, noon.Add(9*time.Minute), noon.Add(time.Hour)); err != nil ||
		len(l.Replies) != 2 || l.Replies[0].Asked == nil {
		t.Errorf("%v", err)
	}
	if l, err := Read(open(t), decision.Policy{}, time.Time{}, noon); err != nil || len(l.Runs) != 0 {
		t.Errorf("an empty home: %v", err)
	}
}

func TestReadTalk(t *testing.T) {
	h := open(t)
	var lines []any
	add := func(id, root, who, class string, minute, lag int) {
		e := m{"chat_id": "dev", "message_id": id, "create_time": at(minute),
			"classified_at": noon.Add(time.Duration(minute)*time.Minute +
				time.Duration(lag)*time.Second).Format(time.RFC3339), "sender": m{"id": who, "type": "user"},
			"classification": class, "thread_id": nil}
		if root != "" {
			e["thread_id"] = root
		}
		lines = append(lines, e)
	}
	add("1", "", "ben", "actionable", 0, 1)
	add("2", "1", "ben", "ambient", 1, 1)  // the asker
	add("3", "1", "cho", "ambient", 30, 5) // the answer
	add("4", "1", "ana", "ack", 40, 1)
	add("5", "", "ben", "actionable", 50, 90000) // imported, answered late
	for i := range 500 {
		add(fmt.Sprint("x", i), "", "eve", "ambient", 60+i, 1)
	}
	for i := range 2 { // the answer is in another part
		add(fmt.Sprint("a", i), "5", "ben", "ambient", 600, 1)
		add(fmt.Sprint("b", i), "5", "cho", "ambient", 601+i, 1)
		add(fmt.Sprint("c", i), "5", "dan", "ambient", 610, 1)
	}
	put(t, h, ClassifiedLog, lines...)
	b, err := h.ReadFile(ClassifiedLog)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Replace(ClassifiedLog, append(b, "{broken}\n"...)); err != nil {
		t.Fatal(err)
	}
	talk, err := ReadTalk(h, time.Time{}, time.Time{}, noon.Add(2000*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(talk.Waits) != 2 || talk.Waits[0].Took != 30*time.Minute ||
		talk.Waits[1].Took != 551*time.Minute || talk.Broken != 1 {
		t.Errorf("%+v, %d broken", talk.Waits, talk.Broken)
	}
	asking, all := talk.Totals()
	if asking != 2 || all != 511 || len(talk.Days) != 1 || talk.Days[0].Ack != 1 ||
		!maps.Equal(talk.Days[0].Lags, Lags{10: 509, 50: 1}) {
		t.Errorf("%d of %d, %d days", asking, all, len(talk.Days))
	}
	if talk, err := ReadTalk(h, noon.Add(5*time.Hour), time.Time{}, time.Time{}); err != nil ||
		len(talk.Waits) != 0 || talk.Days[0].Total() >= 511 || talk.Days[0].Total() < 250 {
		t.Errorf("%+v, %v", talk, err)
	}
}

// TestReadPast: an exported history has waits, of questions before a time.
func TestReadPast(t *testing.T) {
	h := open(t)
	if waits, err := ReadPast(h, noon); err != nil || waits != nil {
		t.Errorf("without a history: %v, %v", waits, err)
	}
	question := func(id string, minute int) any { return said(id, "ana", "why?", "actionable", minute) }
	answer := func(to string, minute int) any {
		a := said(to+"a", "ben", "so", "ambient", minute)
		a["thread_id"] = to
		return a
	}
	put(t, h, Past, question("1", 0), answer("1", 3), question("3", 10), answer("3", 12))
	waits, err := ReadPast(h, text.ParseTime(at(5)))
	if err != nil || len(waits) != 1 || waits[0].Took != 3*time.Minute {
		t.Errorf("%v, %v", waits, err)
	}
}

// TestLags: the percentile is the same as in the sorted list.
func TestLags(t *testing.T) {
	for _, tt := range []struct {
		lags         Lags
		median, tail float64
	}{
		{nil, math.NaN(), math.NaN()}, {Lags{7: 1}, 0.7, 0.7}, {Lags{10: 1, 20: 1}, 2, 2},
		{Lags{0: 90, 10: 5, 300: 5}, 0, 30}, {Lags{0: 95, 10: 4, 20: 1}, 0, 1},
	} {
		median, tail := tt.lags.Seconds(50), tt.lags.Seconds(95)
		if fmt.Sprint(median, tail) != fmt.Sprint(tt.median, tt.tail) {
			t.Errorf("%v: got %v and %v, want %v and %v", tt.lags, median, tail, tt.median, tt.tail)
		}
	}
}

// TestParts: every line is in exactly one part, wherever the boundaries are.
func TestParts(t *testing.T) {
	h := open(t)
	var want strings.Builder
	for i := range 300 {
		fmt.Fprintf(&want, "%d%s\n", i, strings.Repeat("y", i%70))
	}
	if err := h.Replace("log", []byte(want.String())); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 40; n++ {
		cuts, err := Split(h, "log", 0, -1, n)
		if err != nil || len(cuts) != n+1 {
			t.Fatal(cuts, err)
		}
		var got strings.Builder
		for i := range n {
			if err := h.LinesUntil("log", cuts[i], cuts[i+1], func(line []byte) error {
				got.Write(append(line, '\n'))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want.String() {
			t.Errorf("%d parts", n)
		}
	}
}

// TestBrokenLine: wherever one line of a log is broken, the others of a window are read.
func TestBrokenLine(t *testing.T) {
	h := open(t)
	const all, old = 600, 90
	lines := make([]string, all)
	for i := range lines {
		lines[i] = fmt.Sprintf("{\"pad\":%q,\"classified_at\":%q}\n", strings.Repeat("x", 100), at(60*i))
	}
	for bad := range all {
		whole := lines[bad]
		lines[bad] = "{\"torn\":\n"
		if err := h.Replace(ClassifiedLog, []byte(strings.Join(lines, ""))); err != nil {
			t.Fatal(err)
		}
		lines[bad] = whole
		got, want := 0, all-old
		if bad >= old {
			want--
		}
		err := Recent(h, ClassifiedLog, "classified_at", noon.Add(old*time.Hour), func([]byte) error {
			got++
			return nil
		})
		if err != nil || got != want {
			t.Errorf("line %d is broken: %d lines are read, want %d; %v", bad, got, want, err)
		}
	}
}
