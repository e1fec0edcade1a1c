package longrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// TestMain is tri-escalate too: the runner of the tests' runs.
func TestMain(m *testing.M) {
	if os.Getenv("TRI_ESCALATE_TEST") == "" {
		os.Setenv("TRI_ESCALATE_TEST", "yes")
		os.Setenv("TRI_TEST_SECRET", "s3cret value")
		os.Exit(m.Run())
	}
	if err := program(os.Args[3], os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func program(dir, id string) error {
	h, err := durable.Open(dir)
	if err != nil {
		return err
	}
	cfg := config.Default()
	if b, err := h.ReadFile("test-config.json"); err != nil || json.Unmarshal(b, &cfg.Escalation) != nil {
		return errors.Join(errors.New("no configuration"), err)
	}
	d := &Manager{Home: h, Config: cfg, Program: os.Args[0], Now: time.Now}
	ctx, cancel := signals()
	defer cancel()
	work := func(ctx context.Context, a agent.Agent, j *Job) (*draft.Return, error) {
		if _, err := a.Run(ctx, agent.Task{Question: j.Thread.Messages[0].Content, Dir: j.Dir(),
			Hold: j.LockFile()}); err != nil {
			return nil, err
		}
		ref := draft.Ref{Kind: draft.KindFile, Ref: "a.go:1", SupportsClaim: "x", Receipt: &draft.Receipt{}}
		if strings.Contains(j.Thread.Messages[0].Content, "unproven") {
			ref.Receipt = nil
		}
		if strings.Contains(j.Thread.Messages[0].Content, "logs") {
			ref = draft.Ref{Kind: draft.KindLogQuery, Ref: "level=error", SupportsClaim: "x"}
		}
		return &draft.Return{Confidence: "high", ConfidenceReason: "r", SummaryForOrchestrator: "s.",
			DraftReply: "answer", DraftLanguage: "en",
			EvidenceRefs: []draft.Ref{ref}, OpenQuestions: []string{}, InvestigatorRound: 1}, nil
	}
	return (&Runner{Manager: d, Agent: actor{h}, Screen: os.Stdout, Investigate: work}).Run(ctx, id)
}

// actor is an agent that acts by the words of its question, and leaves a line in
// `acts` for each time it was started.
type actor struct{ home *durable.Home }

func (a actor) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	f, err := a.home.Root().OpenFile("acts", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return agent.Result{}, err
	}
	if _, err := fmt.Fprintf(f, "%s %s\n", filepath.Base(t.Dir), os.Getenv("TRI_TEST_SECRET")); err != nil {
		return agent.Result{}, err
	}
	f.Close()
	t.See(agent.Event{Kind: agent.Thought, Text: "thinking about\x1b[2J\n" + t.Question,
		Usage: &draft.Usage{InputTokens: 11}})
	switch {
	case strings.Contains(t.Question, "nothing"):
		return agent.Result{}, agent.ErrNothing
	case strings.Contains(t.Question, "suicide"):
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	for strings.Contains(t.Question, "wait") && !a.home.Exists("go") {
		select {
		case <-ctx.Done():
			return agent.Result{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return agent.Result{Value: []byte("{}"), Usage: draft.Usage{InputTokens: 22}}, nil
}

// manager is one in a fresh home, whose runs end with the test.
func manager(t *testing.T, terminal string, deep ...string) *Manager {
	t.Helper()
	h, err := durable.Open(filepath.Join(append([]string{t.TempDir()}, deep...)...))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Escalation.Terminal = terminal
	b, err := json.Marshal(cfg.Escalation)
	if err == nil {
		err = h.Replace("test-config.json", b)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &Manager{Home: h, Config: cfg, Program: os.Args[0], Look: 100 * time.Millisecond, Now: time.Now}
	t.Cleanup(func() {
		all, err := d.List()
		if err != nil {
			t.Error(err)
		}
		for _, e := range all {
			if _, err := d.Kill(context.Background(), e.RunID, "test"); err != nil {
				t.Error(err)
			}
			deadline := time.Now().Add(20 * time.Second)
			for ; time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				if busy, err := run.Held(d.Home, e.RunID); !busy || err != nil {
					break // the folder is about to be removed
				}
			}
		}
		// it ends with its last session by itself
		_ = exec.Command("tmux", "-L", d.server(), "kill-server").Run()
		h.Close()
	})
	return d
}

func ask(key, text string) Request {
	return Request{Order: run.Order{RunID: attempt(key, 1), By: run.Dispatcher}, Hints: []thread.Hint{},
		Thread: &thread.Thread{
			Key: event.Key("local", "dev", key), Messages: []thread.Message{{Content: text}}}}
}

func begin(t *testing.T, d *Manager, r Request) {
	t.Helper()
	if _, err := d.Begin(r); err != nil {
		t.Fatal(err)
	}
}

func acts(t *testing.T, d *Manager) int {
	t.Helper()
	b, err := d.Home.ReadFile("acts")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(b, []byte("s3cret value\n")) != bytes.Count(b, []byte("\n")) {
		t.Errorf("the environment did not arrive: %q", b)
	}
	return bytes.Count(b, []byte("\n"))
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func runner(t *testing.T, d *Manager, id string) run.Process {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s, err := d.state(id)
		if err == nil && s.Owner.Alive() {
			return s.Owner
		}
		if time.Now().After(deadline) {
			t.Fatal("no runner came up: ", err)
		}
	}
}

var terminals = []string{config.Tmux, config.None}
