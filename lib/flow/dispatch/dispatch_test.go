package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
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
		{"1", thread.PendingUser, "quotes checked"},
		{"2", "", ""},
		{"3", thread.PendingUser, "quotes checked"},
		{"4", thread.PendingUser, "nothing found"},
		{"5", thread.PendingUser, "failed"},
	} {
		if th := b.thread(tt.id); th.Status != tt.status || th.Badge != tt.badge {
			t.Errorf("thread %s: %q %q (%s), want %q %q", tt.id, th.Status, th.Badge, th.InvestigatorError,
				tt.status, tt.badge)
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

// TestWhereAnswersGo: into the platform's thread; if the thread was inferred, the answer replies to the
// question's own message.
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
	line, err := json.Marshal(outbox.Reply{Key: th.Key, Cycle: th.Cycle, DraftSHA256: th.DraftSHA256,
		Outcome: outbox.Posted, PostedMessageID: "77"})
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

// TestPasses: a run whose failure may be over soon tries again, a bounded number of times. One that lacks
// descriptors or disk space even then ends the dispatcher, and the next one repeats it.
func TestPasses(t *testing.T) {
	overloaded := sysexit.With(sysexit.TempFail, errors.New("529: overloaded"))
	lacks := func(errno syscall.Errno) error {
		return sysexit.With(sysexit.NoInput, &fs.PathError{Op: "open", Path: "src", Err: errno})
	}
	for _, test := range []struct {
		err    error
		tries  int32 // that fail
		asked  int32
		failed bool
		ends   bool
	}{
		{overloaded, 2, 3, false, false}, {overloaded, 9, 3, true, false},
		{lacks(syscall.EMFILE), 2, 3, false, false}, {lacks(syscall.EMFILE), 3, 4, false, true},
		{lacks(syscall.ENOSPC), 3, 4, false, true}, {lacks(syscall.ENOMEM), 9, 3, true, false},
		{sysexit.With(sysexit.NoInput, fs.ErrNotExist), 1, 1, true, false},
	} {
		b := newBench(t)
		b.add("1", "ana", "", event.Actionable, "why?")
		o := b.options()
		var asked atomic.Int32
		o.Investigate = func(ctx context.Context, th *thread.Thread, hs []Hint,
			r *run.Run) (*draft.Return, error) {
			if asked.Add(1) <= test.tries {
				return nil, test.err
			}
			return b.investigate(ctx, th, hs, r)
		}
		err := quick(t, o)
		if status, _ := sysexit.Of(err); test.ends && status != sysexit.TempFail || !test.ends && err != nil {
			t.Fatalf("%v: it ended with %v", test.err, err)
		}
		if test.ends {
			if err := quick(t, o); err != nil {
				t.Fatal(err)
			}
		}
		th := b.thread("1")
		if asked.Load() != test.asked || (th.Badge == "failed") != test.failed ||
			(th.DraftPending == nil) != test.failed {
			t.Errorf("%v: %d asked, %q", test.err, asked.Load(), th.Badge)
		}
	}
}

// quick runs a dispatcher that waits for nothing before a further attempt.
func quick(t *testing.T, o Options) error {
	t.Helper()
	d, err := newDispatcher(o)
	if err != nil {
		t.Fatal(err)
	}
	d.pool.pauses = []time.Duration{0, 0}
	return d.run(t.Context())
}

// TestNotKept: a run whose files cannot be written ends the dispatcher, and is repeated by the next one.
func TestNotKept(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	o := b.options()
	o.Investigate = func(context.Context, *thread.Thread, []Hint, *run.Run) (*draft.Return, error) {
		return nil, fmt.Errorf("%w: %w", agent.ErrNotKept, syscall.ENOSPC)
	}
	if err := quick(t, o); !errors.Is(err, agent.ErrNotKept) {
		t.Errorf("got %v", err)
	}
	b.run()
	if th := b.thread("1"); th.DraftPending == nil {
		t.Errorf("%s: %s", th.Status, th.InvestigatorError)
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
		{"ana", "why does it fail intermittently?", thread.TechnicalQA, "technical:why",
			"technical 5, why +2, intermittent +4"},
	} {
		e := &event.Classified{IsQuestion: true, Classification: event.Actionable}
		e.Platform, e.ChatID, e.MessageID, e.Content, e.Sender.ID = "local", "dev", "1", tt.text, tt.who
		f, err := r.facts(e, "", Options{Config: cfg, Say: t.Logf, Now: time.Now})
		if err != nil || f.QuestionType != tt.kind || f.TypeReason != tt.reason ||
			strings.Join(f.ExpectedBecause, ", ") != tt.because || (f.Tier == 2) != (f.ExpectedMin >= 10) {
			t.Errorf("%s: %+v, %v", tt.text, f, err)
		}
	}
}

// TestAskers: each asker of a conversation has an item, charged to them, and what
// one of them says moves no other's.
func TestAskers(t *testing.T) {
	b := newBench(t)
	b.add("1", "mira", "", event.Actionable, "why?")
	b.run()
	b.add("2", "joe", "1", event.Actionable, "how many?")
	b.run()
	if th := b.thread("1"); th.Status != thread.PendingUser || th.DraftPending == nil || th.Cycle != 1 {
		t.Errorf("a stranger's question moved the draft that waits: %+v", th.StatusHistory)
	}
	if n, gone := b.offers("1"); n != 1 || gone != 0 {
		t.Errorf("%d offers, %d withdrawn", n, gone)
	}
	joes := b.thread("2")
	if joes.OriginalSenderID != "joe" || joes.Root != b.thread("1").Key || joes.ThreadID != "1" ||
		joes.DraftPending == nil {
		t.Errorf("%+v", joes)
	}
	var persons []string
	if _, err := readLines(b.home, "spend.ndjson", 0, func(line []byte) error {
		var e budget.Entry
		err := json.Unmarshal(line, &e)
		if e.Kind == budget.Reserve {
			persons = append(persons, e.Person)
		}
		return err
	}); err != nil || strings.Join(persons, " ") != "mira joe" {
		t.Errorf("charged to %v, %v", persons, err)
	}
	b.add("3", "mira", "1", event.Actionable, "@tri never mind")
	b.run()
	if th := b.thread("1"); th.Status != thread.Closed {
		t.Error(th.Status)
	}
	if th := b.thread("2"); th.Status != thread.PendingUser || th.Cycle != 1 {
		t.Errorf("one asker's withdrawal moved the other's: %+v", th.StatusHistory)
	}
	b.add("4", "eve", "", event.Actionable, "@tri never mind")
	b.add("5", "joe", "", event.Actionable, "ok never mind, thanks")
	b.run()
	if b.thread("4").Key != "" || b.thread("5").Key != "" || b.thread("2").Status != thread.Closed {
		t.Errorf("withdrawals that stand alone: %q %q %s", b.thread("4").Key, b.thread("5").Key,
			b.thread("2").Status)
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestOldQuestions: a past that is read in opens nothing, and its story is kept.
func TestOldQuestions(t *testing.T) {
	b := newBench(t)
	b.cfg.Dispatch.MaxQuestionAgeH = 24
	b.add("1", "ana", "", event.Actionable, "why?")
	o := b.options()
	o.Now = func() time.Time { return time.Date(2026, 11, 22, 10, 0, 1, 0, time.UTC) }
	if err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	text, err := b.home.ReadFile(journal.Name)
	if err != nil || b.thread("1").Key != "" || !strings.Contains(string(text), "older than 24 hours") {
		t.Errorf("%q %s %v", b.thread("1").Key, text, err)
	}
	o.Now = func() time.Time { return time.Date(2026, 11, 22, 9, 59, 59, 0, time.UTC) }
	b.add("2", "ana", "", event.Actionable, "why?")
	if err := Run(context.Background(), o); err != nil || b.thread("2").Key == "" {
		t.Errorf("%q %v", b.thread("2").Key, err)
	}
}

// TestOneRound: investigator.max_rounds holds.
func TestOneRound(t *testing.T) {
	b := newBench(t)
	b.cfg.Investigator.MaxRounds = 1
	b.cfg.WatchedChats = []config.Chat{{Platform: "local", ChatID: "dev", Name: "developers"}}
	b.add("1", "cid", "", event.Actionable, "is this a lie?")
	b.run()
	if th := b.thread("1"); th.InvestigatorRound != 1 || th.Badge != "disagreement" || b.runs.Load() != 1 ||
		th.ChatName != "developers" {
		t.Errorf("round %d, %q, %d runs, in %q", th.InvestigatorRound, th.Badge, b.runs.Load(), th.ChatName)
	}
}

// TestHints: nothing of one chat, of another codebase or of a draft that did not
// pass is a hint.
func TestHints(t *testing.T) {
	passed, failed := &verdict.Verdict{Verdict: verdict.Pass}, &verdict.Verdict{Verdict: verdict.Bounce}
	item := func(key, chat, code string, v *verdict.Verdict) *thread.Thread {
		return &thread.Thread{Key: key, Platform: "local", ChatID: chat, Codebase: code, ValidatorReturn: v,
			InvestigatorReturn: &draft.Return{SummaryForOrchestrator: key}}
	}
	h := newHints(&Dispatcher{Options: Options{Home: newBench(t).home, Say: t.Errorf},
		store: &store{open: map[string]*thread.Thread{}}})
	refs := []draft.Ref{{Kind: draft.KindFile, Ref: "retry.go:1", Receipt: &draft.Receipt{SHA256: "a"}}}
	for _, th := range []*thread.Thread{
		item("me", "dev", "a", passed), item("good", "dev", "a", passed),
		item("private", "board", "a", passed),
		item("other", "dev", "b", passed), item("bad", "dev", "a", failed), item("unseen", "dev", "a", nil),
	} {
		h.store.open[th.Key] = th
		h.recorded(&decision.Record{Kind: decision.Offer, Key: th.Key, Codebase: th.Codebase, Evidence: refs,
			Target: &decision.Target{Platform: "local", ChatID: th.ChatID}}, true)
		h.posted(&outbox.Reply{Platform: "local", ChatID: th.ChatID, Key: th.Key, Outcome: "posted",
			ReadBy: []string{"ana"}, ReplyText: "the retry limit of " + th.Key})
	}
	var got []string
	h.store.open["me"].Messages = []thread.Message{{Content: "where is the retry limit?"}}
	for _, hint := range h.hints(job{kind: run.Investigate}, h.store.open["me"]) {
		got = append(got, hint.Text)
	}
	slices.Sort(got)
	if want := "good, the retry limit of bad, the retry limit of good, the retry limit of me, the retry limit of unseen"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

// TestAudience: of a thousand investigations over four codebases, three chats and two platforms none gets a
// hint of another codebase or of a chat that others read.
func TestAudience(t *testing.T) {
	h := newHints(&Dispatcher{Options: Options{Home: newBench(t).home},
		store: &store{open: map[string]*thread.Thread{}}})
	for i := range 1000 {
		th := &thread.Thread{
			Key: fmt.Sprint("k", i), Platform: []string{"local", "slack"}[i%2],
			ChatID: []string{"dev", "hr", "guests"}[i/2%3], Codebase: []string{"a", "b", "c", "d"}[i/6%4],
			ValidatorReturn: &verdict.Verdict{Verdict: verdict.Pass},
		}
		th.InvestigatorReturn = &draft.Return{SummaryForOrchestrator: fmt.Sprint(audienceOf(th))}
		h.store.open[th.Key] = th
		h.recorded(&decision.Record{Kind: decision.Offer, Key: th.Key, Codebase: th.Codebase,
			Target: &decision.Target{Platform: th.Platform, ChatID: th.ChatID}}, true)
		h.posted(&outbox.Reply{Key: th.Key, ReplyText: fmt.Sprint(audienceOf(th))})
	}
	hints := 0
	for _, th := range h.store.open {
		for _, hint := range h.hints(job{kind: run.Investigate}, th) {
			if hints++; hint.Text != fmt.Sprint(audienceOf(th)) {
				t.Fatalf("%v gets %s", audienceOf(th), hint.Text)
			}
		}
	}
	if hints < 20_000 {
		t.Errorf("%d hints", hints)
	}
}

// TestHomeIsNoCodebase: without a codebase the stages of a pipeline, which run in the home, answer nothing.
func TestHomeIsNoCodebase(t *testing.T) {
	for _, in := range []string{".", "open"} {
		b := newBench(t)
		o := b.options()
		o.Config.Codebases, o.Codebase = nil, b.home.Path(in)
		if err := b.home.MkdirAll("open"); err != nil {
			t.Fatal(err)
		}
		err := Run(t.Context(), o)
		if status, _ := sysexit.Of(err); status != sysexit.Config {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestCutForThePlatform: a draft that is longer than a message of its chat is offered as the messages in
// which it is sent, with its code whole.
func TestCutForThePlatform(t *testing.T) {
	code := "```go\n" + strings.Repeat("x := 1 // a line of it\n\n", 60) + "```\n\n"
	text := strings.Repeat("A sentence of prose. ", 60) + "\n\n" + code + "That is all."
	for platform, parts := range map[string]int{"discord": 2, "slack": 1, "local": 1} {
		r := record(&thread.Thread{Platform: platform, DraftPending: &text, InvestigatorTaskID: new("i"),
			InvestigatorReturn: &draft.Return{DraftReply: text},
			Messages:           []thread.Message{{MessageID: "1", Content: "why?"}}})
		sent := outbox.Derive(&r, r.Target, chat.Limits[platform])
		said := ""
		for _, e := range sent {
			if said += e.Text; strings.Count(e.Text, "```")%2 != 0 {
				t.Errorf("%s: a message ends in the code: %q", platform, e.Text)
			}
		}
		if said != text || len(sent) != parts || len(r.Cuts) != parts-1 {
			t.Errorf("%s: %d messages, cuts %v", platform, len(sent), r.Cuts)
		}
	}
}
