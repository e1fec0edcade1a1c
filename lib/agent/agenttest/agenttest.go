// Package agenttest is the conformance suite of the agent adapters, against scripted programs.
// Each adapter's tests run it with small scripts in place of the real program.
package agenttest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/sandbox/sandboxtest"
	"tri/lib/base/sysexit"
)

// Variable must be among the variables that the tested agent passes on; it identifies the
// processes of a run.
const Variable = "AGENTTEST_MARK"

// Suite tests one adapter.
type Suite struct {
	// Make returns an agent that runs argv, passes Variable on, and gives a program a tenth of a
	// second to end when it is stopped. sandbox is the configuration's setting: the suite runs
	// with "off", and with "required", where the program's HOME must be `home` in the task's
	// folder. See Maker.
	Make func(t *testing.T, argv []string, sandbox string) agent.Agent
	// Say returns the output of a program whose last message is text. If it names a session, the
	// name is always the same.
	Say func(text string) string

	// Act returns output that precedes Say's: a thought, then a tool call on a file, each to be
	// reported as named here. Nil: the program does not report them.
	Act func(thought, tool, file string) string
	// Begin is a script that the program starts with, for a program that reports its session
	// elsewhere than in its output; "" if none.
	Begin string
	// Refuse returns a script in which the model's endpoint answers with an HTTP status. Nil: the
	// program does not report it.
	Refuse func(status int) string
	// Tokens and Cost say that Say reports them.
	Tokens, Cost bool
	// Plain says that the output is not a stream of records: it has no end marker, and no line of
	// it can be ignored.
	Plain bool
	// Open says that the program takes no permissions: only the sandbox confines it.
	Open bool
	// Far says that the program runs on another machine, which a word may reach after its death.
	Far bool

	sandbox string // the current setting
}

// walled is the Suite.sandbox that requires a sandbox.
const walled = "required"

// The value that the suite asks for, and one that fails its check.
const (
	good = `{"answer":42}`
	bad  = `{"answer":"many"}`
)

var schema = []byte(`{"type":"object","required":["answer"],"properties":{"answer":{"type":"integer"}}}`)

func check(value []byte) error {
	var v struct {
		Answer *int `json:"answer"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if v.Answer == nil {
		return errors.New("answer: is missing")
	}
	return nil
}

// bench is the environment of one run.
type bench struct {
	*testing.T
	suite    Suite
	dir      string // holds the scripts and their output
	codebase string
	task     agent.Task
	seen     []agent.Event
}

func newBench(t *testing.T, s Suite) *bench {
	t.Helper()
	b := &bench{T: t, suite: s, codebase: t.TempDir()}
	run := t.TempDir()
	b.dir = filepath.Join(run, "home", "bench") // writable in the sandbox
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, rand.Text())
	t.Setenv("AGENTTEST_TOKEN", "must not be seen")
	t.Setenv("CLAUDECODE", "1")
	for name, text := range map[string]string{
		"good": good, "bad": bad, "half": good[:9], "two": good + "\n" + bad,
		"prose": "Here {it} is:\n```json\n" + good + "\n```\nDone.",
		"words": "I would rather not.",
	} {
		b.write(name, s.Say(text))
	}
	b.task = agent.Task{
		Prompt: "what is the answer?\n$(touch pwned) `id` 'x\n", Question: "what is the answer?",
		Codebase: b.codebase,
		Schema:   schema, Check: check, Tools: []string{"Read"}, Dir: run,
		SessionID: "0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10",
		Watch:     func(e agent.Event) { b.seen = append(b.seen, e) },
	}
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	b.writeAt(filepath.Join(b.dir, name), text)
}

func (b *bench) writeAt(path, text string) {
	b.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// run runs a bash script as the program, with $D set to its folder.
func (b *bench) run(ctx context.Context, script string) (agent.Result, error) {
	b.Helper()
	path := filepath.Join(b.dir, "program")
	if err := os.WriteFile(path, []byte("D='"+b.dir+"'\n"+b.suite.Begin+"\n"+script+"\n"),
		0o600); err != nil {
		b.Fatal(err)
	}
	a := b.suite.Make(b.T, []string{"bash", path}, b.suite.sandbox)
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	res, err := a.Run(ctx, b.task)
	if ctx.Err() == context.DeadlineExceeded && err == nil {
		b.Error("the agent came back, but only when its time was up")
	}
	b.noneLeft()
	return res, err
}

// Run runs the suite without and with a sandbox. With -short, the second pass covers only what a
// sandbox can affect.
func Run(t *testing.T, s Suite) {
	t.Run("bare", func(t *testing.T) {
		s.sandbox = "off"
		run(t, s)
	})
	t.Run("walled", func(t *testing.T) {
		sandboxtest.Path(t)
		s.sandbox = walled
		run(t, s)
	})
}

func run(t *testing.T, s Suite) {
	t.Run("values", func(t *testing.T) { values(t, s) })
	t.Run("what the program sees", func(t *testing.T) { sees(t, s) })
	t.Run("holds the lock", func(t *testing.T) { holds(t, s) })
	t.Run("may write", func(t *testing.T) { writes(t, s) })
	t.Run("tool servers", func(t *testing.T) { served(t, s) })
	if testing.Short() && s.sandbox == walled {
		return
	}
	t.Run("failures", func(t *testing.T) { failures(t, s) })
	t.Run("time is up", func(t *testing.T) { timeIsUp(t, s) })
	t.Run("many at once", func(t *testing.T) { many(t, s) })
	t.Run("events", func(t *testing.T) { events(t, s) })
	t.Run("usage", func(t *testing.T) { usage(t, s) })
	t.Run("resumes", func(t *testing.T) { resumes(t, s) })
	t.Run("words alone", func(t *testing.T) { words(t, s) })
	t.Run("steered", func(t *testing.T) { steered(t, s) })
	t.Run("endpoint refuses", func(t *testing.T) { refuses(t, s) })
	t.Run("hostile output", func(t *testing.T) { hostile(t, s) })
	t.Run("is not there", func(t *testing.T) {
		_, err := s.Make(t, []string{"/nonexistent/agent"}, s.sandbox).Run(context.Background(),
			newBench(t, s).task)
		if status, _ := sysexit.Of(err); status != sysexit.Unavailable {
			t.Errorf("%v", err)
		}
	})
}

// values tests the ways in which a program returns a value.
func values(t *testing.T, s Suite) {
	for _, tt := range []struct {
		name, script string
		calls        int // 0: not checked
	}{
		{"good", `cat $D/good`, 1},
		{"prose around it", `cat $D/prose`, 1},
		{"mended when told", `test -e $D/told && cat $D/good || cat $D/bad; touch $D/told`, 2},
		{"leaves a child", `sleep 900 & cat $D/good`, 1},
		{"leaves a daemon", `setsid sleep 900 </dev/null >/dev/null 2>&1 & cat $D/good`, 1},
		{"leaves a daemon on its pipes", `setsid sleep 900 & cat $D/good`, 1},
		{"writes on after its end", `(sleep 0.02; yes; yes) & cat $D/good`, 0},
		{"complains at length", `yes oops | head -c 9000000 >&2; cat $D/good`, 1},
		{"never reads its prompt", `exec <&-; cat $D/good`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, s)
			res, err := b.run(context.Background(), `echo x >>$D/calls; `+tt.script)
			if err != nil {
				t.Fatal(err)
			}
			if string(res.Value) != good {
				t.Errorf("value %q", res.Value)
			}
			if calls := strings.Count(b.read("calls"), "x"); tt.calls > 0 && calls != tt.calls {
				t.Errorf("%d calls, want %d", calls, tt.calls)
			}
		})
	}
}

// failures tests runs that return no value.
func failures(t *testing.T, s Suite) {
	for _, tt := range []struct{ name, script, want, kind string }{
		{"says nothing", `:`, "", agent.Abort},
		{"says words", `cat $D/words`, "rather not", agent.Abort},
		{"half an object", `cat $D/half`, "half", agent.Abort},
		{"two objects", `cat $D/two`, "more than one", agent.Abort},
		{"wrong twice", `cat $D/bad`, "answer", agent.Abort},
		{"fails", `echo disk on fire >&2; exit 3`, "disk on fire", agent.ToolError},
		{"fails after a value", `cat $D/good; exit 3`, "3", agent.ToolError},
		{"floods with lines", `yes $(printf 'x%.0s' {1..500}) | head -c 50000000`, "", ""},
		{"floods without a line", `head -c 50000000 /dev/zero | tr '\0' x`, "", ""},
		{"dies", `kill -9 $$`, "137", agent.Killed},
		{"is told to end", `kill -TERM $$`, "143", agent.Killed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, s)
			res, err := b.run(context.Background(), tt.script)
			if err == nil {
				t.Fatalf("value %q", res.Value)
			}
			if status, ok := sysexit.Of(err); !ok || status != sysexit.Unavailable ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("status %d, error %v; want 69 and %q", status, err, tt.want)
			}
			if kind := agent.FailureKind(err); tt.kind != "" && kind != tt.kind {
				t.Errorf("kind %q of %v, want %q", kind, err, tt.kind)
			}
			b.endsWith(agent.Failed)
		})
	}
}

func timeIsUp(t *testing.T, s Suite) {
	for name, script := range map[string]string{
		"hangs":              `sleep 900`,
		"hangs after words":  `cat $D/words | head -c 5; sleep 900`,
		"will not hear":      `trap '' TERM INT HUP; sleep 900; sleep 900`,
		"children as well":   `(trap '' TERM; sleep 900; sleep 901) & trap '' TERM; sleep 900; sleep 900`,
		"children elsewhere": `setsid bash -c "trap '' TERM; sleep 900" & sleep 900`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, s)
			ctx, cancel := context.WithCancel(context.Background())
			go func() { // once it has started
				for ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(b.dir, "begun")); err == nil {
						cancel()
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			start := time.Now()
			_, err := b.run(ctx, `touch $D/begun; `+script)
			if !errors.Is(err, context.Canceled) || time.Since(start) > time.Minute {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	}
	b := newBench(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := b.run(ctx, `sleep 900`); agent.FailureKind(err) != agent.Timeout {
		t.Errorf("kind %q of %v", agent.FailureKind(err), err)
	}
	b = newBench(t, s)
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if _, err := b.run(ctx, `touch $D/ran; cat $D/good`); !errors.Is(err, context.Canceled) {
		t.Errorf("a run whose time was up before it began: %v", err)
	}
}

func sees(t *testing.T, s Suite) {
	b := newBench(t, s)
	if _, err := b.run(context.Background(),
		`cat >$D/stdin; pwd >$D/pwd; env >$D/env; printf '%s\n' "$@" >$D/args; cat $D/good`); err != nil {
		t.Fatal(err)
	}
	if got := b.read("stdin"); got != b.task.Prompt {
		t.Errorf("standard input %q, want the prompt", got)
	}
	if args := b.read("args"); strings.Contains(args, "pwned") ||
		strings.Contains(args, "what is the answer") {
		t.Errorf("chat text among the arguments: %q", args)
	}
	if got := strings.TrimSpace(b.read("pwd")); got != b.codebase {
		t.Errorf("works in %q, want %q", got, b.codebase)
	}
	env := b.read("env")
	for _, never := range []string{"AGENTTEST_TOKEN", "CLAUDECODE=", "HOME=" + os.Getenv("HOME") + "\n"} {
		if strings.Contains(env, never) {
			t.Errorf("the program sees %s in its environment", never)
		}
	}
	transcript, err := os.ReadFile(filepath.Join(b.task.Dir, "transcript.ndjson"))
	if err != nil || !strings.HasSuffix(string(transcript), b.read("good")) {
		t.Errorf("transcript %q, %v", transcript, err)
	}
}

func holds(t *testing.T, s Suite) {
	b := newBench(t, s)
	name := filepath.Join(t.TempDir(), "lock")
	held := lock(t, name)
	if held == nil {
		t.Fatal("a new file is locked")
	}
	b.task.Hold = held
	b.task.Watch = func(e agent.Event) {
		if b.seen = append(b.seen, e); e.Kind != agent.Started || held == nil {
			return
		}
		held.Close() // from here on only the run holds it
		held = nil
		if again := lock(t, name); again != nil {
			again.Close()
			t.Error("the lock is free while the program runs")
		}
		if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.run(context.Background(),
		`until test -e $D/go; do sleep 0.01; done; cat $D/good`); err != nil {
		t.Fatal(err)
	}
	if again := lock(t, name); again == nil {
		t.Error("the lock is held after the program")
	} else {
		again.Close()
	}
}

// lock takes a lock, and returns nil if it is held.
func lock(t *testing.T, name string) *os.File {
	f, err := os.Create(name)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		_ = f.Close() // nothing was written
		return nil
	case err != nil:
		t.Error(err)
	}
	return f
}

func many(t *testing.T, s Suite) {
	b := newBench(t, s)
	path := filepath.Join(b.dir, "program")
	b.write("program", "echo '"+strings.TrimSpace(s.Say(good))+"'\n")
	a := s.Make(t, []string{"bash", path}, s.sandbox)
	var wg sync.WaitGroup
	for range 8 {
		task := b.task
		task.Dir, task.Watch = t.TempDir(), nil
		wg.Go(func() {
			if res, err := a.Run(context.Background(), task); err != nil || string(res.Value) != good {
				t.Errorf("%q, %v", res.Value, err)
			}
		})
	}
	wg.Wait()
	b.noneLeft()
}
