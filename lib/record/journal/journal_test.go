package journal

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// TestReferences: an input is read back unchanged, its text is in no line of the journal, and a
// missing or changed text is reported.
func TestReferences(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const secret = "why does the <deploy> fail?"
	write := func(name, text string) {
		t.Helper()
		if err := h.Replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	base := `{"seq":0,"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"1","create_time":"2026-11-21T10:00:00Z","msg_type":"text","content":"` + secret + `","thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":[]}`
	write("events.ndjson", base+"\n")
	e, err := event.Parse([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	root := "0"
	e.Classification, e.IsQuestion, e.Reasons, e.ThreadID, e.ThreadInferred = event.Actionable, true,
		[]string{"question:mark"}, &root, "quoted"
	elsewhere := *e
	elsewhere.Content = "of another log"
	ended := &run.Result{RunID: "i-0123456789abcdef01234567", Status: run.Done,
		Value: json.RawMessage(`{"draft_reply":"` + secret + `"}`)}
	r, err := run.Begin(h, ended.RunID)
	if err != nil || r.Publish(*ended) != nil || r.End() != nil {
		t.Fatal(err)
	}
	d, err := decision.Append(h, decision.Record{Kind: decision.Approve, By: "boss", Key: "k", Cycle: 1,
		Text: secret, At: "2026-11-21T10:00:00Z"})
	if err != nil {
		t.Fatal(err)
	}
	reply := &outbox.Reply{Key: "k", Cycle: 1, ReplyText: secret, Outcome: outbox.Posted}
	line, _ := json.Marshal(reply)
	write("replies.ndjson", string(line)+"\n")
	ins := []thread.Input{
		{At: "1", Key: "k", Event: e, Facts: &thread.Facts{QuestionType: thread.Other}},
		{At: "2", Key: "k", Run: ended, Escalate: true},
		{At: "3", Key: "k", Decision: &d, Source: new(int64)},
		{At: "4", Key: "k", Reply: reply, Source: new(int64)},
		{At: "5", Key: "k", Event: &elsewhere},
		{At: "6", Key: "k", Beside: &thread.Beside{Key: "j"}},
	}
	j, err := Open(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ins); err != nil || j.Close() != nil {
		t.Fatal(err)
	}
	text, err := h.ReadFile(Name)
	if err != nil || strings.Contains(string(text), "deploy") ||
		!strings.Contains(string(text), "of another log") {
		t.Errorf("%s\n%v", text, err)
	}
	read := func() (back []thread.Input, errs []error) {
		r := NewReader(h)
		defer r.Close()
		if err := h.Lines(Name, 0, func(line []byte) error {
			in, err := r.Input(line)
			back, errs = append(back, in), append(errs, err)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return back, errs
	}
	back, errs := read()
	for i := range ins {
		if errs[i] != nil || !same(back[i], ins[i]) {
			t.Errorf("%d: %+v, %v", i, back[i], errs[i])
		}
	}
	whole := 0
	if err := Lines(h, 0, func(line []byte) error {
		whole += strings.Count(string(line), `deploy`)
		return nil
	}); err != nil || whole != 4 {
		t.Errorf("%d texts, %v", whole, err)
	}
	write("events.ndjson", strings.Replace(base, "fail", "Fail", 1)+"\n")
	if err := os.RemoveAll(h.Path("runs")); err != nil {
		t.Fatal(err)
	}
	for i, err := range second(read()) {
		if errors.Is(err, ErrGone) != (i < 2) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func second(_ []thread.Input, errs []error) []error { return errs }
