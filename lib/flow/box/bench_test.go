package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// player is an agent that does what a test says.
type player struct {
	able agent.Capabilities
	play func(ctx context.Context, t agent.Task) (agent.Result, error)
}

func (p *player) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	t.See(agent.Event{Kind: agent.Started, SessionID: t.SessionID})
	res, err := p.play(ctx, t)
	res.SessionID = t.SessionID
	return res, err
}

func (p *player) Capabilities() agent.Capabilities { return p.able }

var able = agent.Capabilities{Resumes: true, Commands: true, Writes: true, Cost: true, Narrows: true}

func says(text string) func(context.Context, agent.Task) (agent.Result, error) {
	return func(context.Context, agent.Task) (agent.Result, error) {
		return agent.Result{Text: text, Usage: draft.Usage{InputTokens: 10, OutputTokens: 5,
			CostUSD: new(0.25)}}, nil
	}
}

// change is an agent that changes a file and adds one.
func change(ctx context.Context, task agent.Task) (agent.Result, error) {
	err := errors.Join(os.WriteFile(filepath.Join(task.Codebase, "retry.go"),
		[]byte("package pay\n\nconst MaxRetries = 6\n"), 0o644),
		os.WriteFile(filepath.Join(task.Codebase, "new.go"), []byte("package pay\n"), 0o644))
	if err != nil {
		return agent.Result{}, err
	}
	return says("It is 6 now.")(ctx, task)
}

// bench is a checkout, with a box opened by one process as often as wanted.
type bench struct {
	*testing.T
	dir      string
	cfg      *config.Config
	agent    *player
	out, err bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, dir: filepath.Join(t.TempDir(), "repo"), cfg: config.Default(),
		agent: &player{able: able, play: says("It is 5, at retry.go:3.")}}
	b.cfg.Box.Agent.Agent = "exec" // a name; who is meant is b.agent
	b.cfg.Sandbox = "off"
	for name, text := range map[string]string{"retry.go": "package pay\n\nconst MaxRetries = 5\n",
		"sub/other.go": "package sub\n"} {
		b.write(name, text)
	}
	b.git("init", "-q", "-b", "main")
	b.git("add", "-A")
	b.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "begin")
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	file := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, []byte(text), 0o644)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) git(args ...string) string {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (b *bench) open() *Box {
	b.Helper()
	prompts, err := prompt.Load("")
	if err != nil {
		b.Fatal(err)
	}
	x, err := Open(context.Background(), filepath.Join(b.dir, "sub"), Box{
		Config: b.cfg, Prompts: prompts, Now: time.Now, In: strings.NewReader(""), Out: &b.out, Err: &b.err,
		New: func(config.Agent, string) (agent.Agent, error) { return b.agent, nil },
		Say: func(format string, args ...any) { fmt.Fprintf(&b.err, format+"\n", args...) },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.Close() })
	return x
}

func (b *bench) start(kind, task string) *Run {
	b.Helper()
	r, err := b.open().Start(context.Background(), Request{Type: kind, Task: task})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bench) read(name string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// tree is every name in the checkout, without git's and the box's own.
func (b *bench) tree() string {
	b.Helper()
	var names []string
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == ".git" || d.Name() == Folder) {
			return fs.SkipDir
		}
		names = append(names, strings.TrimPrefix(path, b.dir))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(names, "\n")
}

func status(err error) int {
	code, _ := sysexit.Of(err)
	return code
}

func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func statuses(t *testing.T, b *bench) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(b.read(".agents/INDEX.jsonl")) {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Status)
	}
	return all
}
