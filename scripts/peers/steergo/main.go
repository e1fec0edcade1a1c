// Steergo tells real agent programs things while they work, under our adapters, at the hands of a
// model on loopback that works in steps (see ../steer).
//
//	steergo STUB [NAME...]
//
// STUB is the model's program. In the environment, STORY is one story alone, TIMES how often each
// is done, SANDBOX the setting `sandbox` (default: off).
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/all"
	"tri/lib/agent/steer"
	"tri/lib/agent/supervise"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// steps is how many tools the model calls, pause how long each of its calls takes, at after how many
// results something is said.
const (
	steps = 6
	pause = 0.7
	at    = 2
	limit = 6 * time.Minute // of a story, on a busy machine
)

// program is one agent program.
type program struct {
	name string
	cfg  config.Agent
	env  []string // KEY=value; %s is the model's address
	tool string   // a call of the tool that reads f%d.txt
}

func programs() []program {
	npm := filepath.Join(os.Getenv("PEERS"), "npm")
	bin := func(dir, name string, args ...string) []string {
		return append([]string{filepath.Join(npm, dir, "node_modules/.bin", name)}, args...)
	}
	openai := []string{"OPENAI_API_KEY=k-dummy", "OPENAI_BASE_URL=%s/v1", "OPENAI_MODEL=stub-model"}
	gemini := []string{"GEMINI_API_KEY=k-dummy", "GOOGLE_GEMINI_BASE_URL=%s", "GEMINI_CLI_NO_RELAUNCH=true",
		"GEMINI_CLI_TRUST_WORKSPACE=true"}
	return []program{
		{"claude", config.Agent{Agent: "claude", Command: bin("claude-latest", "claude")},
			[]string{"ANTHROPIC_API_KEY=k-dummy", "ANTHROPIC_BASE_URL=%s"},
			`Read {"file_path": "DIR/f%d.txt"}`},
		{"codex", config.Agent{Agent: "codex", Command: bin("codex", "codex"), Model: "stub-model"}, openai,
			`exec_command {"cmd":"cat f%d.txt"}`},
		{"opencode", config.Agent{Agent: "opencode", Command: bin("opencode", "opencode"),
			Model: "stub-model"}, openai, `read {"filePath": "DIR/f%d.txt"}`},
		{"gemini", config.Agent{Agent: "gemini", Command: bin("gemini", "gemini"), Model: "gemini-2.5-pro"},
			gemini, `read_file {"file_path": "DIR/f%d.txt"}`},
		{"qwen", config.Agent{Agent: "qwen", Command: bin("qwen", "qwen"), Model: "stub-model"}, openai,
			`read_file {"file_path": "DIR/f%d.txt"}`},
		{"api", config.Agent{Agent: "api", Model: "stub-model", API: "anthropic",
			KeyEnv: "ANTHROPIC_API_KEY"},
			[]string{"ANTHROPIC_API_KEY=k-dummy", "ANTHROPIC_BASE_URL=%s"}, `Read {"path": "f%d.txt"}`},
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: steergo STUB [NAME...]")
		os.Exit(sysexit.Usage)
	}
	times, _ := strconv.Atoi(os.Getenv("TIMES")) // 0: once
	failed := false
	for _, p := range slices.Concat(programs(), more()) {
		if len(os.Args) > 2 && !slices.Contains(os.Args[2:], p.name) {
			continue
		}
		for _, name := range []string{"plain", "append", "redirect", "cancel", "kill", "late", "fork"} {
			if s := os.Getenv("STORY"); s != "" && s != name || name == "kill" && len(p.cfg.Command) == 0 {
				continue // an agent in this process cannot be killed alone
			}
			for range max(1, times) {
				line, err := story(p, name)
				word := "ok  "
				if err != nil {
					word, line, failed = "FAIL", line+": "+err.Error(), true
				}
				fmt.Printf("%s %-9s %-8s %s\n", word, p.name, name, line)
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// bench is one story.
type bench struct {
	p    program
	home *durable.Home
	dir  string // everything
	code string
	log  string // of the model
	mu   sync.Mutex
	pid  int
	mark string
}

func (b *bench) id(n int) string { return run.ID(run.Investigate, "steergo", 1, n) }

// requests are the requests that the model has seen.
type request struct {
	Ev             string
	Results, Bytes int
	Marks          []string
}

func (b *bench) requests() (all []request) {
	text, _ := os.ReadFile(b.log) // none yet
	for line := range bytes.Lines(text) {
		var r request
		if json.Unmarshal(line, &r) == nil && r.Ev == "request" {
			all = append(all, r)
		}
	}
	return all
}

// until waits until the model has seen n results.
func (b *bench) until(ctx context.Context, n int) {
	for ctx.Err() == nil {
		if slices.ContainsFunc(b.requests(), func(r request) bool { return r.Results >= n }) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (b *bench) say(n int, kind, text string) error {
	_, err := run.Tell(b.home, b.id(n), time.Now(),
		run.Word{ID: run.WordID("k", text, kind), Kind: kind, By: "asker", Text: text})
	return err
}

// start runs the task as the n-th run.
func (b *bench) start(ctx context.Context, n int, prompt string,
	change func(*agent.Task)) (agent.Result, error) {
	a, err := all.New(b.p.cfg, cmp.Or(os.Getenv("SANDBOX"), "off"))
	if err != nil {
		return agent.Result{}, err
	}
	w, err := steer.Wrap(a, steer.Options{Burst: 300 * time.Millisecond})
	if err != nil {
		return agent.Result{}, err
	}
	t := agent.Task{
		Prompt: prompt, Question: prompt, Codebase: b.code, Tools: []string{"Read", "Grep"},
		SessionID: run.UUID(), Dir: b.home.Path("runs/" + b.id(n)),
		Watch: func(e agent.Event) {
			if e.PID > 0 {
				b.mu.Lock()
				b.pid = e.PID
				b.mu.Unlock()
			}
		},
	}
	if change != nil {
		change(&t)
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return agent.Result{}, err
	}
	return supervise.Wrap(w, supervise.Options{}).Run(ctx, t)
}

func story(p program, name string) (line string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	b := &bench{p: p, mark: "STEERGO_" + run.UUID()}
	if b.dir, err = os.MkdirTemp("", "steergo-"); err != nil {
		return "", err
	}
	defer os.RemoveAll(b.dir)
	model, err := b.open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = model.Process.Kill(); _ = model.Wait() }()
	defer b.home.Close()
	tool := strings.ReplaceAll(p.tool, "DIR", b.code)
	prompt := fmt.Sprintf("ASK-1 look into it\nSTEPS %d %v %s\n", steps, pause, tool)
	text := map[string]string{"plain": "ASK-1", "append": "APPEND-1 the auth service only",
		"redirect": "REDIRECT-1 no, the auth service", "kill": "APPEND-2 v2 only", "late": "APPEND-3 and v3",
		"fork": "BRANCH-1 did it go through?"}[name]
	told := make(chan time.Time, 1)
	forked := make(chan error, 1)
	go func() {
		n := at
		if name == "late" {
			n = steps
		}
		b.until(ctx, n)
		if err := b.act(ctx, name, text, forked); err != nil {
			fmt.Fprintln(os.Stderr, "steergo:", err)
		}
		told <- time.Now()
	}()
	start := time.Now()
	res, err := b.start(ctx, 1, prompt, nil)
	took := time.Since(start)
	if name == "fork" {
		if ferr := <-forked; ferr != nil {
			return "", ferr
		}
	}
	if name == "cancel" {
		said := <-told
		left := b.gone()
		if !errors.Is(err, steer.ErrStopped) {
			return "", fmt.Errorf("it ended with %q, %w", res.Text, cmp.Or(err, errors.New("no error")))
		}
		return fmt.Sprintf("no process after %d ms", left.Sub(said).Milliseconds()), nil
	}
	line = b.tell(res, text, took)
	if err == nil && name != "fork" && !strings.Contains(res.Text, strings.Fields(text)[0]) {
		err = errors.New("the answer does not know what was said")
	}
	if ended := time.Now(); err == nil && b.gone().Sub(ended) > 5*time.Second {
		err = errors.New("a process stays")
	}
	return line, err
}

// act says the word of a story, kills the program, or forks the run and sends the outcome to forked.
func (b *bench) act(ctx context.Context, name, text string, forked chan<- error) (err error) {
	switch name {
	case "append", "late":
		err = b.say(1, run.Append, text)
	case "redirect":
		err = b.say(1, run.Redirect, text)
	case "cancel":
		err = b.say(1, run.Stop, "")
	case "kill":
		err = b.say(1, run.Append, text)
		time.Sleep(100 * time.Millisecond)
		b.mu.Lock()
		err = errors.Join(err, syscall.Kill(-b.pid, syscall.SIGKILL))
		b.mu.Unlock()
	case "fork":
		forked <- b.fork(ctx, text)
	}
	return err
}

// fork starts a run from the first one's checkpoint, which must know what both were told.
func (b *bench) fork(ctx context.Context, text string) error {
	var from *run.Checkpoint
	var err error
	for from == nil || from.SessionID == "" {
		if from, err = run.LoadCheckpoint(b.home.Path("runs/" + b.id(1))); err != nil || ctx.Err() != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	res, err := b.start(ctx, 2, text, func(t *agent.Task) { t.From, t.Fork = from, true })
	if err == nil && !(strings.Contains(res.Text, "ASK-1") && strings.Contains(res.Text, "BRANCH-1")) {
		err = fmt.Errorf("the fork says %q", res.Text)
	}
	return err
}

// tell describes a story: how many results the model had when it saw the word, of those that there
// were.
func (b *bench) tell(res agent.Result, text string, took time.Duration) string {
	had, kept, calls, bytes := 0, -1, 0, 0
	mark := strings.Fields(text)[0]
	for _, r := range b.requests() {
		calls, bytes = calls+1, bytes+r.Bytes
		if slices.Contains(r.Marks, mark) && kept < 0 {
			kept = r.Results
		}
		if kept < 0 {
			had = max(had, r.Results)
		}
	}
	ears, _ := run.Hearing(b.home.Path("runs/" + b.id(1))) // none if nothing was said
	var heard []string
	for _, h := range ears {
		heard = append(heard, fmt.Sprintf("%s %d", h.How, h.Leg))
	}
	return fmt.Sprintf("kept %d of %d, %d calls, %d bytes, %.1f s, heard: %s; %q", kept, had, calls, bytes,
		took.Seconds(), strings.Join(heard, ", "), res.Text)
}

// gone waits until no process of the story is alive.
func (b *bench) gone() time.Time {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		alive := false
		names, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is constant
		for _, name := range names {
			env, _ := os.ReadFile(name) // gone, or a stranger's
			alive = alive || bytes.Contains(env, []byte(b.dir)) &&
				filepath.Dir(name) != fmt.Sprintf("/proc/%d", os.Getpid())
		}
		if !alive {
			break
		}
	}
	return time.Now()
}

// open makes the files and starts the model.
func (b *bench) open(ctx context.Context) (*exec.Cmd, error) {
	b.code, b.log = filepath.Join(b.dir, "code"), filepath.Join(b.dir, "model.jsonl")
	if err := os.MkdirAll(b.code, 0o700); err != nil {
		return nil, err
	}
	for n := range steps {
		if err := os.WriteFile(filepath.Join(b.code, fmt.Sprintf("f%d.txt", n)),
			[]byte(fmt.Sprintf("file %d\n", n)), 0o600); err != nil {
			return nil, err
		}
	}
	var err error
	if b.home, err = durable.Open(filepath.Join(b.dir, "home")); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close() // the model takes it
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	for _, kv := range b.p.env {
		key, value, _ := strings.Cut(kv, "=")
		if strings.Contains(value, "%s") {
			value = fmt.Sprintf(value, base)
		}
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
		if !slices.Contains(b.p.cfg.Env, key) {
			b.p.cfg.Env = append(slices.Clone(b.p.cfg.Env), key)
		}
	}
	b.p.cfg.BaseURL = base
	model := exec.Command("python3", os.Args[1], fmt.Sprint(port), b.log)
	model.Dir = "/"
	out, err := model.StderrPipe()
	if err != nil {
		return nil, err
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
		}
	}()
	if err := model.Start(); err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			return model, c.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return model, ctx.Err()
}
