package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
	"tri/lib/report/history"
)

func same(reason string) string { return "<" + reason + ">" }

func TestWhy(t *testing.T) {
	h := build(t)
	for _, tt := range []struct{ id, outcome, reason, says string }{
		{"dev:11", Dropped, "<ack:words>", "ack (0.8): <ack:words>"},
		{"local:dev:11", Dropped, "<ack:words>", "event "},
		{"20", Answered, "posted as 21 at 2026-03-02 11:0", "by ana via terminal"},
		{"20", Answered, "approved by ana", "ref 1 supports by code: stands there"},
		{"20", Answered, "approved by ana", "trace ok by code: of the names in the draft, 2 occur"},
		{"20", Answered, "approved by ana", "round 1, search: done in 0s, 1000 tokens, $0.0200"},
		{"20", Answered, "approved by ana", "part 1 of 1: posted as 21"},
		{"21", Ours, "our own reply in cycle 1, approved by ana", ""},
		{"30", Waiting, "for a person: quotes checked", "Three times, in client.go:3."},
		{"31", Context, "kept beside what ben asked", ""},
		{"40", Waiting, "for a person: failed: took longer than 5m0s", "failed in 0s"},
		{"50", Parked, "it is not known whether it was posted: no answer came",
			"part 1 of 1: parked: no answer came"},
		{"60", Closed, "dismissed: nobody", "dismiss"},
		{"70", Working, "an actionable message", "round 1, not begun: due"},
		{"71", Queued, "the next cycle answers it", ""},
		{"80", Approved, "approved by ana at", ""},
		{"85", Gone, "deleted in the chat", "deleted"},
		{"90", Dropped, "the dispatcher has read it", ""},
		{"91", Undispatch, "the dispatcher has not read it", ""},
		{"92", Unread, "the classifier has not read it", ""},
	} {
		s, err := Why(h, team(), tt.id, same)
		if err != nil {
			t.Errorf("%s: %v", tt.id, err)
			continue
		}
		var out strings.Builder
		if err := s.Print(&out); err != nil {
			t.Fatal(err)
		}
		if s.Outcome != tt.outcome || !strings.Contains(s.Reason, tt.reason) ||
			!strings.Contains(out.String(), tt.says) || len(s.Troubles) > 0 {
			t.Errorf("%s: %s: %s, want %s: %s and %q in\n%s", tt.id, s.Outcome, s.Reason, tt.outcome,
				tt.reason, tt.says, out.String())
		}
	}
}

// TestEveryMessageHasOneOutcome: it also has a reason and a record.
func TestEveryMessageHasOneOutcome(t *testing.T) {
	h := build(t)
	text, err := h.ReadFile(eventsLog)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var e struct {
			ChatID    string `json:"chat_id"`
			MessageID string `json:"message_id"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		s, err := Why(h, team(), e.ChatID+":"+e.MessageID, same)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var out bytes.Buffer
		if err := WriteJSON(&out, s); err != nil {
			t.Fatal(err)
		}
		if err := ndjson.Check(bytes.TrimSpace(out.Bytes())); err != nil || s.Outcome == "" ||
			s.Reason == "" || s.MessageID != e.MessageID || s.ChatID != e.ChatID {
			t.Errorf("%s: %+v, %v", line, s, err)
		}
		n++
	}
	if n < 18 {
		t.Errorf("only %d messages", n)
	}
}

// TestWhyByKey: a key names its own conversation, also where it is the beginning of another key, or where
// the first message of the item is in another item too.
func TestWhyByKey(t *testing.T) {
	h := build(t)
	b := &builder{t: t, home: h, minute: 600, size: int64(len(readAll(t, h, eventsLog)))}
	b.say("2", "", "cho", "hm", event.Ambient, "nothing-asked")
	shared := b.say("93", "", "ben", "and both?", event.Actionable, "question:ends-with-mark")
	facts := &thread.Facts{QuestionType: "technical_qa", Codebase: "/src", Tier: 1}
	b.take(shared)
	b.input(thread.Input{Key: shared.Key(), Event: shared, Facts: facts,
		Beside: &thread.Beside{Key: shared.Key() + "~2"}})
	b.input(thread.Input{Key: shared.Key() + "~2", Event: shared, Facts: facts})
	b.fold()
	for key, content := range map[string]string{"local.dev.2": "hm", "local.dev.20": "what is the limit?",
		"local.dev.93": "and both?", "local.dev.93~2": "and both?"} {
		if s, err := Why(h, team(), key, same); err != nil || s.Key != key || s.Content != content {
			t.Errorf("%s: %+v, %v", key, s, err)
		}
	}
}

func readAll(t *testing.T, h *durable.Home, name string) []byte {
	t.Helper()
	text, err := h.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhyOfWhatIsNotThere(t *testing.T) {
	h := build(t)
	for _, tt := range []struct {
		id     string
		status int
		says   string
	}{
		{"999", sysexit.No, "no such message"},
		{"ops:20", sysexit.No, "no such message"},
		{"1", sysexit.No, "no such message"},
		{`0"`, sysexit.No, "no such message"},
		{"", sysexit.Usage, "which message"},
		{"10", sysexit.Usage, "names 2 messages: local:dev:10 local:ops:10"},
	} {
		_, err := Why(h, team(), tt.id, same)
		if status, _ := sysexit.Of(err); status != tt.status || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v", tt.id, err)
		}
	}
	if _, err := Why(h, team(), "999", same); !errors.Is(err, errUnknown) {
		t.Errorf("%v", err)
	}
}

func TestNothingActsOnTheTerminal(t *testing.T) {
	h := build(t)
	s, err := Why(h, team(), "dev:10", same)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := s.Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") || !strings.Contains(out.String(), "<U+001B>") {
		t.Errorf("%q", out.String())
	}
}

func TestBrokenLogsAreTold(t *testing.T) {
	h := build(t)
	f, err := os.OpenFile(h.Path("decisions.ndjson"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("X"), 8); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s, err := Why(h, team(), "20", same)
	if err != nil || s.Outcome != Answered || len(s.Troubles) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if b := Morning(h, team(), noon, noon.Add(-24*time.Hour)); len(b.Troubles) == 0 {
		t.Error("the brief does not tell")
	}
}

func TestPipesLeaveLessAndItIsToldAll(t *testing.T) {
	h := build(t)
	for _, name := range []string{eventsLog, classifiedLog} {
		if err := h.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Why(h, team(), "20", same)
	if err != nil || s.Outcome != Answered || s.Events[0].Classification != "actionable" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestMorning(t *testing.T) {
	h := build(t)
	spent, err := h.ReadFile(spendLog)
	if err != nil {
		t.Fatal(err)
	}
	validation := `{"at":"2026-03-02T10:00:00Z","kind":"reserve","day":"2026-03-02","run_id":"v-1","work":"validate"}`
	if err := h.Replace(spendLog, append(spent, validation+"\n"...)); err != nil { // it is not an investigation
		t.Fatal(err)
	}
	b := Morning(h, team(), noon, noon.Add(-24*time.Hour))
	if len(b.Waiting) != 2 || b.Waiting[0].Text != "and the timeout?" || b.Waiting[1].Note != "failed" {
		t.Errorf("waiting %+v", b.Waiting)
	}
	if b.Moving != 1 || b.Approved != 2 || len(b.Parked) != 1 || len(b.Answered) != 1 || len(b.Failed) != 1 {
		t.Errorf("%+v", b)
	}
	if b.Messages != b.Actionable+b.Dropped["nothing-asked"]+b.Dropped["ack:words"]+b.Dropped["own-message"]+
		b.Dropped["deleted"] || b.Actionable != 10 {
		t.Errorf("%d messages, %d ask, dropped %v", b.Messages, b.Actionable, b.Dropped)
	}
	if b.Spend.Investigations != 5 || b.Spend.Limit != 50 {
		t.Errorf("%+v", b.Spend)
	}
	if len(b.Troubles) > 0 {
		t.Error(b.Troubles)
	}
	b.Spend.Tokens = 0
	var out strings.Builder
	if err := b.Print(&out); err != nil || strings.Contains(out.String(), " tokens") {
		t.Errorf("no tokens are shown as tokens: %v\n%s", err, out.String())
	}
	later := Morning(build(t), team(), noon.Add(48*time.Hour), noon.Add(24*time.Hour))
	if later.Messages+len(later.Answered)+len(later.Failed)+later.Spend.Investigations != 0 ||
		len(later.Waiting) != 2 {
		t.Errorf("a day later: %+v", later)
	}
}

func TestBriefFitsOneScreen(t *testing.T) {
	b := &Brief{At: noon.Format(time.RFC3339), Since: noon.Format(time.RFC3339), Dropped: map[string]int{}}
	long := strings.Repeat("wörter \x1b[1m\n", 400)
	for i := range 300 {
		it := Item{Key: fmt.Sprint(long, i), Chat: long, Who: long, Text: long, Note: long, At: at(-i)}
		b.Waiting, b.Parked, b.Answered, b.Failed = append(b.Waiting, it), append(b.Parked, it),
			append(b.Answered, it), append(b.Failed, it)
		b.Dropped[fmt.Sprint("rule:", i)] = i
		b.Troubles = append(b.Troubles, long)
	}
	var out strings.Builder
	if err := b.Print(&out); err != nil {
		t.Fatal(err)
	}
	// 2,000 tokens, the limit of AC-02, are about 8,000 characters.
	if lines := strings.Count(out.String(), "\n"); lines > 25 || out.Len() > 6000 ||
		strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d lines, %d bytes\n%s", lines, out.Len(), out.String())
	}
	if !strings.Contains(out.String(), "and 293 more: tri-approve list") {
		t.Error(out.String())
	}
}

func TestBriefTellsOfExpiry(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := decision.Record{At: at(-1), By: decision.Dispatcher, Via: "code", Key: "k", Cycle: 1, Text: "x",
		DraftSHA256: decision.Sum("x")}
	for _, kind := range []string{decision.Offer, decision.Withdraw} {
		r.Kind, r.Note = kind, decision.ExpiredNote
		if _, err := decision.Append(h, r); err != nil {
			t.Fatal(err)
		}
	}
	_, _, ready, expired, err := words(h, config.Default(), text.ParseTime(at(-10)).Add(-time.Hour))
	var out strings.Builder
	b := &Brief{At: noon.Format(time.RFC3339), Since: noon.Format(time.RFC3339), Expired: expired}
	if err := errors.Join(err, b.Print(&out)); err != nil || ready != 1 || expired != 1 ||
		!strings.Contains(out.String(), "1 expired: tri-approve undo brings one back") {
		t.Errorf("%d ready, %d expired, %v\n%s", ready, expired, err, out.String())
	}
}

func TestSince(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var log strings.Builder
	offsets := map[int]int64{}
	for i := range 5000 {
		offsets[i] = int64(log.Len())
		fmt.Fprintf(&log, "{\"at\":%q,\"x\":%q}\n",
			noon.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), strings.Repeat("y", i%500))
	}
	log.WriteString(`{"at":"torn`)
	if err := os.WriteFile(h.Path("log"), []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 7, 2500, 4998, 4999} {
		off, err := history.Since(h, "log", "at", noon.Add(time.Duration(i)*time.Minute))
		if err != nil || off > offsets[i] || offsets[i]-off > 16<<10 {
			t.Errorf("line %d stands at %d, found %d, %v", i, offsets[i], off, err)
		}
		first := ""
		if err := history.Recent(h, "log", "at", noon.Add(time.Duration(i)*time.Minute), func(line []byte) error {
			if first == "" {
				first = string(line[:30])
			}
			return nil
		}); err != nil || !strings.Contains(first, noon.Add(time.Duration(i)*time.Minute).Format("15:04")) {
			t.Errorf("line %d: began with %s, %v", i, first, err)
		}
	}
	if off, err := history.Since(h, "none", "at", noon); off != 0 || err != nil {
		t.Errorf("%d, %v", off, err)
	}
}

func TestScanPassesOverLongLines(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	text := "one\n" + strings.Repeat("x", 3*ndjson.MaxLine) + "\ntwo\ntorn"
	if err := os.WriteFile(h.Path("log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := scan(h, "log", 0, nil, func(line []byte) error {
		got = append(got, string(line))
		return nil
	}); err != nil || strings.Join(got, " ") != "one two" {
		t.Errorf("%.40q, %v", got, err)
	}
}

// TestLeftOut: of several questions answered together, one that the answer does not cover is not
// reported as answered.
func TestLeftOut(t *testing.T) {
	c := &Cycle{
		Question: []string{"1", "2"},
		asked: []thread.Message{{MessageID: "1", Content: "where is the RetryLimit set?"},
			{MessageID: "2", Content: "and which port does the proxy use?"}},
		Reply: &outbox.Reply{Outcome: outbox.Posted, PostedMessageID: "9",
			ReplyText: "RetryLimit is 5: `retry.go:3`.", ApprovedBy: "ana"},
	}
	for id, want := range map[string]string{"1": Answered, "2": Open} {
		if got, why := (&teller{story: &Story{MessageID: id}}).asked(c); got != want {
			t.Errorf("%s: %s (%s), want %s", id, got, why, want)
		}
	}
}

// TestBriefTellsAlerts shows a question that was edited after its thread was closed.
func TestBriefTellsAlerts(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	at := time.Now().UTC()
	th := &thread.Thread{Key: "local.dev.1", ChatName: "dev", Status: thread.Closed, Cycle: 1,
		Alerts: []thread.Note{
			{At: at.Add(-48 * time.Hour).Format(time.RFC3339), Text: "an old one"},
			{At: at.Format(time.RFC3339), Text: "the question was edited after it was closed"},
		}}
	if err := th.Save(h); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Morning(h, config.Default(), at.Add(time.Minute), at.Add(-time.Hour)).Print(&b); err != nil {
		t.Fatal(err)
	}
	if want := "the question was edited after it was closed (tri-report why local.dev.1)"; !strings.Contains(b.String(), want) || strings.Contains(b.String(), "an old one") {
		t.Errorf("want %q in\n%s", want, b.String())
	}
}

// TestBriefNamesWhatWasAnswered: an answer stands with its own question, whatever reopened its thread.
func TestBriefNamesWhatWasAnswered(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	th := &thread.Thread{Key: "local.dev.1", Status: thread.Investigating, Cycle: 2,
		Messages: []thread.Message{{MessageID: "5", Content: "which port?"}},
		Context:  []thread.Message{{MessageID: "1", Content: "how many retries?"}}}
	line, err := json.Marshal(outbox.Reply{Key: th.Key, Cycle: 1, ReplyToMessageID: "1", PostedAt: at(-1),
		Outcome: outbox.Posted, ReplyText: "Five."})
	err = errors.Join(err, th.Save(h), os.WriteFile(h.Path(repliesLog), append(line, '\n'), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	b := Morning(h, config.Default(), noon, text.ParseTime(at(-10)).Add(-time.Hour))
	if len(b.Answered) != 1 || b.Answered[0].Question != "how many retries?" {
		t.Errorf("%+v", b.Answered)
	}
}
