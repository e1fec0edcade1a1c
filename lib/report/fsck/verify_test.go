package fsck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

const at = "2026-03-02T10:00:00Z"

// home returns a home in which a question was asked and its answer posted.
func home(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string, v any) {
		t.Helper()
		line, err := json.Marshal(v)
		must(err)
		l, err := h.OpenLog(name)
		must(err)
		_, err = l.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil })
		must(errors.Join(err, l.Close()))
	}
	size := int64(0)
	var asked *event.Classified
	for _, id := range []string{"1", "2"} {
		e := &event.Classified{Event: event.Event{
			Seq: new(size), Platform: "local", ChatID: "dev", ChatName: "dev", MessageID: id, CreateTime: at,
			MsgType: "text",
			Content: "why\tdoes it fail? \"{[", Sender: event.Sender{ID: "ben", Type: "user"},
			Mentions: []string{},
		}, Classification: event.Actionable, ClassifierConfidence: 0.9, ClassifierVersion: "v",
			ClassifiedAt: at, Reasons: []string{"question:ends-with-mark"}}
		put("events.ndjson", e.Event)
		put("events-classified.ndjson", e)
		line, err := json.Marshal(e.Event)
		must(err)
		size += int64(len(line)) + 1
		if asked == nil {
			asked = e
		}
	}
	in := thread.Input{At: at, Key: asked.Key(), Event: asked,
		Facts: &thread.Facts{QuestionType: thread.TechnicalQA, Tier: 1}}
	put(journal.Name, in)
	th, _ := thread.Apply(thread.Thread{}, in)
	must(th.Save(h))
	r := decision.Record{At: at, By: "ana", Via: "terminal", Key: in.Key, Cycle: 1, Text: "It is 3.",
		DraftSHA256: decision.Sum("It is 3."),
		Target: &decision.Target{Platform: "local", ChatID: "dev", ThreadID: "1", ReplyToID: "1",
			QuestionSHA256: decision.Sum("q")}}
	for _, kind := range []string{decision.Offer, decision.Approve, decision.Claim} {
		r.Kind = kind
		_, err := decision.Append(h, r)
		must(err)
	}
	put("replies.ndjson", outbox.Reply{Platform: "local", ChatID: "dev", ReplyToMessageID: "1",
		PostedMessageID: "3", PostedAt: at, ReplyText: "It is 3.",
		InvestigatorTaskID: "i-" + strings.Repeat("0", 24), ValidatorVerdict: "pass", InvestigatorRounds: 1,
		Key: in.Key, Cycle: 1, DraftSHA256: r.DraftSHA256, Outcome: outbox.Posted, ApprovedBy: "ana"})
	return h
}

// change rewrites a file of the home.
func change(t *testing.T, h *durable.Home, name string, with func([]byte) []byte) {
	t.Helper()
	b, err := h.ReadFile(name)
	if err == nil {
		err = os.WriteFile(h.Path(name), with(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func swap(old, with string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(with), 1) }
}

func TestWhole(t *testing.T) {
	r, err := Home(home(t))
	if err != nil || !r.OK || len(r.Findings) != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	var out, records strings.Builder
	if err := errors.Join(r.Print(&out), r.WriteJSON(&records)); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "the chain holds; record 3 is ") ||
		strings.Count(records.String(), "\n") != 7 {
		t.Error(out.String(), records.String())
	}
	// A write in progress is reported and is not a fault.
	h := home(t)
	change(t, h, "events.ndjson", func(b []byte) []byte { return append(b, `{"se`...) })
	if r, err := Home(h); err != nil || !r.OK || find(r, "events.ndjson").Torn != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

func find(r *Report, what string) Finding {
	for _, f := range r.Findings {
		if f.What == what {
			return f
		}
	}
	return Finding{}
}

// TestBroken: every defect is reported, and nothing else.
func TestBroken(t *testing.T) {
	const open = "open/local.dev.1.json"
	for name, tt := range map[string]struct {
		spoil      func(t *testing.T, h *durable.Home)
		what, says string
	}{
		"a decision changed": {func(t *testing.T, h *durable.Home) {
			change(t, h, decision.LogName, swap(`"by":"ana"`, `"by":"eve"`))
		}, decision.LogName, "it does not follow from the record before"},
		"the last decision changed": {func(t *testing.T, h *durable.Home) {
			change(t, h, decision.LogName, func(b []byte) []byte {
				i := bytes.LastIndex(b, []byte(`"terminal"`))
				return append(b[:i:i], append([]byte(`"TERMINAL"`), b[i+10:]...)...)
			})
		}, decision.LogName, "not the record that was written"},
		"a decision taken out": {func(t *testing.T, h *durable.Home) {
			change(t, h, decision.LogName, func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] })
		}, decision.LogName, "its number is 2"},
		"a thread changed": {func(t *testing.T, h *durable.Home) {
			change(t, h, open, swap("fail", "Fail"))
		}, journal.Name, "it differs from the journal"},
		"a thread gone": {func(t *testing.T, h *durable.Home) {
			if err := h.Remove(open); err != nil {
				t.Fatal(err)
			}
		}, journal.Name, "its file is missing"},
		"a thread too many": {func(t *testing.T, h *durable.Home) {
			if err := h.Replace("open/local.dev.9.json", []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}, journal.Name, "the journal has no such thread"},
		"a journal line": {func(t *testing.T, h *durable.Home) {
			change(t, h, journal.Name, swap(`"tier":1`, `"tier":7`))
		}, journal.Name, "facts.tier: maximum: got 7, want 2"},
		"an event": {func(t *testing.T, h *durable.Home) {
			change(t, h, "events.ndjson", swap(`"seq":0`, `"seq":1`))
		}, "events.ndjson", "its seq is 1"},
		"two names": {func(t *testing.T, h *durable.Home) {
			change(t, h, "events.ndjson", swap(`"chat_id":"dev"`, `"chat_id":"dev","chat_id":"ops"`))
		}, "events.ndjson", "chat_id"},
		"a long line": {func(t *testing.T, h *durable.Home) {
			change(t, h, "events-classified.ndjson", func(b []byte) []byte {
				return append(append(bytes.Repeat([]byte("x"), 2<<20), '\n'), b...)
			})
		}, "events-classified.ndjson", "longer than 1048576 bytes"},
		"a reply that nobody approved": {func(t *testing.T, h *durable.Home) {
			change(t, h, "replies.ndjson", swap(`"cycle":1`, `"cycle":2`))
		}, "replies and their approvals", "no claim of it"},
		"a reply of another text": {func(t *testing.T, h *durable.Home) {
			change(t, h, "replies.ndjson", swap(`"reply_text":"It is 3.`, `"reply_text":"It is 4.`))
		}, "replies and their approvals", "reply_text is not the approved text"},
		"a post that was forged": {func(t *testing.T, h *durable.Home) {
			e := outbox.Derive(&decision.Record{Key: "local.dev.1", Cycle: 1, Text: "It is 3.",
				DraftSHA256: decision.Sum("It is 3.")},
				&decision.Target{Platform: "local", ChatID: "dev", ThreadID: "1", ReplyToID: "1"}, 100)[0]
			e.IntentAt, e.Text = at, "It is FORGED."
			if err := e.Save(h); err != nil {
				t.Fatal(err)
			}
		}, "outbox", `text is "It is FORGED.", and what was approved gives "It is 3."`},
		"a post": {func(t *testing.T, h *durable.Home) {
			if err := errors.Join(h.MkdirAll("outbox"),
				h.Replace("outbox/x.json", []byte(`{"id":"x"}`))); err != nil {
				t.Fatal(err)
			}
		}, "outbox", "x.json: "},
		"a run": {func(t *testing.T, h *durable.Home) {
			if err := errors.Join(h.MkdirAll("runs/x"),
				h.Replace("runs/x/result.json", []byte(`{"run_id":`))); err != nil {
				t.Fatal(err)
			}
		}, "runs", "x: "},
		"a word that is there twice": {told(2, ""), "runs", "is there twice"},
		"a word of another kind": {told(1, "", `"kind":"append"`, `"kind":"chat"`), "runs",
			"kind: value must be one of"},
		"a gap in the words":        {told(1, "", `"n":1`, `"n":2`), "runs", "word 2 where 1 is due"},
		"what nobody said":          {told(0, "taken"), "runs", "there is no word w-"},
		"a word that was not heard": {told(1, "late"), "runs", "and heard.ndjson does not"},
		"an event inside the journal": {func(t *testing.T, h *durable.Home) {
			change(t, h, journal.Name, swap(`"type":"user"`, `"type":"cat"`))
		}, journal.Name, "event.sender.type: value must be one of 'user', 'bot'"},
		"a name twice, deep down": {func(t *testing.T, h *durable.Home) {
			change(t, h, journal.Name, swap(`"type":"user"`, `"type":"user","id":"ben"`))
		}, journal.Name, "duplicate name"},
		"what is not a text": {func(t *testing.T, h *durable.Home) {
			change(t, h, "events-classified.ndjson", swap("why", "wh\xff"))
		}, "events-classified.ndjson", "invalid UTF-8"},
		"a time": {func(t *testing.T, h *durable.Home) {
			change(t, h, "events-classified.ndjson",
				swap(`"classified_at":"2026-03-02`, `"classified_at":"2026-02-30`))
		}, "events-classified.ndjson", "classified_at: '2026-02-30T10:00:00Z' is not valid date-time"},
		"a key": {func(t *testing.T, h *durable.Home) {
			change(t, h, journal.Name, swap(`"key":"local`, `"key":"Local`))
		}, journal.Name, "key: 'Local.dev.1' does not match pattern"},
		"a field that is missing": {func(t *testing.T, h *durable.Home) {
			change(t, h, "replies.ndjson", swap(`"outcome":`, `"outcom":`))
		}, "replies.ndjson", "missing property 'outcome'"},
		"a log put together": {func(t *testing.T, h *durable.Home) {
			change(t, h, "events.ndjson", func(b []byte) []byte { return append(b, b...) })
		}, "events.ndjson", "its seq is 0: the log was cut or put together"},
		"a thread that is closed and open": {func(t *testing.T, h *durable.Home) {
			b, err := h.ReadFile(open)
			if err != nil {
				t.Fatal(err)
			}
			var th thread.Thread
			if err := json.Unmarshal(b, &th); err != nil {
				t.Fatal(err)
			}
			// The thread is closed like an investigation that was called off.
			in := thread.Input{At: at, Key: th.Key,
				Decision: &decision.Record{N: 9, At: at, Kind: decision.Dismiss, By: "ana", Via: "terminal",
					Key: th.Key, Cycle: 1}}
			line, _ := json.Marshal(in)
			change(t, h, journal.Name, func(b []byte) []byte { return append(append(b, line...), '\n') })
			closed, _ := thread.Apply(th, in)
			if err := closed.Save(h); err != nil {
				t.Fatal(err)
			}
			if err := h.Replace(open, b); err != nil {
				t.Fatal(err)
			}
		}, journal.Name, "the thread is closed, and has a file in open"},
	} {
		h := home(t)
		tt.spoil(t, h)
		r, err := Home(h)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := find(r, tt.what)
		if r.OK || f.Bad == 0 || !strings.Contains(strings.Join(f.Problems, "\n"), tt.says) {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		for _, other := range r.Findings {
			if other.What != tt.what && other.What != "replies.ndjson" && other.Bad > 0 &&
				name != "a decision taken out" {
				t.Errorf("%s: %s is blamed: %v", name, other.What, other.Problems)
			}
		}
		var out bytes.Buffer
		if status, _ := sysexit.Of(r.Print(&out)); status != sysexit.No ||
			!strings.Contains(out.String(), "BAD  "+tt.what) {
			t.Errorf("%s: status %d\n%s", name, status, out.String())
		}
	}
}

// told returns a change that adds a run with a word, written times times, and what became of it, and
// a result that answers it.
func told(times int, how string, swap ...string) func(*testing.T, *durable.Home) {
	return func(t *testing.T, h *durable.Home) {
		id := run.ID(run.Investigate, "local.dev.1", 1, 1)
		w := run.WordID("local.dev.1", "2", "")
		r, err := run.Begin(h, id)
		if err != nil {
			t.Fatal(err)
		}
		var log, heard string
		for n := range times {
			log += fmt.Sprintf(`{"n":%d,"id":"%s","at":"%s","kind":"append","by":"asker","text":"more"}`+"\n",
				n+1, w, at)
		}
		if log != "" {
			err = h.Replace("runs/"+id+"/words.ndjson", []byte(strings.NewReplacer(swap...).Replace(log)))
		}
		if how != "" {
			heard = fmt.Sprintf(`{"id":"%s","at":"%s","how":"taken","leg":1}`+"\n", w, at)
			err = errors.Join(err, h.Replace("runs/"+id+"/heard.ndjson", []byte(heard)))
		}
		err = errors.Join(err, r.Publish(run.Result{
			RunID: id, Kind: run.Investigate, Key: "local.dev.1", Cycle: 1, Round: 1, Agent: "search",
			StartedAt: at, EndedAt: at, Status: run.Nothing,
		}), r.End())
		if how == "late" {
			err = errors.Join(err, h.Replace("runs/"+id+"/heard.ndjson",
				[]byte(strings.Replace(heard, "taken", "late", 1))))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryLog: each log and folder is checked to its last line, and an invalid record is found
// anywhere in it.
func TestEveryLog(t *testing.T) {
	names := []string{decision.LogName, journal.Name}
	for _, l := range logs {
		names = append(names, l.name)
	}
	h := home(t)
	for _, dir := range []string{"outbox/done", "runs/x"} {
		if err := h.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	// with checks the home with a file replaced, and restores the file.
	with := func(name string, text []byte) *Report {
		old, err := h.ReadFile(name)
		gone := err != nil
		if err := os.WriteFile(h.Path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Home(h)
		if err == nil && gone {
			err = os.Remove(h.Path(name))
		} else if err == nil {
			err = os.WriteFile(h.Path(name), old, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, name := range names {
		old, _ := h.ReadFile(name) // most do not exist
		for _, line := range []string{"no record", `{}`} {
			for _, text := range []string{line + "\n" + string(old), string(old) + line + "\n"} {
				if r := with(name, []byte(text)); r.OK || find(r, name).Bad == 0 {
					t.Errorf("%s with %q: %+v", name, line, r)
				}
			}
		}
	}
	for _, file := range []string{"outbox/x.json", "outbox/done/x.json", "runs/x/result.json",
		"runs/x/checkpoint.json"} {
		for _, text := range []string{"", "no record", `{}`, strings.Repeat(" ", 200<<10) + `{"run_id":7}`} {
			if r := with(file, []byte(text)); r.OK {
				t.Errorf("%s with %.20q: %+v", file, text, r)
			}
		}
	}
	if r, err := Home(h); err != nil || !r.OK {
		t.Errorf("put back: %+v, %v", r, err)
	}
}

// TestEveryFile: a changed byte of any file of the home is found, and so is a log that was emptied.
func TestEveryFile(t *testing.T) {
	h := home(t)
	for name, object := range map[string]string{"dispatch.json": `{"fold":2,"seq":7}`,
		"watch/local.json": `{"dev":{"off":9}}`} {
		if err := h.ReplaceSealed(name, []byte(object)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := run.Begin(h, run.ID("investigate", "local.dev.1", 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.Dir(), "raw"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir(), run.StreamName), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run.Update(r.Dir(), func(s *run.State) { s.Status = run.Active }); err != nil {
		t.Fatal(err)
	}
	res := run.Result{RunID: r.ID, Kind: "investigate", Key: "local.dev.1", Cycle: 1, Round: 1, Agent: "exec",
		StartedAt: at, EndedAt: at, Status: run.Failed, Error: "no"}
	if err := errors.Join(r.Publish(res), r.End()); err != nil {
		t.Fatal(err)
	}
	if r, err := Home(h); err != nil || !r.OK {
		t.Fatalf("whole: %+v, %v", r, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	err = filepath.WalkDir(h.Dir(), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		whole, err := os.ReadFile(name)
		for range min(12, len(whole)) {
			b := bytes.Clone(whole)
			at := random.IntN(len(b))
			b[at] ^= 1 << random.IntN(8)
			if err := os.WriteFile(name, b, 0o600); err != nil {
				return err
			}
			if r, err := Home(h); err != nil || r.OK {
				t.Errorf("%s: byte %d is %q, and nobody sees it: %v", name, at, b[at], err)
			}
		}
		if filepath.Ext(name) == ".ndjson" {
			if err := os.Truncate(name, 0); err != nil {
				return err
			}
			if r, err := Home(h); err != nil || r.OK {
				t.Errorf("%s emptied, and nobody sees it: %v", name, err)
			}
		}
		return errors.Join(err, os.WriteFile(name, whole, 0o600))
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLastLineTwice: a copy of the last line of a log is not taken for a line that has no sum yet.
func TestLastLineTwice(t *testing.T) {
	h := home(t)
	line := `{"at":"2026-11-22T10:00:00Z","kind":"settle","day":"2026-11-22","run_id":"i-1","key":"k",` +
		`"person":"ana","cost_usd":0}` + "\n"
	log, err := h.OpenLog("spend.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(func(int64) ([]byte, error) { return []byte(line), nil })
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		last string
		ok   bool
	}{{strings.Replace(line, "i-1", "i-2", 1), true}, {line, false}} {
		whole, err := h.ReadFile("spend.ndjson")
		if err != nil {
			t.Fatal(err)
		}
		change(t, h, "spend.ndjson", func(b []byte) []byte { return append(b, tt.last...) })
		if r, err := Home(h); err != nil || r.OK != tt.ok {
			t.Errorf("%s: %+v, %v", tt.last, r, err)
		}
		change(t, h, "spend.ndjson", func([]byte) []byte { return whole })
	}
}
