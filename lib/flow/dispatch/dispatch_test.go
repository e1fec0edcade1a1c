package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

func TestDispatch(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why does it fail?")
	b.add("2", "ben", "", event.Ambient, "good morning")
	b.add("3", "cid", "", event.Actionable, "is this a lie?")
	b.add("4", "dee", "", event.Actionable, "nothing to see?")
	b.add("5", "eve", "", event.Actionable, "boom?")
	b.run()
	for _, tt := range []struct{ id, status, badge string }{
		{"1", thread.PendingUser, "✓ validated"},
		{"2", "", ""},
		{"3", thread.PendingUser, "✓ validated"},
		{"4", thread.PendingUser, "nothing found"},
		{"5", thread.PendingUser, "failed"},
	} {
		if th := b.thread(tt.id); th.Status != tt.status || th.Badge != tt.badge {
			t.Errorf("thread %s: %q %q (%s), want %q %q", tt.id, th.Status, th.Badge, th.InvestigatorError, tt.status, tt.badge)
		}
	}
	if th := b.thread("3"); th.InvestigatorRound != 2 || th.BounceFeedback == "" {
		t.Errorf("the bounced draft had %d rounds", th.InvestigatorRound)
	}
	ran := b.runs.Load()
	b.run()
	if b.runs.Load() != ran {
		t.Errorf("a second dispatcher ran %d agents again", b.runs.Load()-ran)
	}
	if n, _ := b.offers("1"); n != 1 {
		t.Errorf("%d offers", n)
	}
}

// TestWhereAnswersGo: into the platform's thread; where the thread was inferred
// there is none, and the answer goes to the question's own message.
func TestWhereAnswersGo(t *testing.T) {
	for _, tt := range []struct {
		name, then, want string // the event behind 1: "id root"; thread and message answered
	}{
		{"a root", "", "1 1"},
		{"a platform's thread", "2 1", "1 2"},
		{"an inferred one", "2 ~1", "2 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.add("1", "ana", "", event.Actionable, "why?")
			if id, root, ok := strings.Cut(tt.then, " "); ok {
				b.add(id, "ana", root, event.Actionable, "and why does it say so?")
			}
			b.run()
			records, err := decision.Read(b.home)
			if err != nil || len(records) == 0 {
				t.Fatal(records, err)
			}
			to := records[len(records)-1].Target
			if to == nil || to.ThreadID+" "+to.ReplyToID != tt.want || to.QuestionSHA256 == decision.Sum("") {
				t.Errorf("%+v, want %s", to, tt.want)
			}
			if b.thread("1").Key == "" {
				t.Error("the thread has another key than its conversation")
			}
		})
	}
}

// TestBacklog: what waits behind a full batch is taken too.
func TestBacklog(t *testing.T) {
	b := newBench(t)
	for i := range 3*maxBatch + 1 {
		b.add(fmt.Sprint(i), "ana", "", event.Actionable, fmt.Sprint("why ", i, "?"))
	}
	b.run()
	if names, err := b.home.List("open"); err != nil || len(names) != 3*maxBatch+1 {
		t.Errorf("%d threads of %d, %v", len(names), 3*maxBatch+1, err)
	}
}

func TestDecisionsAndReplies(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	b.run()
	b.decide(decision.Redo, "1", "look again")
	b.run()
	if th := b.thread("1"); th.Cycle != 2 || th.Notes[0].Text != "look again" {
		t.Fatalf("after redo: %+v", th)
	}
	if n, gone := b.offers("1"); n != 2 || gone > 1 {
		t.Errorf("%d offers, %d withdrawn", n, gone)
	}
	b.decide(decision.Approve, "1", "")
	th := b.thread("1")
	line, err := json.Marshal(outbox.Reply{Key: th.Key, Cycle: th.Cycle, DraftSHA256: th.DraftSHA256, Outcome: outbox.Posted, PostedMessageID: "77"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.home.Path("replies.ndjson"), append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run()
	if th := b.thread("1"); th.Status != thread.Closed || *th.PostedMessageID != "77" {
		t.Errorf("after the post: %s", th.Status)
	}
	if names, _ := filepath.Glob(b.home.Path("open/*")); len(names) > 0 {
		t.Errorf("left open: %v", names)
	}
	b.add("9", "ana", "1", event.Actionable, "and now?")
	b.run()
	if th := b.thread("1"); th.Cycle != 3 || th.Status != thread.PendingUser {
		t.Errorf("reopened: cycle %d %s", th.Cycle, th.Status)
	}
}

func TestStrangersDecideNothing(t *testing.T) {
	b := newBench(t)
	b.cfg.Team.Approvers = nil
	b.add("1", "ana", "", event.Actionable, "why?")
	b.run()
	b.decide(decision.Dismiss, "1", "no")
	b.run()
	if th := b.thread("1"); th.Status != thread.PendingUser {
		t.Errorf("a stranger closed it: %s", th.Status)
	}
}

func TestShadowOffersNothing(t *testing.T) {
	b := newBench(t)
	b.shadow = true
	b.add("1", "ana", "", event.Actionable, "why?")
	b.add("2", "ben", "1", event.Ambient, "because of the cache")
	b.run()
	if n, _ := b.offers("1"); n != 0 {
		t.Errorf("%d offers", n)
	}
	th := b.thread("1")
	if len(th.HumanReplies) != 1 || th.DraftPending == nil {
		t.Errorf("kept %v beside %v", th.HumanReplies, th.DraftPending)
	}
}

func TestBudget(t *testing.T) {
	b := newBench(t)
	b.cfg.Budget.InvestigationsPerDay = new(2)
	for i := range 5 {
		b.add(fmt.Sprint(i), "ana", "", event.Actionable, "why?")
	}
	b.run()
	if n := b.runs.Load(); n != 2 {
		t.Errorf("%d runs on a budget of 2", n)
	}
}

func TestHardCap(t *testing.T) {
	b := newBench(t)
	b.cfg.Investigator.HardCapRuntimeMin = 0.001
	b.add("1", "ana", "", event.Actionable, "how long is forever?")
	b.run()
	if th := b.thread("1"); th.Badge != "failed" || !strings.Contains(th.InvestigatorError, "longer than") {
		t.Errorf("%s: %s", th.Badge, th.InvestigatorError)
	}
}

func TestSecondDispatcherIsRefused(t *testing.T) {
	b := newBench(t)
	lock, err := b.home.TryLock(lockName)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if err := Run(context.Background(), b.options()); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

// TestLongThread: however much an asker adds, the offer stays a line that every
// reader takes.
func TestLongThread(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	for i := range 400 {
		b.add(fmt.Sprint("m", i), "ana", "1", event.Actionable, strings.Repeat("and this? ", 400))
	}
	b.run()
	if th := b.thread("1"); th.Status != thread.PendingUser || th.DraftPending == nil {
		t.Errorf("%s: %s", th.Status, th.InvestigatorError)
	}
	if n, _ := b.offers("1"); n == 0 {
		t.Error("no offer")
	}
}

// TestFacts: the configuration's own kinds come first and are named, and a long
// question goes to the long tier where there is one.
func TestFacts(t *testing.T) {
	cfg := config.Default()
	cfg.Escalation.Enabled, cfg.Escalation.ExpectedRuntimeMinThreshold = true, 10
	cfg.QuestionTypes = []config.QuestionType{
		{Name: "orders", Type: thread.DataLookup, When: `order \d+`, ExpectedMin: 2},
		{Type: thread.Other, When: `.sender.id == "boss"`},
	}
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRules(cfg, prompts)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ who, text, kind, reason, because string }{
		{"ana", "is staging down?", thread.StatusCheck, "status:is-it-down", "status 3"},
		{"ana", "where is order 12?", thread.DataLookup, "config:orders", "config:orders"},
		{"boss", "why so slow?", thread.Other, "config:2", "other 3, why +2, performance +3"},
		{"ana", "why does it fail intermittently?", thread.TechnicalQA, "technical:why", "technical 5, why +2, intermittent +4"},
	} {
		e := &event.Classified{IsQuestion: true, Classification: event.Actionable}
		e.Platform, e.ChatID, e.MessageID, e.Content, e.Sender.ID = "local", "dev", "1", tt.text, tt.who
		f, err := r.facts(e, Options{Config: cfg, Say: t.Logf})
		if err != nil || f.QuestionType != tt.kind || f.TypeReason != tt.reason || strings.Join(f.ExpectedBecause, ", ") != tt.because || (f.Tier == 2) != (f.ExpectedMin >= 10) {
			t.Errorf("%s: %+v, %v", tt.text, f, err)
		}
	}
}
