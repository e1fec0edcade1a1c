package reply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// platform is a chat in memory that can lose requests and answers.
type platform struct {
	provable bool // Find can tell; else it is always unprovable
	blind    bool // Find lies that nothing is there: a poster that never looks
	limit    int
	script   []string // what happens to the next posts; then all is well
	stands   []chat.Post
	question string
	gone     bool
	askErr   []error // of the next looks at the question; then all is well
	calls    int
	findErr  error
	found    []chat.Post // what Find was asked
}

func (f *platform) Post(_ context.Context, p chat.Post) (chat.Posted, error) {
	f.calls++
	what := ""
	if len(f.script) > 0 {
		what, f.script = f.script[0], f.script[1:]
	}
	switch what {
	case "lost request":
		return chat.Posted{}, errors.New("connection reset")
	case "retry":
		return chat.Posted{}, &chat.RetryError{After: 7 * time.Second, Err: errors.New("slow down")}
	case "refused":
		return chat.Posted{}, fmt.Errorf("archived: %w", chat.ErrRefused)
	}
	f.stands = append(f.stands, p)
	if what == "lost answer" {
		return chat.Posted{}, errors.New("timeout")
	}
	return chat.Posted{MessageID: fmt.Sprint("m", len(f.stands)), At: start}, nil
}

func (f *platform) Find(_ context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	f.found = append(f.found, p)
	if f.findErr != nil {
		return chat.Posted{}, chat.Unprovable, f.findErr
	}
	if f.blind {
		return chat.Posted{}, chat.Absent, nil
	}
	if !f.provable {
		return chat.Posted{}, chat.Unprovable, nil
	}
	for i, m := range f.stands {
		if m.Key == p.Key {
			return chat.Posted{MessageID: fmt.Sprint("m", i+1), At: start}, chat.Found, nil
		}
	}
	return chat.Posted{}, chat.Absent, nil
}

func (f *platform) Message(context.Context, string, string) (string, bool, error) {
	if len(f.askErr) > 0 {
		err := f.askErr[0]
		f.askErr = f.askErr[1:]
		return "", false, err
	}
	return f.question, f.gone, nil
}

func (f *platform) Limit() int { return f.limit }

// text returns what was posted.
func (f *platform) text() (all string) {
	for _, m := range f.stands {
		all += m.Text
	}
	return all
}

// copies counts the copies of each post in the chat.
func (f *platform) copies() map[string]int {
	n := map[string]int{}
	for _, m := range f.stands {
		n[m.Key]++
	}
	return n
}

var (
	start    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	errCrash = errors.New("crash")
)

const question = "where is the retry limit?"

// world is a home, a chat and a clock that advances only when something waits.
type world struct {
	t    *testing.T
	home *durable.Home
	chat *platform
	now  time.Time
	out  bytes.Buffer
	said []string
	why  string // what Recheck says

	approvers []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return &world{t: t, home: h, now: start, chat: &platform{provable: true, limit: 1000, question: question},
		approvers: []string{"ana", "ben"}}
}

func (w *world) append(r decision.Record) decision.Record {
	w.t.Helper()
	if r.At == "" {
		r.At = text.Timestamp(w.now)
	}
	r, err := decision.Append(w.home, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) offer(key string, cycle int, text string) decision.Record {
	return w.append(decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: key, Cycle: cycle, Text: text,
		DraftSHA256: decision.Sum(text),
		Target: &decision.Target{Platform: "fake", ChatID: "dev", ThreadID: "1", ReplyToID: "1",
			QuestionSHA256: decision.Sum(question)},
		Meta: &decision.Meta{InvestigatorTaskID: "run-1", ValidatorVerdict: "pass", InvestigatorRounds: 1},
	})
}

func (w *world) say(kind string, o decision.Record) decision.Record {
	return w.append(decision.Record{Kind: kind, By: "ana", Via: "terminal", Key: o.Key, Cycle: o.Cycle,
		Text: o.Text, DraftSHA256: o.DraftSHA256})
}

func (w *world) options(fault func(string) error) Options {
	return Options{
		Home: w.home, Policy: w.policy, Sinks: map[string]chat.Sink{"fake": w.chat},
		Recheck: func(decision.Record) (string, error) { return w.why, nil }, Once: true, Out: &w.out,
		Say: func(f string, a ...any) { w.said = append(w.said, fmt.Sprintf(f, a...)) },
		Now: func() time.Time { return w.now }, fault: fault,
		pause: func(_ context.Context, _ <-chan struct{}, until time.Time) error {
			w.now = until
			return nil
		},
	}
}

func (w *world) policy() (decision.Policy, error) {
	return decision.Policy{Approvers: w.approvers}, nil
}

func (w *world) run() {
	w.t.Helper()
	if err := Run(context.Background(), w.options(nil)); err != nil {
		w.t.Fatal(err)
	}
}

// crashAt runs until the n-th step and reports whether there was one.
func (w *world) crashAt(n int) bool {
	w.t.Helper()
	err := Run(context.Background(), w.options(func(string) error {
		if n--; n == 0 {
			return errCrash
		}
		return nil
	}))
	if err != nil && !errors.Is(err, errCrash) {
		w.t.Fatal(err)
	}
	return err != nil
}

func (w *world) replies() []outbox.Reply {
	w.t.Helper()
	b, _ := w.home.ReadFile(LogName)
	var rs []outbox.Reply
	for line := range strings.Lines(string(b)) {
		var r outbox.Reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

func (w *world) open() []*outbox.Entry {
	w.t.Helper()
	es, err := outbox.Open(w.home)
	if err != nil {
		w.t.Fatal(err)
	}
	return es
}
