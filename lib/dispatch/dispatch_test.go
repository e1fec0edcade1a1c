package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/config"
	"tri/lib/decision"
	"tri/lib/disk"
	"tri/lib/draft"
	"tri/lib/event"
	"tri/lib/evidence"
	"tri/lib/outbox"
	"tri/lib/prompt"
	"tri/lib/run"
	"tri/lib/stream"
	"tri/lib/thread"
	"tri/lib/verdict"
)

// bench is a dispatcher whose agents are functions of the question's words.
type bench struct {
	t      *testing.T
	home   *disk.Home
	cfg    *config.Config
	log    *disk.Log
	size   int64 // of the log
	runs   atomic.Int64
	say    strings.Builder
	shadow bool

	mention bool // the events to come mention us
}

func newBench(t *testing.T) *bench {
	h, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	cfg := config.Default()
	cfg.Team.Approvers = []string{"boss"}
	cfg.Budget = config.Budget{}
	log, err := h.OpenLog("events-classified.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return &bench{t: t, home: h, cfg: cfg, log: log}
}

// add appends an event; a root with "~" before it was inferred.
func (b *bench) add(id, sender, root, class, text string) {
	seq := b.size
	e := event.Classified{Event: event.Event{
		Seq: &seq, Platform: "local", ChatID: "dev", ChatName: "dev", MessageID: id, CreateTime: "2026-11-21T10:00:00Z",
		MsgType: "text", Content: text, Sender: event.Sender{ID: sender, Type: "user"}, Mentions: []string{},
	}, Classification: class, IsQuestion: class == event.Actionable, IsBotMention: b.mention}
	if flat, ok := strings.CutPrefix(root, "~"); ok { // as tri-thread says it
		root, e.ThreadInferred = flat, "same-person"
	}
	if root != "" {
		e.ThreadID = &root
	}
	line, err := json.Marshal(&e)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil }); err != nil {
		b.t.Fatal(err)
	}
	b.size += int64(len(line)) + 1
}

func (b *bench) options() Options {
	prompts, err := prompt.Load("")
	if err != nil {
		b.t.Fatal(err)
	}
	return Options{
		Home: b.home, Config: b.cfg, Prompts: prompts, Once: true, Shadow: b.shadow, Out: io.Discard, Now: time.Now,
		Say:         func(f string, a ...any) { fmt.Fprintf(&b.say, f+"\n", a...) },
		Input:       stream.Input{Files: []string{b.home.Path("events-classified.ndjson")}},
		Investigate: b.investigate,
		Validate: func(_ context.Context, t *thread.Thread, _ []Hint, _ *run.Run) (*verdict.Verdict, error) {
			feedback := "cite the line"
			if strings.Contains(t.Messages[0].Content, "lie") && t.InvestigatorRound == 1 {
				return &verdict.Verdict{Verdict: verdict.Bounce, BounceFeedback: &feedback}, nil
			}
			return &verdict.Verdict{Verdict: verdict.Pass}, nil
		},
	}
}

func (b *bench) investigate(ctx context.Context, t *thread.Thread, _ []Hint, _ *run.Run) (*draft.Return, error) {
	b.runs.Add(1)
	text := t.Messages[0].Content
	switch {
	case strings.Contains(text, "nothing"):
		return nil, agent.ErrNothing
	case strings.Contains(text, "boom"):
		return nil, errors.New("boom")
	case strings.Contains(text, "forever"):
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &draft.Return{Confidence: "low", DraftReply: "answer to " + text, SummaryForOrchestrator: "s", EvidenceRefs: []evidence.Ref{}}, nil
}

func (b *bench) run() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := Run(ctx, b.options()); err != nil {
		b.t.Fatal(err)
	}
	if ctx.Err() != nil {
		b.t.Fatal("stuck; said: " + b.say.String())
	}
}

func (b *bench) thread(id string) *thread.Thread {
	b.t.Helper()
	t, err := thread.Load(b.home, event.Key("local", "dev", id))
	if err != nil {
		b.t.Fatal(err)
	}
	if t == nil {
		return new(thread.Thread)
	}
	return t
}

func (b *bench) decide(kind, id, note string) {
	b.t.Helper()
	t := b.thread(id)
	r := decision.Record{Kind: kind, By: "boss", Via: "terminal", Key: t.Key, Cycle: t.Cycle, DraftSHA256: t.DraftSHA256, Note: note}
	if t.DraftPending != nil {
		r.Text = *t.DraftPending
	}
	if _, err := decision.Append(b.home, r); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) offers(id string) (offers, withdrawals int) {
	b.t.Helper()
	records, err := decision.Read(b.home)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range records {
		if r.Key == event.Key("local", "dev", id) && r.Kind == decision.Offer {
			offers++
		} else if r.Key == event.Key("local", "dev", id) && r.Kind == decision.Withdraw {
			withdrawals++
		}
	}
	return offers, withdrawals
}

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
	if err := Run(context.Background(), b.options()); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

// TestRestarts stops dispatchers wherever they are, many times over one stream,
// and holds that the end is the same as if none had been stopped.
func TestRestarts(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		id := fmt.Sprint(i)
		switch rng.IntN(4) {
		case 0:
			b.add(id, "ana", "", event.Ambient, "hello")
		case 1:
			b.add(id, "ana", fmt.Sprint(rng.IntN(i+1)), event.Actionable, "more, or a lie "+id+"?")
		default:
			b.add(id, "ana", "", event.Actionable, "why "+id+"?")
		}
	}
	for range 60 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(8000))*time.Microsecond)
		err := Run(ctx, b.options())
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	b.run()
	names, err := filepath.Glob(b.home.Path("open/*.json"))
	if err != nil || len(names) < 20 {
		t.Fatalf("%d threads, %v", len(names), err)
	}
	for _, name := range names {
		th, err := thread.LoadFile(b.home, "open/"+filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if th.Status != thread.PendingUser || th.DraftPending == nil || !strings.Contains(*th.DraftPending, th.Messages[0].Content) {
			t.Errorf("%s: %s with %v for %q", th.Key, th.Status, th.DraftPending, th.Messages[0].Content)
		}
		if s := standing(t, b, th.Key); s == nil || s.Offer == nil || s.Offer.DraftSHA256 != th.DraftSHA256 || s.Void != "" {
			t.Errorf("%s: its draft is not what stands offered: %+v", th.Key, s)
		}
	}
	done, err := Rebuild(b.home)
	if err != nil || done.Changed+done.Removed != 0 || done.Threads != len(names) {
		t.Errorf("rebuild: %+v, %v", done, err)
	}
}

func standing(t *testing.T, b *bench, key string) *decision.Standing {
	t.Helper()
	records, err := decision.Read(b.home)
	if err != nil {
		t.Fatal(err)
	}
	return decision.Resolve(records, decision.Policy{Approvers: []string{"boss"}}, time.Now())[key]
}

func TestRebuildMendsDamage(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	b.add("2", "ben", "", event.Actionable, "how?")
	b.run()
	path := thread.OpenPath(event.Key("local", "dev", "1"))
	want, err := b.home.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func() error{
		func() error { return os.WriteFile(b.home.Path(path), []byte("{"), 0o600) },
		func() error { return os.Remove(b.home.Path(path)) },
		func() error { return os.WriteFile(b.home.Path("open/stranger.json"), []byte("{}"), 0o600) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		done, err := Rebuild(b.home)
		if err != nil || done.Changed+done.Removed != 1 {
			t.Errorf("rebuild: %+v, %v", done, err)
		}
		if got, err := b.home.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("not as it was: %v", err)
		}
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

// TestBrokenMark: what the hint promises is so.
func TestBrokenMark(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	b.run()
	if err := os.WriteFile(b.home.Path("dispatch.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), b.options()); err == nil {
		t.Error("a broken mark was taken")
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	ran := b.runs.Load()
	b.run()
	if n, _ := b.offers("1"); b.runs.Load() != ran || n != 1 {
		t.Errorf("%d more runs, %d offers", b.runs.Load()-ran, n)
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
