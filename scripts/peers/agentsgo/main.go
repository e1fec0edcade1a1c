// Agentsgo runs real agent programs under our adapters, at the hands of scripted
// models on loopback (see ../agents): every row of rows.go, bare and within the
// sandbox.
//
//	agentsgo ANTHROPIC OPENAI LOGS [NAME...]
//
// The first two are the ports of the models, LOGS the folder with a log for each.
// PART in the environment, words of a part's name, is that part alone.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/all"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

const (
	good = `{"answer":42}`
	bad  = `{"answer":"many"}`
	// secret stands outside the codebase and in a hidden folder of it.
	secret = "s3cret-of-the-machine"
)

// patience is for a run on a machine that is busy.
const patience = 3 * time.Minute

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: agentsgo ANTHROPIC OPENAI LOGS [NAME...]")
		os.Exit(sysexit.Usage)
	}
	failed := false
	for _, r := range rows(os.Args[1], os.Args[2]) {
		if len(os.Args) > 4 && !slices.Contains(os.Args[4:], r.name) {
			continue
		}
		if _, err := os.Stat(append(r.command, os.Args[0])[0]); err != nil {
			fmt.Printf("FAIL %s: %v: run scripts/peers/install\n", r.name, err)
			failed = true
			continue
		}
		for _, sandbox := range []string{"off", "required"} {
			for _, part := range parts {
				if part.skip != nil && part.skip(r) || !strings.Contains(part.name, os.Getenv("PART")) {
					continue
				}
				b, err := newBench(r, sandbox, filepath.Join(os.Args[3], r.model()+".jsonl"))
				if err == nil {
					err = part.run(b)
				}
				if err == nil {
					err = b.noneLeft()
				}
				name := fmt.Sprintf("%s, sandbox %s: %s", r.name, sandbox, part.name)
				if err != nil {
					fmt.Printf("FAIL %s: %v\n%s", name, err, b.say())
					failed = true
				} else {
					fmt.Printf("ok   %s (%.1f s)\n", name, b.took.Seconds())
				}
				b.close()
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// bench is one program's surroundings.
type bench struct {
	row     row
	sandbox string
	dir     string
	log     string // of the model
	since   int64  // bytes of it before this bench
	agent   agent.Agent
	task    agent.Task
	events  []agent.Event
	took    time.Duration
}

func newBench(r row, sandbox, log string) (*bench, error) {
	b := &bench{row: r, sandbox: sandbox, log: log}
	info, err := os.Stat(log)
	if err == nil {
		b.since = info.Size()
	}
	if b.dir, err = os.MkdirTemp("", "tri-peer-"); err != nil {
		return b, err
	}
	code := filepath.Join(b.dir, "code")
	for name, text := range map[string]string{
		"code/retry.go": "package pay\n\nconst MaxRetries = 5\n", "code/.agents/notes": secret,
		"secret": secret,
		"code/.claude/commands/run_ab/scout_ab.md": "---\ndescription: look\n---\nThe command for $ARGUMENTS.\nSAY from the command\n",
		"code/.claude/settings.json":               `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ` + b.dir + `/home/hooked"}]}]}}`,
	} {
		at := filepath.Join(b.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700),
			os.WriteFile(at, []byte(text), 0o600)); err != nil {
			return b, err
		}
	}
	run := filepath.Join(b.dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		return b, err
	}
	for _, v := range r.env {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return b, err
		}
	}
	cfg := config.Agent{Agent: cmp.Or(r.agent, r.name), Command: r.command, Model: r.use}
	if r.change != nil {
		r.change(&cfg)
	}
	if b.agent, err = all.New(cfg, sandbox); err != nil {
		return b, err
	}
	b.task = agent.Task{
		Codebase: code, Schema: []byte(`{"type":"object"}`), Check: check,
		Tools: []string{"Read", "Grep", "Glob"}, Dir: run,
		SessionID: "0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10", Hidden: []string{".agents"},
		Watch: func(e agent.Event) { b.events = append(b.events, e) },
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

func check(value []byte) error {
	var v struct {
		Answer *int `json:"answer"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if v.Answer == nil {
		return errors.New("answer is missing")
	}
	return nil
}

// run runs the agent with a script for the model as its prompt.
func (b *bench) run(script string, most time.Duration) (agent.Result, error) {
	return b.ask("hello\n"+script, most)
}

func (b *bench) ask(prompt string, most time.Duration) (agent.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	b.task.Prompt = prompt
	start := time.Now()
	res, err := b.agent.Run(ctx, b.task)
	b.took += time.Since(start)
	return res, err
}

// words runs it for its words alone.
func (b *bench) words(script string) (agent.Result, error) {
	b.task.Schema, b.task.Check = nil, nil
	return b.run(script, patience)
}

// sent is what the model was told since the bench was made.
func (b *bench) sent() string {
	text, err := os.ReadFile(b.log)
	if err != nil || int64(len(text)) < b.since {
		return ""
	}
	return string(text[b.since:])
}

// say is what is known of a run that failed.
func (b *bench) say() string {
	var out strings.Builder
	for _, e := range b.events {
		fmt.Fprintf(&out, "     %s %s %.300q\n", e.Kind, e.Tool, e.Text)
	}
	for _, name := range []string{"transcript.ndjson", "stderr.txt"} {
		text, _ := os.ReadFile(filepath.Join(b.dir, "run", name)) // what there is of it
		fmt.Fprintf(&out, "     %s: %.3000s\n", name, text)
	}
	return out.String()
}

// noneLeft is an error when a process of the bench is alive.
func (b *bench) noneLeft() error {
	envs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, name := range envs {
		env, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(env), "HOME="+b.dir) {
			return fmt.Errorf("%s is left", filepath.Dir(name))
		}
	}
	return nil
}
