package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// script is an agent that does what the test says.
type script func(ctx context.Context, t agent.Task) (agent.Result, error)

func (s script) Run(ctx context.Context, t agent.Task) (agent.Result, error) { return s(ctx, t) }

// stage is a clock, ticks and processor time in the test's hands.
type stage struct {
	mu   sync.Mutex
	at   time.Time
	used time.Duration
	tick chan time.Time
}

func newStage() *stage {
	return &stage{at: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), tick: make(chan time.Time)}
}

func (s *stage) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *stage) cpu(int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// pass lets time and work go by, and has the run looked at; two ticks, so that
// the first has been seen to its end.
func (s *stage) pass(d, worked time.Duration) {
	s.mu.Lock()
	s.at, s.used = s.at.Add(d), s.used+worked
	s.mu.Unlock()
	s.tick <- s.at
	s.tick <- s.at
}

func (s *stage) wrap(a script, l Limits) *Agent {
	return Wrap(a, Options{Limits: l, ConfigHash: "h", Now: s.now, Tick: s.tick, CPU: s.cpu})
}

func stateOf(t *testing.T, dir string) run.State {
	t.Helper()
	s, err := run.LoadState(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuccess(t *testing.T) {
	s, dir := newStage(), t.TempDir()
	var told []string
	a := s.wrap(func(_ context.Context, task agent.Task) (agent.Result, error) {
		task.See(agent.Event{Kind: agent.Started, SessionID: "s-1", PID: os.Getpid()})
		if st := stateOf(t, dir); st.Status != run.Active || st.PID == nil || *st.PID != os.Getpid() ||
			*st.SessionID != "s-1" || !st.Agent.Alive() {
			t.Errorf("under way: %+v", st)
		}
		task.See(agent.Event{Kind: agent.Tool, Tool: "Read", Text: "a\x1b[2J\nb",
			Usage: &draft.Usage{InputTokens: 5, Turns: 1}})
		if st := stateOf(t, dir); st.Usage == nil || st.Usage.InputTokens != 5 {
			t.Errorf("a crash now would lose what was spent: %+v", st.Usage)
		}
		return agent.Result{Value: []byte("{}"), SessionID: "s-1",
			Usage: draft.Usage{InputTokens: 7, Turns: 2}}, nil
	}, Limits{})
	res, err := a.Run(context.Background(), agent.Task{Dir: dir, Watch: func(e agent.Event) {
		told = append(told, e.Kind)
	}})
	if err != nil || string(res.Value) != "{}" {
		t.Fatal(res, err)
	}
	st := stateOf(t, dir)
	if st.Status != run.Complete || st.PID != nil || st.EndedAt == nil || st.Failure != nil ||
		st.ConfigHash != "h" || st.Usage.InputTokens != 7 {
		t.Errorf("%+v", st)
	}
	if st.Doing != "Read a<U+001B>[2J b" {
		t.Errorf("doing %q", st.Doing)
	}
	if strings.Join(told, " ") != "started tool" {
		t.Errorf("the caller was told %q", told)
	}
	if kinds := stream(t, dir); strings.Join(kinds, " ") != "started tool" {
		t.Errorf("kept %q", kinds)
	}
}

func stream(t *testing.T, dir string) (kinds []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, run.StreamName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var e event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil || e.At == "" {
			t.Fatalf("%s: %v", sc.Text(), err)
		}
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestFailures(t *testing.T) {
	boom := errors.New("boom")
	until := func(ctx context.Context, _ agent.Task) (agent.Result, error) {
		<-ctx.Done()
		return agent.Result{}, ctx.Err()
	}
	spend := func(u draft.Usage) script {
		return func(ctx context.Context, task agent.Task) (agent.Result, error) {
			task.See(agent.Event{Kind: agent.Milestone, Usage: &u})
			<-ctx.Done()
			return agent.Result{}, ctx.Err()
		}
	}
	for _, tt := range []struct {
		name   string
		agent  script
		limits Limits
		pass   time.Duration
		end    func(cancel context.CancelCauseFunc)
		status string
		kind   string
		says   string
		tokens int64
	}{
		{name: "its own error", agent: func(context.Context, agent.Task) (agent.Result, error) {
			return agent.Result{Usage: draft.Usage{InputTokens: 9}}, agent.Fail(agent.OOM, boom)
		}, status: run.Crashed, kind: agent.OOM, says: "boom", tokens: 9},
		{name: "an error of no kind", agent: func(context.Context, agent.Task) (agent.Result, error) {
			return agent.Result{}, boom
		}, status: run.Crashed, kind: agent.Unknown, says: "boom"},
		{name: "silence", agent: until, pass: 5 * time.Minute, status: run.Stalled, kind: agent.Timeout,
			says: "stalled"},
		{name: "wall clock", agent: until, limits: Limits{Wall: time.Minute}, pass: time.Minute,
			status: run.Crashed, kind: agent.Timeout, says: "wall clock"},
		{name: "turns", agent: spend(draft.Usage{Turns: 4, InputTokens: 1}), limits: Limits{Turns: 3},
			status: run.Crashed, kind: agent.Timeout, says: "turns, 3", tokens: 1},
		{name: "tokens", agent: spend(draft.Usage{InputTokens: 90, OutputTokens: 20}),
			limits: Limits{Tokens: 100}, status: run.Crashed, kind: agent.Timeout,
			says: "tokens, 100", tokens: 90},
		{name: "cost", agent: spend(draft.Usage{CostUSD: new(0.6)}), limits: Limits{CostUSD: 0.5},
			status: run.Crashed, kind: agent.Timeout, says: "cost, 0.5 USD"},
		{name: "a person", agent: until, end: func(c context.CancelCauseFunc) {
			c(ErrAbandon)
		}, status: run.Abandoned, kind: agent.Killed, says: "given up"},
		{name: "a stop", agent: until, end: func(c context.CancelCauseFunc) {
			c(nil)
		}, status: run.Crashed, kind: agent.Killed, says: "canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := newStage(), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "plan.md"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			begun := make(chan struct{})
			go func() {
				<-begun // otherwise the clock would advance before the run reads it
				if tt.pass > 0 {
					s.mu.Lock()
					s.at = s.at.Add(tt.pass)
					s.mu.Unlock()
					s.tick <- s.at
				}
				if tt.end != nil {
					tt.end(cancel)
				}
			}()
			program := func(ctx context.Context, task agent.Task) (agent.Result, error) {
				close(begun)
				return tt.agent(ctx, task)
			}
			_, err := s.wrap(program, tt.limits).Run(ctx, agent.Task{Dir: dir})
			st := stateOf(t, dir)
			if err == nil || agent.FailureKind(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v (%s)", err, agent.FailureKind(err))
			}
			if st.Status != tt.status || st.Failure == nil || st.Failure.Kind != tt.kind ||
				st.EndedAt == nil || st.Failure.LastSafeArtifact != "plan.md" {
				t.Errorf("%+v %+v", st, st.Failure)
			}
			if tt.tokens > 0 && st.Usage.InputTokens != tt.tokens {
				t.Errorf("usage %+v", st.Usage)
			}
			if kinds := stream(t, dir); kinds[len(kinds)-1] != agent.Failed {
				t.Errorf("kept %q", kinds)
			}
		})
	}
}

// TestSilence: work keeps a silent run alive, a trickle does not.
func TestSilence(t *testing.T) {
	for _, tt := range []struct {
		name   string
		worked time.Duration // in each minute
		lives  bool
	}{{"a build", 30 * time.Second, true}, {"a clock", 20 * time.Millisecond, false}} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := newStage(), t.TempDir()
			a := s.wrap(func(ctx context.Context, _ agent.Task) (agent.Result, error) {
				for range 20 {
					s.pass(time.Minute, tt.worked)
					if ctx.Err() != nil {
						return agent.Result{}, ctx.Err()
					}
				}
				return agent.Result{}, nil
			}, Limits{})
			_, err := a.Run(context.Background(), agent.Task{Dir: dir})
			if (err == nil) != tt.lives {
				t.Errorf("%v; %+v", err, stateOf(t, dir))
			}
		})
	}
}

// TestAgain: a limit is of a run, so what earlier attempts have used counts.
func TestAgain(t *testing.T) {
	s, dir := newStage(), t.TempDir()
	use := func(ctx context.Context, task agent.Task) (agent.Result, error) {
		task.Watch(agent.Event{Kind: agent.Milestone, Usage: &draft.Usage{InputTokens: 10}})
		if err := context.Cause(ctx); err != nil {
			return agent.Result{Usage: draft.Usage{InputTokens: 10}}, err
		}
		return agent.Result{Usage: draft.Usage{InputTokens: 10, CostUSD: new(0.25)}}, errors.New("x")
	}
	for _, want := range []string{"x", "x", "tokens, 25"} {
		_, err := s.wrap(use, Limits{Tokens: 25}).Run(context.Background(), agent.Task{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if st := stateOf(t, dir); st.Usage.InputTokens != 30 || *st.Usage.CostUSD != 0.5 {
		t.Errorf("%+v", st.Usage)
	}
}

// TestAtLeast tests that the cost of several tries is not called a sum if one of them did not
// report its cost.
func TestAtLeast(t *testing.T) {
	told := draft.Usage{InputTokens: 10, CostUSD: new(0.25)}
	for name, first := range map[string]draft.Usage{"killed in the middle": {InputTokens: 7},
		"killed before it told anything": {}} {
		s, dir := newStage(), t.TempDir()
		for _, usage := range []draft.Usage{first, told, told} {
			_, _ = s.wrap(func(_ context.Context, task agent.Task) (agent.Result, error) {
				task.See(agent.Event{Kind: agent.Started, SessionID: "s"})
				return agent.Result{Usage: usage, SessionID: "s", Model: "m"}, errors.New("x")
			}, Limits{}).Run(context.Background(), agent.Task{Dir: dir}) // the error is the agent's own
		}
		if st := stateOf(t, dir); st.Usage == nil || *st.Usage.CostUSD != 0.5 || !st.Usage.CostAtLeast ||
			st.Model != "m" {
			t.Errorf("%s: %+v", name, st.Usage)
		}
	}
}

func TestMend(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(`{"a":1}`+"\n"+`{"b`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(endLine(f), endLine(f)); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(name); !strings.HasSuffix(string(b), "{\"b\n") {
		t.Errorf("%q", b)
	}
}

// TestEndlessTool: a tool of an endless name does not hide what follows from the readers of the stream.
func TestEndlessTool(t *testing.T) {
	dir := t.TempDir()
	a := Wrap(script(func(_ context.Context, task agent.Task) (agent.Result, error) {
		task.See(agent.Event{Kind: agent.Tool, Tool: "Read" + strings.Repeat("<", 4<<20)})
		task.See(agent.Event{Kind: agent.Thought, Text: "what follows"})
		return agent.Result{}, nil
	}), Options{Dir: dir})
	if _, err := a.Run(context.Background(), agent.Task{}); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	if _, err := run.Tail(dir, 0, func(lines []byte) error {
		seen.Write(lines)
		return nil
	}); err != nil || !strings.Contains(seen.String(), "what follows") {
		t.Errorf("%d bytes are read, %v", seen.Len(), err)
	}
}

// TestOpen tests that the caller sets the final state of a run.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := run.Update(dir, func(s *run.State) { s.WorktreePath = new("/w") }); err != nil {
		t.Fatal(err)
	}
	a := Wrap(script(func(context.Context, agent.Task) (agent.Result, error) {
		return agent.Result{}, nil
	}), Options{Dir: dir, Open: true})
	if _, err := a.Run(context.Background(), agent.Task{}); err != nil {
		t.Fatal(err)
	}
	if st := stateOf(t, dir); st.Status != run.Active || st.EndedAt != nil || *st.WorktreePath != "/w" {
		t.Errorf("%+v", st)
	}
	if err := run.Update(dir, func(s *run.State) { s.Status = run.Review }); err != nil {
		t.Fatal(err)
	}
	if st := stateOf(t, dir); st.Status != run.Review {
		t.Errorf("%+v", st)
	}
}

func TestSweep(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	gone := run.Process{PID: os.Getpid(), Start: 1}
	if runtime.GOOS != "linux" {
		gone = run.Process{PID: 1 << 30}
	}
	for _, tt := range []struct {
		name    string
		wrapper run.Process
		held    bool
		status  string
		want    string
	}{
		{"gone", gone, false, run.Active, run.Crashed},
		{"gone while stalled", gone, false, run.Stalled, run.Crashed},
		{"alive", run.ProcessOf(os.Getpid()), false, run.Active, run.Active},
		{"the agent outlived it", gone, true, run.Active, run.Active},
		{"waits for a person", gone, false, run.Review, run.Review},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			err := run.Update(dir, func(s *run.State) {
				*s = run.State{Status: tt.status, Owner: tt.wrapper, Doing: "Read x",
					Usage: &draft.Usage{InputTokens: 3}}
			})
			if err != nil {
				t.Fatal(err)
			}
			if tt.held {
				h, err := durable.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close()
				lock, err := h.TryLock("lock")
				if err != nil {
					t.Fatal(err)
				}
				defer lock.Unlock()
			}
			st, err := run.Sweep(dir, now)
			if err != nil || st.Status != tt.want {
				t.Fatalf("%+v %v", st, err)
			}
			if kept := stateOf(t, dir); kept.Status != tt.want || kept.Usage.InputTokens != 3 {
				t.Errorf("kept %+v", kept)
			}
			if tt.want == run.Crashed && (st.Failure.Kind != agent.Killed ||
				!strings.Contains(st.Failure.Message, "Read x") || st.EndedAt == nil) {
				t.Errorf("%+v", st.Failure)
			}
		})
	}
}

// TestCPU: the work of a child counts.
func TestCPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	before := CPUTime(os.Getpid())
	if err := exec.Command("sh", "-c",
		"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Skip(err)
	}
	if used := CPUTime(os.Getpid()) - before; used < 20*time.Millisecond {
		t.Errorf("a busy child used %v", used)
	}
}

// BenchmarkRun is what supervision adds to a run.
func BenchmarkRun(b *testing.B) {
	a := Wrap(script(func(_ context.Context, t agent.Task) (agent.Result, error) {
		t.See(agent.Event{Kind: agent.Started, SessionID: "s"})
		for range 20 {
			t.See(agent.Event{Kind: agent.Thought, Text: "hm"})
		}
		return agent.Result{}, nil
	}), Options{})
	for b.Loop() {
		if _, err := a.Run(context.Background(), agent.Task{Dir: b.TempDir()}); err != nil {
			b.Fatal(err)
		}
	}
}
