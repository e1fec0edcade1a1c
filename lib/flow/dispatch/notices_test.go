package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/notice"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// approveForm has an approver approve a form by its exact text.
func (b *bench) approveForm(name, text string) {
	b.t.Helper()
	if _, err := decision.Append(b.home, decision.Record{Kind: decision.Notice, By: "boss", Via: "terminal",
		Key: decision.FormKey(name), Cycle: 1, Form: name, Text: text,
		DraftSHA256: decision.Sum(text)}); err != nil {
		b.t.Fatal(err)
	}
}

// notices returns the texts of the notices that were asked for.
func (b *bench) notices() (said []string) {
	b.t.Helper()
	rs, err := decision.Read(b.home)
	if err != nil {
		b.t.Fatal(err)
	}
	s := decision.NewState(decision.PolicyOf(b.cfg))
	for _, r := range rs {
		if counts, why := s.Add(r); r.Kind == decision.Notify {
			if said = append(said, r.Text); !counts {
				b.t.Errorf("asked for %q, which does not count: %s", r.Text, why)
			}
		}
	}
	return said
}

// TestNotices: a notice is asked for once, only with an approved form, and never in a shadow.
func TestNotices(t *testing.T) {
	for name, tt := range map[string]struct {
		form   string
		shadow bool
		want   int
	}{
		"no form": {}, "approved": {form: "On it.", want: 1}, "shadow": {form: "On it.", shadow: true},
	} {
		b := newBench(t)
		if b.shadow = tt.shadow; tt.form != "" {
			b.approveForm(notice.Begun, tt.form)
		}
		b.add("1", "ana", "", event.Actionable, "why?")
		b.run()
		b.run()
		if got := b.notices(); len(got) != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestSeveral: the beginning of work on several questions of one asker has a form of its own, with their
// number.
func TestSeveral(t *testing.T) {
	for _, tt := range []struct {
		forms []string
		who   []string
		want  string
	}{
		{[]string{notice.Begun, notice.Ack}, []string{"ana"}, "[On it.]"},
		{[]string{notice.Begun, notice.Ack}, []string{"ana", "ben"}, "[On it.]"},
		{[]string{notice.Begun, notice.Ack}, []string{"ana", "ana"}, "[On it, 2 things.]"},
		{[]string{notice.Begun}, []string{"ana", "ana"}, "[On it.]"},
		{[]string{notice.Ack}, []string{"ana"}, "[]"},
	} {
		b := newBench(t)
		b.cfg.Turn.HoldS = new(0.0)
		for _, form := range tt.forms {
			b.approveForm(form, notice.Forms[form])
		}
		for i, who := range tt.who {
			b.add(fmt.Sprint(i+1), who, "", event.Actionable, "why?")
		}
		b.run()
		if got := fmt.Sprint(b.notices()); got != tt.want {
			t.Errorf("%v %v: %s, want %s", tt.forms, tt.who, got, tt.want)
		}
	}
}

// TestReview: that an answer waits for a person is said once a cycle.
func TestReview(t *testing.T) {
	b := newBench(t)
	b.approveForm(notice.Review, notice.Forms[notice.Review])
	b.add("1", "ana", "", event.Actionable, "why?")
	b.run()
	b.run()
	if got := fmt.Sprint(b.notices()); got != "[There is an answer; a person reviews it first.]" {
		t.Error(got)
	}
}

// TestBetween: no notice into an exchange of two people, be one of them the asker, and again one after it.
func TestBetween(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	th := &thread.Thread{Platform: "local", ChatID: "dev", OriginalSenderID: "ana"}
	for _, tt := range []struct {
		name   string
		who    []string
		before time.Duration // since the last word
		asks   bool          // the last one asks the bot
		want   bool
	}{
		{"two others", []string{"ana", "ben", "cid"}, 0, false, true},
		{"two others, an hour ago", []string{"ben", "cid"}, time.Hour, false, false},
		{"the asker and another", []string{"ana", "ben"}, 0, false, true},
		{"another, and the asker's answer to them", []string{"ben", "ana"}, 0, false, true},
		{"another, and the asker's question", []string{"ben", "ana"}, 0, true, false},
		{"one other", []string{"ana", "ben", "ben"}, 0, false, false},
		{"no one", nil, 0, false, false},
	} {
		b := newBench(t)
		o := b.options()
		o.Now = func() time.Time { return now }
		n := &notices{gate: newGate(o), store: &store{open: map[string]*thread.Thread{}},
			latest: map[place][]spoken{}, asked: map[string]bool{}}
		for i, who := range tt.who {
			e := &event.Classified{Event: event.Event{Platform: "local", ChatID: "dev",
				CreateTime: now.Add(-tt.before).Format(time.RFC3339), Sender: event.Sender{ID: who}}}
			if tt.asks && i == len(tt.who)-1 {
				e.Classification = event.Actionable
			}
			if err := n.taken(e, &thread.Facts{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := n.between(th); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestStatusNotice: what a status says is what the files of the run say, and nothing else.
func TestStatusNotice(t *testing.T) {
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	id, draft := "i-1", "x"
	for _, tt := range []struct {
		name string
		t    thread.Thread
		want string
	}{
		{"no run", thread.Thread{Status: thread.Investigating}, "It is queued: 7 min so far, 0 files read."},
		{"a run", thread.Thread{Status: thread.Investigating, InvestigatorTaskID: &id},
			"It is running: 7 min so far, 2 files read."},
		{"a draft", thread.Thread{Status: thread.PendingUser, DraftPending: &draft},
			"It is waiting: 7 min so far, 0 files read."},
		{"failed", thread.Thread{Status: thread.PendingUser}, "It is failed: 7 min so far, 0 files read."},
	} {
		b := newBench(t)
		b.approveForm(notice.Status, notice.Forms[notice.Status])
		state, _ := json.Marshal(run.State{Phase: run.Running})
		checkpoint, _ := json.Marshal(run.Checkpoint{RunID: id, Read: make([]run.Reading, 2)})
		if err := os.MkdirAll(b.home.Path("runs/"+id), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"state.json": state, "checkpoint.json": checkpoint} {
			if err := os.WriteFile(b.home.Path("runs/"+id+"/"+name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := b.options()
		o.Now = func() time.Time { return start.Add(7*time.Minute + 59*time.Second) }
		d := &Dispatcher{Options: o, gate: newGate(o), store: &store{open: map[string]*thread.Thread{}}}
		rs, err := decision.Read(b.home)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			d.gate.Add(r)
		}
		tt.t.Key, tt.t.Platform, tt.t.ChatID, tt.t.ThreadID, tt.t.OriginalMessageID, tt.t.Cycle = "local.dev.1",
			"local", "dev", "1", "1", 1
		tt.t.StartedAt = start.Format(time.RFC3339)
		d.store.open[tt.t.Key] = &tt.t
		e := &event.Classified{Event: event.Event{Platform: "local", ChatID: "dev", MessageID: "2"}}
		f := &thread.Facts{Relation: thread.RelationStatus, Of: tt.t.Key}
		n := newNotices(d)
		for range 2 { // the second finds that it was asked for
			if err := n.taken(e, f); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.notices(); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// TestSilence: who only greets is asked once whether there is more, unless anything was said there meanwhile.
func TestSilence(t *testing.T) {
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		more  []string // who speaks after the greeting
		waits time.Duration
		want  int
	}{
		{"too early", nil, silence - time.Second, 0},
		{"silence", nil, silence, 1},
		{"the same person goes on", []string{"ana"}, silence, 0},
		{"another speaks", []string{"ben"}, silence, 0},
	} {
		b := newBench(t)
		b.approveForm(notice.More, notice.Forms[notice.More])
		now := start
		o := b.options()
		o.Now = func() time.Time { return now }
		d := &Dispatcher{Options: o, gate: newGate(o), store: &store{open: map[string]*thread.Thread{}}}
		rs, err := decision.Read(b.home)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			d.gate.Add(r)
		}
		n := newNotices(d)
		for i, who := range append([]string{"ana"}, tt.more...) {
			e := &event.Classified{Event: event.Event{Platform: "local", ChatID: "dev",
				MessageID: string(rune('1' + i)), CreateTime: start.Format(time.RFC3339),
				Sender: event.Sender{ID: who}}}
			if err := n.taken(e, &thread.Facts{Opens: i == 0}); err != nil {
				t.Fatal(err)
			}
		}
		now = start.Add(tt.waits)
		for range 2 {
			if _, err := n.tick(now); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.notices(); len(got) != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// TestSilenceAfterRestart: a greeting is known after a restart, and its writer asked once; one that is too
// old for a notice is not, nor one that anybody spoke after.
func TestSilenceAfterRestart(t *testing.T) {
	for _, tt := range []struct {
		name string
		then string // who speaks after the greeting
		back string // when tri-dispatch runs again
		want int
	}{
		{"too early", "", "10:00:44", 0}, {"silence", "", "10:00:46", 1}, {"too late", "", "10:05:00", 0},
		{"another has spoken", "ben", "10:00:46", 0},
	} {
		b := newBench(t)
		b.cfg.WatchedChats = []config.Chat{{Platform: "local", ChatID: "dev", Inbox: true}}
		b.approveForm(notice.More, notice.Forms[notice.More])
		b.add("1", "ana", "", event.Ambient, "hi")
		if tt.then != "" {
			b.add("2", tt.then, "1", event.Ambient, "hello")
		}
		b.run()
		now, err := time.Parse(time.RFC3339, "2026-11-21T"+tt.back+"Z")
		if err != nil {
			t.Fatal(err)
		}
		o := b.options()
		o.Now = func() time.Time { return now }
		for range 2 {
			if err := b.second(o); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.notices(); len(got) != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// TestSaidAtOnce: a withdrawal, a new request and a failure are each answered once, by their forms.
func TestSaidAtOnce(t *testing.T) {
	for _, tt := range []struct {
		form, asked, then string
		want              int
	}{
		{notice.Cancel, "why?", "never mind", 1},
		{notice.Cancel, "why?", "thanks", 0},
		{notice.Redirect, "where is the retry limit of the auth service?", "scratch that -- just its timeout", 1},
		{notice.Redirect, "why?", "and it is slow", 0},
		{notice.Snag, "boom?", "", 1},
		{notice.Snag, "nothing?", "", 0}, // found
		{notice.Snag, "why?", "", 0},
	} {
		b := newBench(t)
		b.approveForm(tt.form, notice.Forms[tt.form])
		b.add("1", "ana", "", event.Actionable, tt.asked)
		if b.run(); tt.then != "" {
			b.add("2", "ana", "1", event.Ambient, tt.then)
		}
		b.run()
		b.run()
		if got := b.notices(); len(got) != tt.want || tt.want == 1 && got[0] != notice.Forms[tt.form] {
			t.Errorf("%s: %q, %q: %q", tt.form, tt.asked, tt.then, got)
		}
	}
}

// TestLongWork: after a minute one notice shows the state of work. It is edited when that changes, at most
// every 20 seconds, also by the next process, and for the last time when the item is closed.
func TestLongWork(t *testing.T) {
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	b := newBench(t)
	b.approveForm(notice.Working, "{state}, {minutes} min")
	now, o := start, b.options()
	o.Now = func() time.Time { return now }
	run1, draft := "i-1", "x"
	th := &thread.Thread{Key: event.Key("local", "dev", "1"), Platform: "local", ChatID: "dev", ThreadID: "1",
		OriginalMessageID: "1", Cycle: 1, Status: thread.Investigating, InvestigatorTaskID: &run1,
		StartedAt: start.Format(time.RFC3339), Messages: []thread.Message{{MessageID: "1", Content: "why?"}}}
	s := &store{home: b.home, open: map[string]*thread.Thread{th.Key: th}}
	process := func() *notices {
		d := &Dispatcher{Options: o, gate: newGate(o), store: s}
		n := newNotices(d)
		rs, err := decision.Read(b.home)
		if err := errors.Join(err, n.open()); err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			counts, _ := d.gate.Add(r)
			n.recorded(&r, counts)
			if r.Kind == decision.Notify {
				n.posted(&outbox.Reply{Key: r.Key})
			}
		}
		return n
	}
	shown := func() (all []string) {
		if _, err := notify.Asked(b.home, 0, func(s notify.Signal) error {
			text, err := notice.Render("{state}, {minutes} min", *s.Holes)
			all = append(all, text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	n := process()
	if err := n.ran(th, run1); err != nil {
		t.Fatal(err)
	}
	tick := func(at time.Duration, notices, edits string) {
		t.Helper()
		now = start.Add(at)
		if _, err := n.tick(now); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.notices()); got != notices {
			t.Errorf("after %v: notices %s, want %s", at, got, notices)
		}
		if got := fmt.Sprint(shown()); got != edits {
			t.Errorf("after %v: edits %s, want %s", at, got, edits)
		}
	}
	const one = "[queued, 1 min]"
	tick(59*time.Second, "[]", "[]")
	tick(60*time.Second, one, "[]")
	tick(119*time.Second, one, "[]") // it is not posted yet
	n = process()
	tick(79*time.Second, one, "[]")
	tick(2*time.Minute, one, "[queued, 2 min]")
	tick(2*time.Minute+19*time.Second, one, "[queued, 2 min]")
	n = process()
	tick(2*time.Minute+40*time.Second, one, "[queued, 2 min]")
	th.Status, th.DraftPending = thread.PendingUser, &draft
	tick(3*time.Minute, one, "[queued, 2 min waiting, 3 min]")
	tick(9*time.Minute, one, "[queued, 2 min waiting, 3 min]")
	th.Status = thread.Closed
	tick(10*time.Minute, one, "[queued, 2 min waiting, 3 min done, 10 min]")
	tick(20*time.Minute, one, "[queued, 2 min waiting, 3 min done, 10 min]")
	n = process()
	tick(30*time.Minute, one, "[queued, 2 min waiting, 3 min done, 10 min]")
}

// TestTwoAtOnce: of two items that begin in one chat at once, one has a notice now, and none is asked for
// that does not count. The other's status is shown when the chat has rested.
func TestTwoAtOnce(t *testing.T) {
	b := newBench(t)
	b.approveForm(notice.Begun, "On it.")
	b.add("1", "ana", "", event.Actionable, "why?")
	b.add("2", "ben", "", event.Actionable, "how?")
	b.run()
	if got := b.notices(); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
