package reply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

func TestApprovedIsPostedOnce(t *testing.T) {
	w := newWorld(t)
	o := w.offer("local.dev.1", 1, "It is 5.")
	w.say(decision.Approve, o)
	w.run()
	w.run()
	if len(w.chat.stands) != 1 || w.chat.stands[0].Text != "It is 5." {
		t.Fatalf("stands: %+v", w.chat.stands)
	}
	rs := w.replies()
	if len(rs) != 1 {
		t.Fatalf("%d lines", len(rs))
	}
	want := outbox.Reply{
		Platform: "fake", ChatID: "dev", ReplyToMessageID: "1", PostedMessageID: "m1",
		PostedMessageIDs: []string{"m1"},
		PostedAt:         text.Timestamp(start), ReplyText: "It is 5.", InvestigatorTaskID: "run-1",
		ValidatorVerdict: "pass", InvestigatorRounds: 1,
		Key: "local.dev.1", Cycle: 1, DraftSHA256: o.DraftSHA256, Outcome: outbox.Posted, ApprovedBy: "ana",
		ReadBy: []string{"ana"},
	}
	if got, want := asJSON(rs[0]), asJSON(want); got != want {
		t.Errorf("line\n%s, want\n%s", got, want)
	}
	if got := strings.TrimSpace(w.out.String()); got != asJSON(want) {
		t.Errorf("printed %s", got)
	}
	if es := w.open(); len(es) != 0 {
		t.Errorf("left in the outbox: %v", es)
	}
	if done, _ := w.home.List(outbox.Done); len(done) != 1 {
		t.Errorf("done: %v", done)
	}
}

// Nothing is posted while a yes can still be taken back.
func TestGrace(t *testing.T) {
	w := newWorld(t)
	o := w.offer("local.dev.1", 1, "It is 5.")
	w.say(decision.Approve, o)
	opts := w.options(nil)
	opts.Grace = 10 * time.Second
	opts.pause = func(_ context.Context, _ <-chan struct{}, until time.Time) error {
		if !until.Equal(start.Add(10 * time.Second)) {
			t.Errorf("waits until %v", until)
		}
		if w.now.Equal(start) {
			w.say(decision.Undo, o)
		}
		w.now = until
		return nil
	}
	if err := Run(context.Background(), opts); err != nil || len(w.chat.stands) != 0 {
		t.Fatalf("posted what was taken back: %+v, %v", w.chat.stands, err)
	}
	w.say(decision.Approve, o)
	opts.pause = w.options(nil).pause
	if err := Run(context.Background(), opts); err != nil || len(w.chat.stands) != 1 ||
		!w.now.Equal(start.Add(20*time.Second)) {
		t.Fatalf("stands %+v at %v, %v", w.chat.stands, w.now, err)
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestNotPosted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		do      func(w *world, o decision.Record)
		revoked string
	}{
		{"undecided", func(*world, decision.Record) {}, ""},
		{"undone", func(w *world, o decision.Record) {
			w.say(decision.Approve, o)
			w.say(decision.Undo, o)
		}, ""},
		{"dismissed", func(w *world, o decision.Record) {
			w.say(decision.Dismiss, o)
			w.say(decision.Approve, o)
		}, ""},
		{"withdrawn", func(w *world, o decision.Record) {
			w.say(decision.Approve, o)
			w.say(decision.Withdraw, o)
		}, ""},
		{"replaced", func(w *world, o decision.Record) {
			w.say(decision.Approve, o)
			w.offer(o.Key, 2, "other")
		}, ""},
		{"not an approver", func(w *world, o decision.Record) {
			o.Kind, o.By = decision.Approve, "eve"
			w.append(o)
		}, ""},
		{"edited question", func(w *world, o decision.Record) {
			w.say(decision.Approve, o)
			w.chat.question += "?"
		}, "the question was edited"},
		{"deleted question", func(w *world, o decision.Record) {
			w.say(decision.Approve, o)
			w.chat.gone = true
		}, "the question was deleted"},
		{"lines moved", func(w *world, o decision.Record) {
			w.say(decision.Approve, o)
			w.why = "client.go changed"
		}, "client.go changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.do(w, w.offer("k", 1, "It is 5."))
			w.run()
			if w.chat.calls != 0 || len(w.replies()) != 0 {
				t.Errorf("%d posts, lines %v", w.chat.calls, w.replies())
			}
			rs, err := decision.Read(w.home)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if last := rs[len(rs)-1]; last.Kind == decision.Revoke {
				got = last.Note
			}
			if got != tt.revoked {
				t.Errorf("revoked: %q, want %q", got, tt.revoked)
			}
		})
	}
}

// TestEditedBetweenClaimAndPost: a chat that makes a post wait does not get an answer to
// a question that was edited or deleted meanwhile, unless part of it is there already.
func TestEditedBetweenClaimAndPost(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script []string
		limit  int
		edit   func(*platform)
		posts  int
		line   string
		why    string
	}{
		{"edited", []string{"retry"}, 1000, func(f *platform) {
			f.question += "?"
		}, 0, outbox.Dropped, "the question was edited before it was posted"},
		{"deleted", []string{"retry"}, 1000, func(f *platform) {
			f.gone = true
		}, 0, outbox.Dropped, "the question was deleted before it was posted"},
		{"lost, then edited", []string{"lost request", "retry"}, 1000, func(f *platform) {
			f.question += "?"
		}, 0, outbox.Dropped, "the question was edited before it was posted"},
		{"edited, and the chat is down for a moment", []string{"retry"}, 1000, func(f *platform) {
			f.question += "?"
			f.askErr = []error{errors.New("connection reset")}
		}, 0, outbox.Dropped, "the question was edited before it was posted"},
		{"edited behind the first part", []string{"", "retry"}, 12, func(f *platform) {
			f.question += "?"
		}, 2, outbox.Posted, ""},
		{"not edited", []string{"retry"}, 1000, func(*platform) {}, 1, outbox.Posted, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newCrash(t, tt.script, tt.limit, true, false)
			o := w.options(nil)
			pause := o.pause
			o.pause = func(ctx context.Context, wake <-chan struct{}, until time.Time) error {
				if len(w.chat.script) == 0 && tt.edit != nil {
					tt.edit(w.chat)
					tt.edit = nil
				}
				return pause(ctx, wake, until)
			}
			if err := Run(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			rs := w.replies()
			if len(w.chat.stands) != tt.posts || len(rs) != 1 || rs[0].Outcome != tt.line ||
				!strings.HasPrefix(strings.TrimPrefix(rs[0].Why, "part 1 of 2: "), tt.why) {
				t.Errorf("%d posts, lines %+v", len(w.chat.stands), rs)
			}
		})
	}
}

func TestEditIsPostedInPlace(t *testing.T) {
	w := newWorld(t)
	o := w.offer("k", 1, "It is 5.")
	text := "It is 5, since March."
	file := "triage/retry.md"
	o.Cycle, o.Meta.TriageFile = 2, &file
	o = w.append(o)
	w.append(decision.Record{Kind: decision.Edit, By: "ben", Key: "k", Cycle: 2, Text: text,
		DraftSHA256: decision.Sum(text), Original: o.DraftSHA256, NoFile: true})
	w.say(decision.Approve, o)
	w.run()
	if len(w.chat.stands) != 1 || w.chat.stands[0].Text != text {
		t.Errorf("stands: %+v", w.chat.stands)
	}
	rs := w.replies()
	if len(rs) != 1 || rs[0].ApprovedBy != "ben" || rs[0].ReplyText != text ||
		rs[0].ValidatorVerdict != outbox.UserEdited || rs[0].TriageFile != nil {
		t.Errorf("lines: %+v", rs)
	}
}

func TestUnsafeTextIsRefused(t *testing.T) {
	w := newWorld(t)
	w.say(decision.Approve, w.offer("k", 1, "@channel it is 5."))
	w.run()
	rs := w.replies()
	if w.chat.calls != 0 || len(rs) != 1 || rs[0].Outcome != outbox.Refused ||
		!strings.Contains(rs[0].Why, "@channel") {
		t.Errorf("%d posts, lines %+v", w.chat.calls, rs)
	}
}

func TestPartsGoInOrder(t *testing.T) {
	w := newWorld(t)
	w.chat.limit, w.chat.script = 12, []string{"", "lost request", "retry"}
	text := "One is one. Two is two. Three is three."
	w.say(decision.Approve, w.offer("k", 1, text))
	w.run()
	var got []string
	for _, m := range w.chat.stands {
		got = append(got, m.Text)
	}
	if strings.Join(got, "") != text || len(got) != 4 {
		t.Errorf("posted %q", got)
	}
	if rs := w.replies(); len(rs) != 1 || len(rs[0].PostedMessageIDs) != 4 || rs[0].ReplyText != text {
		t.Errorf("lines %+v", rs)
	}
}

func TestRefusedPartEndsTheReply(t *testing.T) {
	w := newWorld(t)
	w.chat.limit, w.chat.script = 12, []string{"", "refused"}
	w.say(decision.Approve, w.offer("k", 1, "One is one. Two is two. Three is three."))
	w.run()
	rs := w.replies()
	if len(w.chat.stands) != 1 || len(rs) != 1 || rs[0].Outcome != outbox.Refused ||
		rs[0].PostedMessageID != "m1" ||
		!strings.HasPrefix(rs[0].Why, "part 2 of ") {
		t.Errorf("stands %d, lines %+v", len(w.chat.stands), rs)
	}
}

// A platform that says "later" holds up its own thread, in order, and no other.
func TestRetryHoldsUpItsThreadOnly(t *testing.T) {
	w := newWorld(t)
	w.chat.script = []string{"retry"}
	w.say(decision.Approve, w.offer("a", 1, "a1"))
	if w.crashAt(4) != true { // claimed, written, counted, asked to wait
		t.Fatal("no wait")
	}
	w.say(decision.Approve, w.offer("a", 2, "a2"))
	w.say(decision.Approve, w.offer("b", 1, "b1"))
	w.chat.script = []string{"retry"}
	w.run()
	var got []string
	for _, m := range w.chat.stands {
		got = append(got, m.Text)
	}
	if fmt.Sprint(got) != "[b1 a1 a2]" {
		t.Errorf("posted in order %v", got)
	}
	if waited := w.now.Sub(start); waited < 7*time.Second {
		t.Errorf("waited %v, told 7s", waited)
	}
}

func TestSecondPosterIsRefused(t *testing.T) {
	w := newWorld(t)
	lock, err := w.home.TryLock(lockName)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if err := Run(context.Background(), w.options(nil)); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

// Two people say yes at once, a thousand times: one post each.
func TestRaceOfApprovals(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	w := newWorld(t)
	for i := range rounds {
		o := w.offer(fmt.Sprint("k", i), 1, fmt.Sprint("draft ", i))
		var both sync.WaitGroup
		for _, who := range []string{"ana", "ben"} {
			both.Go(func() {
				r := decision.Record{Kind: decision.Approve, By: who, Key: o.Key, Cycle: 1, Text: o.Text,
					DraftSHA256: o.DraftSHA256}
				if (i+len(who)+int(who[0]))%3 == 0 {
					r.Kind, r.Text, r.Original = decision.Edit, o.Text+" by "+who, o.DraftSHA256
					r.DraftSHA256 = decision.Sum(r.Text)
				}
				if _, err := decision.Append(w.home, r); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
	w.run()
	byThread := map[string]int{}
	for _, r := range w.replies() {
		byThread[r.Key]++
	}
	if len(w.chat.stands) != rounds || len(byThread) != rounds || len(w.replies()) != rounds {
		t.Errorf("%d posts, %d lines, %d threads, want %d", len(w.chat.stands), len(w.replies()),
			len(byThread), rounds)
	}
}
