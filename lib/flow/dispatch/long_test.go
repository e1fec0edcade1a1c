package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/config"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// faraway does long runs by the words of their question.
type faraway struct {
	mu      sync.Mutex
	started map[string]*thread.Thread
	hints   map[string][]Hint
	stopped map[string]chan struct{}
	called  []string // back
	onStop  func()
}

func newFaraway() *faraway {
	return &faraway{started: map[string]*thread.Thread{}, hints: map[string][]Hint{},
		stopped: map[string]chan struct{}{}}
}

func (f *faraway) Start(t *thread.Thread, hints []Hint, id string) (thread.Escalation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.Contains(t.Messages[0].Content, "unstartable") {
		return thread.Escalation{}, errors.New("no terminal")
	}
	if f.started[id] == nil {
		f.started[id], f.hints[id], f.stopped[id] = t, hints, make(chan struct{})
	}
	return thread.Escalation{RunID: id, TmuxSession: new(id),
		TranscriptPath: "escalations/" + id + "/transcript.log"}, nil
}

func (f *faraway) Stop(id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.stopped[id])
	f.called = append(f.called, id)
	if f.onStop != nil {
		f.onStop()
	}
	return nil
}

func (f *faraway) Wait(ctx context.Context, id string) (*run.Result, error) {
	f.mu.Lock()
	t, stopped := f.started[id], f.stopped[id]
	f.mu.Unlock()
	res := &run.Result{RunID: id, StartedAt: t.StartedAt, EndedAt: t.StartedAt, Status: run.Done,
		Usage: &draft.Usage{InputTokens: 7, CostUSD: new(0.5)}}
	switch text := t.Messages[0].Content; {
	case strings.Contains(text, "endless"):
		select {
		case <-stopped:
			fail(res, agent.Fail(agent.Killed, errors.New("given up")), nil)
			return res, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case strings.Contains(text, "vain"):
		fail(res, agent.Fail(agent.Timeout, errors.New("its budget is used up")), nil)
		return res, nil
	}
	value, err := json.Marshal(&draft.Return{Confidence: "low", DraftReply: "long answer",
		SummaryForOrchestrator: "s", EvidenceRefs: []draft.Ref{}, EscalationRequested: true})
	res.Value = value
	return res, err
}

// far is a bench whose questions with "long" in them are tier 2, whose short runs
// ask for more at "more", and are late at "late".
func far(t *testing.T) (*bench, *faraway, func() Options) {
	b, f := newBench(t), newFaraway()
	b.cfg.Escalation.Enabled = true
	b.cfg.QuestionTypes = append(b.cfg.QuestionTypes,
		config.QuestionType{Name: "long", Type: thread.Other, When: "long", ExpectedMin: 30})
	return b, f, func() Options {
		o := b.options()
		o.Long = f
		o.Investigate = func(ctx context.Context, t *thread.Thread, h []Hint,
			r *run.Run) (*draft.Return, error) {
			if strings.Contains(t.Messages[0].Content, "late") {
				late := func(s *run.State) {
					s.Failure = &run.Failure{Kind: agent.Timeout, Limit: supervise.Wall}
				}
				if err := run.Update(r.Dir(), late); err != nil {
					return nil, err
				}
				return nil, agent.Fail(agent.Timeout, errors.New("its time is up"))
			}
			ret, err := b.investigate(ctx, t, h, r)
			if ret != nil {
				ret.EscalationRequested = strings.Contains(t.Messages[0].Content, "more")
				ret.ResearchNotes = "what the short look noted"
			}
			return ret, err
		}
		return o
	}
}

func TestLong(t *testing.T) {
	b, f, options := far(t)
	for id, text := range map[string]string{
		"1": "a long one?", "2": "more?", "3": "late?", "4": "more, in vain?", "5": "late, in vain?",
		"6": "a short one?", "7": "long, unstartable?",
	} {
		b.add(id, "ana", "", event.Actionable, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := Run(ctx, options()); err != nil || ctx.Err() != nil {
		t.Fatal(err, b.say.String())
	}
	for _, tt := range []struct {
		id, badge, draft string
		escalated        bool
		prefix           string // of the investigation's id
	}{
		{"1", "quotes checked, asks for a longer look", "long answer", true, "i-"},
		{"2", "quotes checked, asks for a longer look", "long answer", true, "e-"},
		{"3", "quotes checked, asks for a longer look", "long answer", true, "e-"},
		{"4", "quotes checked, asks for a longer look", "answer to more, in vain?", true, "e-"},
		{"5", "failed", "", true, "e-"},
		{"6", "quotes checked", "answer to a short one?", false, "i-"},
		{"7", "failed", "", true, "i-"},
	} {
		th := b.thread(tt.id)
		text := ""
		if th.DraftPending != nil {
			text = *th.DraftPending
		}
		if th.Badge != tt.badge || text != tt.draft || th.IsEscalated != tt.escalated ||
			!strings.HasPrefix(*th.InvestigatorTaskID, tt.prefix) {
			t.Errorf("%s: %q %q escalated %v by %s (%s)", tt.id, th.Badge, text, th.IsEscalated,
				*th.InvestigatorTaskID, th.InvestigatorError)
		}
		if watched := th.EscalationTmuxSession != nil &&
			th.EscalationTranscriptPath != nil; watched != (tt.escalated && tt.id != "7") {
			t.Errorf("%s: watched %v", tt.id, watched)
		}
	}
	hints := f.hints[*b.thread("2").InvestigatorTaskID]
	if len(hints) == 0 || !strings.Contains(hints[len(hints)-1].Text, "what the short look noted") {
		t.Errorf("the longer look was told %v", hints)
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed > 0 {
		t.Errorf("rebuild: %+v %v", done, err)
	}
	runs := len(f.started)
	if err := Run(ctx, options()); err != nil || len(f.started) != runs {
		t.Errorf("again: %v, %d more runs", err, len(f.started)-runs)
	}
}

// TestLongGoesOn: a dispatcher that ends leaves long runs running, and the next one takes their results.
func TestLongGoesOn(t *testing.T) {
	b, f, options := far(t)
	b.add("1", "ana", "", event.Actionable, "long and endless?")
	ctx, cancel := context.WithCancel(context.Background())
	o := options()
	o.Once, o.Out = false, &onMove{cancel, "escalated"}
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	th := b.thread("1")
	f.mu.Lock()
	f.started[*th.InvestigatorTaskID] = &thread.Thread{Messages: []thread.Message{{Content: "now it ends"}},
		StartedAt: "2026-11-21T10:00:00Z"}
	if f.stopped[*th.InvestigatorTaskID] == nil {
		f.stopped[*th.InvestigatorTaskID] = make(chan struct{})
	}
	f.mu.Unlock()
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := Run(ctx, options()); err != nil || ctx.Err() != nil {
		t.Fatal(err)
	}
	if th := b.thread("1"); th.Status != thread.PendingUser || th.DraftPending == nil ||
		*th.DraftPending != "long answer" {
		t.Errorf("%+v", th)
	}
}

// onMove ends a dispatcher at a thread's move.
type onMove struct {
	cancel func()
	to     string
}

func (o *onMove) Write(b []byte) (int, error) {
	if strings.Contains(string(b), `"to":"`+o.to+`"`) {
		o.cancel()
	}
	return len(b), nil
}

// TestLongIsCalledBack: a long run ends when its question is taken back.
func TestLongIsCalledBack(t *testing.T) {
	b, f, options := far(t)
	b.add("1", "ana", "", event.Actionable, "long and endless?")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o := options()
	o.Once, o.Input.Follow = false, true
	o.Out = &onMove{func() { b.add("2", "ana", "1", event.Ambient, "never mind, found it") }, "escalated"}
	f.onStop = cancel
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	if len(f.called) != 1 || f.started[f.called[0]] == nil {
		t.Errorf("stopped %q of %d", f.called, len(f.started))
	}
}

// TestSpendOfTheKilled: what a run took that was killed is known when its thread
// has moved on, and counts together with the try that came to an end.
func TestSpendOfTheKilled(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "forever?")
	ctx, cancel := context.WithCancel(context.Background())
	o := b.options()
	o.Once = false
	spend := func(ctx context.Context, r *run.Run) {
		a := supervise.Wrap(spender{}, supervise.Options{Dir: r.Dir()})
		_, _ = a.Run(ctx, agent.Task{}) // how it ended is in its state
	}
	var id string
	o.Investigate = func(ctx context.Context, _ *thread.Thread, _ []Hint, r *run.Run) (*draft.Return, error) {
		id = r.ID
		spend(ctx, r)
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	lost := run.ID(run.Investigate, "somebody else", 1, 1)
	if err := run.Update(b.home.Path("runs/"+lost), func(s *run.State) {
		*s = run.State{Status: run.Active, Owner: run.Process{PID: 1 << 30},
			Usage: &draft.Usage{InputTokens: 5}}
	}); err != nil {
		t.Fatal(err)
	}
	o = b.options()
	o.Investigate = func(ctx context.Context, _ *thread.Thread, _ []Hint, r *run.Run) (*draft.Return, error) {
		spend(ctx, r)
		return nil, errors.New("boom")
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := Run(ctx, o); err != nil || ctx.Err() != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(b.home.Dir(), "spend.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var e budget.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == budget.Settle {
			got[e.RunID] += e.Tokens
		}
	}
	if got[id] != 20 || got[lost] != 5 {
		t.Errorf("settled %v, want 20 of %s and 5 of %s", got, id, lost)
	}
	if s, err := run.LoadState(b.home.Path("runs/" + lost)); err != nil || s.Status != run.Crashed {
		t.Errorf("%+v %v", s, err)
	}
}

// spender is an agent that takes 10 tokens and fails.
type spender struct{}

func (spender) Run(context.Context, agent.Task) (agent.Result, error) {
	return agent.Result{Usage: draft.Usage{InputTokens: 10}}, fmt.Errorf("x")
}
