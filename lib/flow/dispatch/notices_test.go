package dispatch

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/notice"
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

// TestBetween: no notice into an exchange of two other people, and again one after it.
func TestBetween(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	th := &thread.Thread{Platform: "local", ChatID: "dev", OriginalSenderID: "ana"}
	for _, tt := range []struct {
		name   string
		who    []string
		before time.Duration // since the last word
		want   bool
	}{
		{"two others", []string{"ana", "ben", "cid"}, 0, true},
		{"two others, an hour ago", []string{"ben", "cid"}, time.Hour, false},
		{"the asker and another", []string{"ben", "ana"}, 0, false},
		{"one other", []string{"ana", "ben", "ben"}, 0, false},
		{"no one", nil, 0, false},
	} {
		b := newBench(t)
		o := b.options()
		o.Now = func() time.Time { return now }
		n := &notices{gate: newGate(o), store: &store{open: map[string]*thread.Thread{}},
			latest: map[place][]spoken{}, asked: map[string]bool{}}
		for _, who := range tt.who {
			e := &event.Classified{Event: event.Event{Platform: "local", ChatID: "dev",
				CreateTime: now.Add(-tt.before).Format(time.RFC3339), Sender: event.Sender{ID: who}}}
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
