package steer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/durable"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// scripted is an agent in this process: each leg is a function.
type scripted struct {
	can  agent.Capabilities
	legs []func(context.Context, agent.Task) (agent.Result, error)
	got  []agent.Task
}

func (s *scripted) Capabilities() agent.Capabilities { return s.can }

func (s *scripted) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	s.got = append(s.got, t)
	return s.legs[min(len(s.got), len(s.legs))-1](ctx, t)
}

// story is a run that is told things.
type story struct {
	*testing.T
	home   *durable.Home
	task   agent.Task
	events []agent.Event
	kill   context.CancelFunc // ends the process that runs it
}

func newStory(t *testing.T) *story {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	s := &story{T: t, home: h}
	if err := h.MkdirAll("runs/r"); err != nil {
		t.Fatal(err)
	}
	code := t.TempDir()
	for name, text := range map[string]string{"a.go": "one\n", "b.go": "two\n"} {
		if err := os.WriteFile(filepath.Join(code, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.task = agent.Task{
		Prompt: "where is it, please", Question: "why?", Codebase: code, Dir: h.Path("runs/r"),
		SessionID: "s-1",
		Watch:     func(e agent.Event) { s.events = append(s.events, e) },
	}
	return s
}

func (s *story) say(kind, text string) string {
	w := run.Word{ID: run.WordID("k", text, ""), Kind: kind, By: "asker", Text: text}
	if _, err := run.Tell(s.home, "r", time.Now(), w); err != nil {
		s.Error(err)
	}
	return w.ID
}

func (s *story) run(a *scripted) (agent.Result, error) {
	s.Helper()
	w, err := Wrap(a, Options{Burst: 50 * time.Millisecond})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s.kill = cancel
	return supervise.Wrap(w, supervise.Options{}).Run(ctx, s.task)
}

func (s *story) hearing() (all []string) {
	lines, err := run.Hearing(s.task.Dir)
	if err != nil {
		s.Fatal(err)
	}
	for _, l := range lines {
		all = append(all, fmt.Sprintf("%s %d", l.How, l.Leg))
	}
	return all
}

// TestRejoins: after the end of our process in any leg, an agent elsewhere that is still at work is asked the
// same, so that it has one job with one price, and words that came meanwhile arrive; any other agent begins
// anew and hears what was done.
func TestRejoins(t *testing.T) {
	for _, rejoins := range []bool{true, false} {
		s := newStory(t)
		a := &scripted{can: agent.Capabilities{Rejoins: rejoins}}
		dies := func(tokens int64) func(context.Context, agent.Task) (agent.Result, error) {
			return func(ctx context.Context, t agent.Task) (agent.Result, error) {
				t.See(agent.Event{Kind: agent.Thought, Text: "it is in a.go", SessionID: "far",
					Usage: &draft.Usage{InputTokens: tokens}})
				s.kill()
				<-ctx.Done()
				return agent.Result{}, ctx.Err()
			}
		}
		cut := func(kind, text string) func(context.Context, agent.Task) (agent.Result, error) {
			return func(ctx context.Context, _ agent.Task) (agent.Result, error) {
				if !rejoins || kind != run.Redirect { // else it came before the process did
					s.say(kind, text)
				}
				<-ctx.Done()
				return agent.Result{Usage: draft.Usage{InputTokens: 100}}, ctx.Err()
			}
		}
		a.legs = []func(context.Context, agent.Task) (agent.Result, error){
			dies(1), cut(run.Append, "only auth"), dies(2), cut(run.Redirect, "only b.go"), dies(3),
			func(context.Context, agent.Task) (agent.Result, error) {
				return agent.Result{Text: "yes", Usage: draft.Usage{InputTokens: 10}}, nil
			},
		}
		for n := range 3 {
			if n == 2 && rejoins {
				s.say(run.Redirect, "only b.go")
			}
			if _, err := s.run(a); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		if res, err := s.run(a); err != nil || res.Text != "yes" {
			t.Fatalf("%+v, %v", res, err)
		}
		for _, legs := range [][2]int{{0, 1}, {2, 3}, {4, 5}} {
			if same := a.got[legs[1]].Prompt == a.got[legs[0]].Prompt; same != rejoins {
				t.Errorf("rejoins %v, leg %d again: %q", rejoins, legs[0]+1, a.got[legs[1]].Prompt)
			}
		}
		if last := a.got[5].Prompt; !strings.Contains(last, "only auth") || !strings.Contains(last, "only b.go") {
			t.Errorf("a word is missing: %q", last)
		}
		if got := s.hearing(); rejoins && !slices.Equal(got, []string{"prompt 2", "prompt 3", "prompt 3"}) {
			t.Errorf("heard %q", got)
		}
		state, err := run.LoadState(s.task.Dir)
		if err != nil || state.Usage.InputTokens != 210 && rejoins {
			t.Errorf("rejoins %v: used %+v, %v; want 100 for each leg that was cut, and 10", rejoins, state.Usage,
				err)
		}
	}
}

// TestNotKept: a checkpoint that cannot be written is not a failure of the agent.
func TestNotKept(t *testing.T) {
	s := newStory(t)
	_, err := s.run(&scripted{legs: []func(context.Context, agent.Task) (agent.Result, error){
		func(ctx context.Context, t agent.Task) (agent.Result, error) {
			return agent.Result{Text: "done"}, os.RemoveAll(t.Dir)
		},
	}})
	if !errors.Is(err, agent.ErrNotKept) {
		t.Errorf("got %v", err)
	}
}

func answer(context.Context, agent.Task) (agent.Result, error) {
	return agent.Result{Text: "done", Usage: draft.Usage{InputTokens: 5, Turns: 1}}, nil
}

// reads reports two readings and a tool, says something, and waits to be ended.
func reads(s *story, kind, text string) func(context.Context, agent.Task) (agent.Result, error) {
	return func(ctx context.Context, t agent.Task) (agent.Result, error) {
		t.See(agent.Event{Kind: agent.Started, SessionID: "s-1"})
		t.See(agent.Event{Kind: agent.Tool, Tool: "Read", Text: filepath.Join(t.Codebase, "a.go"),
			Lines: "1-1"})
		t.See(agent.Event{Kind: agent.Tool, Tool: "bash", Text: `bash -lc 'cat b.go ../secret /etc/passwd'`})
		t.See(agent.Event{Kind: agent.Thought, Text: "I think so",
			Usage: &draft.Usage{InputTokens: 7, Turns: 2}})
		s.say(kind, text)
		<-ctx.Done()
		t.See(agent.Event{Kind: agent.Failed, Text: "ended"})
		return agent.Result{Usage: draft.Usage{InputTokens: 8, Turns: 2}}, ctx.Err()
	}
}

// TestLegs: a word ends the leg, and the next one is told what was done before, with receipts.
func TestLegs(t *testing.T) {
	for _, resumes := range []bool{false, true} {
		s := newStory(t)
		a := &scripted{can: agent.Capabilities{Resumes: resumes}}
		a.legs = append(a.legs, reads(s, run.Append, "only v2"), answer)
		if err := os.WriteFile(filepath.Join(s.task.Codebase, "later.go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		res, err := s.run(a)
		if err != nil || res.Text != "done" || res.Usage.InputTokens != 13 || res.Usage.Turns != 3 {
			t.Fatalf("%+v, %v", res, err)
		}
		second := a.got[1]
		want := []string{"only v2", "=== begin word"}
		if resumes {
			if !second.Resume || second.SessionID != "s-1" ||
				strings.Contains(second.Prompt, "where is it, please") {
				t.Errorf("%+v", second)
			}
		} else {
			want = append(want, "where is it, please", "a.go:1-1 (unchanged since)", "b.go (unchanged since)",
				"I think so", "Read ")
			if second.Resume || second.SessionID == "s-1" || strings.Contains(second.Prompt, "passwd (") {
				t.Errorf("%+v", second)
			}
		}
		for _, w := range want {
			if !strings.Contains(second.Prompt, w) {
				t.Errorf("%q is missing in %q", w, second.Prompt)
			}
		}
		if second.Question != "why?\nonly v2" || !slices.Equal(second.Messages, []string{"why?", "only v2"}) {
			t.Errorf("%q %q", second.Question, second.Messages)
		}
		if got := s.hearing(); !slices.Equal(got, []string{"prompt 2"}) {
			t.Errorf("%q", got)
		}
		c, err := run.LoadCheckpoint(s.task.Dir)
		if err != nil || len(c.Read) != 2 || c.Read[0].SHA256 == "" || c.Leg != 2 || c.Said != "I think so" ||
			len(c.Heard) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		for _, e := range s.events {
			if e.Kind == agent.Failed {
				t.Errorf("the end of a leg is shown as %+v", e)
			}
		}
	}
}

// TestChangedMeanwhile: what was read and has changed is not called unchanged.
func TestChangedMeanwhile(t *testing.T) {
	s := newStory(t)
	a := &scripted{}
	first := reads(s, run.Redirect, "only v2")
	a.legs = append(a.legs, func(ctx context.Context, t agent.Task) (agent.Result, error) {
		res, err := first(ctx, t)
		return res, errors.Join(err, os.WriteFile(filepath.Join(t.Codebase, "a.go"),
			[]byte("other\n"), 0o600))
	}, answer)
	if _, err := s.run(a); err != nil || !strings.Contains(a.got[1].Prompt,
		"a.go:1-1 (changed since: read it again)") {
		t.Errorf("%v: %q", err, a.got[1].Prompt)
	}
}

// TestBurst: words that come together begin one leg.
func TestBurst(t *testing.T) {
	s := newStory(t)
	a := &scripted{}
	a.legs = append(a.legs, func(ctx context.Context, _ agent.Task) (agent.Result, error) {
		for n := range 5 {
			s.say(run.Append, fmt.Sprint("word ", n))
		}
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}, answer)
	if _, err := s.run(a); err != nil || len(a.got) != 2 || !strings.Contains(a.got[1].Prompt, "word 4") {
		t.Errorf("%d legs, %v", len(a.got), err)
	}
}

// TestMaxLegs: further words begin no leg, and count as late.
func TestMaxLegs(t *testing.T) {
	s := newStory(t)
	a := &scripted{}
	n := 0
	a.legs = append(a.legs, func(ctx context.Context, t agent.Task) (agent.Result, error) {
		n++
		s.say(run.Redirect, fmt.Sprint("no, ", n))
		select {
		case <-ctx.Done():
			return agent.Result{}, ctx.Err()
		case <-time.After(time.Second):
			return answer(ctx, t)
		}
	})
	_, err := s.run(a)
	got := s.hearing()
	if err != nil || len(a.got) != MaxLegs || got[len(got)-1] != "late 8" {
		t.Errorf("%d legs, %q, %v", len(a.got), got, err)
	}
}

// TestCrashes: a program that dies again and again is not started for ever, and its death is known.
func TestCrashes(t *testing.T) {
	s := newStory(t)
	a := &scripted{can: agent.Capabilities{Resumes: true}}
	dies := func(context.Context, agent.Task) (agent.Result, error) {
		return agent.Result{SessionID: "s-1"}, agent.Fail(agent.Killed, errors.New("status 137"))
	}
	a.legs = append(a.legs, dies)
	if _, err := s.run(a); agent.FailureKind(err) != agent.Killed || len(a.got) != 1+MaxCrashes {
		t.Errorf("%d legs, %v", len(a.got), err)
	}
	s = newStory(t)
	a = &scripted{can: agent.Capabilities{Resumes: true}}
	a.legs = append(a.legs, dies, func(_ context.Context, t agent.Task) (agent.Result, error) {
		return agent.Result{}, fmt.Errorf("none: %w", agent.ErrNoResume)
	}, answer)
	s.say(run.Append, "before it began")
	a.legs[0] = func(ctx context.Context, t agent.Task) (agent.Result, error) {
		t.See(agent.Event{Kind: agent.Started, SessionID: "s-1"})
		return dies(ctx, t)
	}
	if _, err := s.run(a); err != nil || len(a.got) != 3 || !a.got[1].Resume || a.got[2].Resume ||
		!strings.Contains(a.got[2].Prompt, "before it began") {
		t.Errorf("%d legs, %v", len(a.got), err)
	}
	if got := s.hearing(); !slices.Equal(got, []string{"prompt 1", "prompt 2", "prompt 2"}) {
		t.Errorf("%q", got)
	}
}

// TestNative: a program that takes words gets them as they come; only what it says that it took
// counts, and a word that it did not take begins another leg.
func TestNative(t *testing.T) {
	s := newStory(t)
	a := &scripted{can: agent.Capabilities{Steers: agent.Next, Resumes: true}}
	take := func(how string) func(context.Context, agent.Task) (agent.Result, error) {
		return func(ctx context.Context, t agent.Task) (agent.Result, error) {
			t.See(agent.Event{Kind: agent.Started, SessionID: "s-1"})
			s.say(run.Append, "more "+how)
			w := <-t.Words
			if !strings.Contains(w.Text, "=== begin word") {
				return agent.Result{}, fmt.Errorf("%q", w.Text)
			}
			t.Hear(w.ID, run.Sent)
			t.Hear(w.ID, how)
			return answer(ctx, t)
		}
	}
	a.legs = append(a.legs, take(run.Taken))
	if _, err := s.run(a); err != nil || len(a.got) != 1 ||
		!slices.Equal(s.hearing(), []string{"sent 1", "taken 1"}) {
		t.Errorf("%d legs, %q, %v", len(a.got), s.hearing(), err)
	}
	s = newStory(t)
	a = &scripted{can: agent.Capabilities{Steers: agent.Next, Resumes: true}}
	a.legs = append(a.legs, take(run.Late), answer)
	if _, err := s.run(a); err != nil || len(a.got) != 2 ||
		!slices.Equal(s.hearing(), []string{"sent 1", "late 1", "prompt 2"}) {
		t.Errorf("%d legs, %q, %v", len(a.got), s.hearing(), err)
	}
	s = newStory(t)
	a = &scripted{can: agent.Capabilities{Steers: agent.Next}}
	a.legs = append(a.legs, func(_ context.Context, t agent.Task) (agent.Result, error) {
		return agent.Result{}, agent.ErrNoSteer
	}, reads(s, run.Append, "more"), answer)
	if _, err := s.run(a); err != nil || len(a.got) != 3 || a.got[1].Words != nil {
		t.Errorf("%d legs, %v", len(a.got), err)
	}
}

// TestStop: the run ends, and nothing begins again.
func TestStop(t *testing.T) {
	s := newStory(t)
	a := &scripted{}
	a.legs = append(a.legs, reads(s, run.Stop, ""))
	start := time.Now()
	if _, err := s.run(a); !errors.Is(err, ErrStopped) || len(a.got) != 1 ||
		time.Since(start) > 10*time.Second {
		t.Errorf("%d legs, %v", len(a.got), err)
	}
}

// TestLimits: limits and state cover all legs.
func TestLimits(t *testing.T) {
	s := newStory(t)
	a := &scripted{}
	a.legs = append(a.legs, reads(s, run.Append, "more"),
		func(ctx context.Context, t agent.Task) (agent.Result, error) {
			if t.MaxTurns != 1 {
				return agent.Result{}, fmt.Errorf("%d turns are left", t.MaxTurns)
			}
			t.See(agent.Event{Kind: agent.Milestone, Usage: &draft.Usage{Turns: 2}})
			<-ctx.Done()
			return agent.Result{}, ctx.Err()
		})
	w, err := Wrap(a, Options{Burst: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = supervise.Wrap(w,
		supervise.Options{Limits: supervise.Limits{Turns: 3}}).Run(context.Background(), s.task)
	state, bad := run.LoadState(s.task.Dir)
	if err = errors.Join(err, bad); agent.FailureKind(err) != agent.Timeout || state.Usage == nil ||
		state.Usage.InputTokens < 8 || state.Failure.Limit != supervise.Turns {
		t.Errorf("%v, %+v", err, state.Usage)
	}
}

// TestCrashOfAResumed: a session that is older than the run may not hold the run's prompt when its program
// is killed; the next leg has it again.
func TestCrashOfAResumed(t *testing.T) {
	s := newStory(t)
	s.task.Resume = true
	a := &scripted{can: agent.Capabilities{Steers: agent.Next, Resumes: true}}
	a.legs = append(a.legs, func(context.Context, agent.Task) (agent.Result, error) {
		return agent.Result{SessionID: "s-1"}, agent.Fail(agent.Killed, errors.New("signal 9"))
	}, func(context.Context, agent.Task) (agent.Result, error) {
		return agent.Result{SessionID: "s-1", Text: "x"}, nil
	})
	if _, err := s.run(a); err != nil || len(a.got) != 2 || !a.got[1].Resume ||
		!strings.Contains(a.got[1].Prompt, s.task.Prompt) {
		t.Errorf("%v, legs %+v", err, a.got)
	}
}
