package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/agent/claude"
	"tri/lib/agent/exec"
	"tri/lib/agent/remote"
	"tri/lib/base/broker"
	"tri/lib/base/config"
	"tri/lib/base/durable"
)

// far describes the worker that a fake ssh starts.
type far struct {
	Agent, Sandbox, Runs string
	Argv                 []string
	Home                 string // of a worker that prepares its places itself
	Codebases            []config.Codebase
	Nats                 *config.Nats // of one that takes jobs from the queue, or, as a hub, hands one out
	Hub                  bool
	Mark                 string // agenttest's variable, which a process that outlives the run must not have
}

const farVariable = "TRI_WORK_TEST"

func TestMain(m *testing.M) {
	if text := os.Getenv(farVariable); text != "" {
		if err := beFar(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beFar is `tri-nats work --stdio` whose jobs run in the folders of the test.
func beFar(text string) error {
	var f far
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return err
	}
	if f.Mark != "" {
		_ = os.Setenv(agenttest.Variable, f.Mark)
	}
	w := &Worker{Name: "far", Config: &config.Config{Sandbox: f.Sandbox,
		Investigator: config.Agent{Agent: f.Agent, Command: f.Argv, Env: []string{agenttest.Variable}}},
		New: func(cfg config.Agent, sandbox string) (agent.Agent, error) {
			switch f.Agent {
			case "listener":
				return listener{}, nil
			case "claude":
				return claude.New(cfg, sandbox)
			}
			return exec.New(cfg, sandbox)
		},
		place: func(o *remote.Order) (place, error) {
			return place{codebase: o.Codebase, dir: filepath.Join(f.Runs, o.Run), remove: func() error {
				return nil
			}}, nil
		},
	}
	if f.Home != "" {
		h, err := durable.Open(f.Home)
		if err != nil {
			return err
		}
		w.Home, w.Config.Codebases, w.place = h, f.Codebases, nil
	}
	ctx := context.Background()
	if f.Nats == nil {
		return w.Stdio(ctx, os.Stdin, os.Stdout)
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	conn, err := broker.Open(ctx, *f.Nats, "test", say)
	if err != nil {
		return err
	}
	if f.Hub {
		return (&Relay{Conn: conn}).Run(ctx, os.Stdin, os.Stdout)
	}
	return (&Queue{Worker: w, Conn: conn, Slots: 2, Say: say}).Run(ctx, "test")
}

// over returns a maker of agents that run over ssh, which is a script that starts this program.
func over(name string, can agent.Capabilities) func(*testing.T, []string, string) agent.Agent {
	return func(t *testing.T, argv []string, sandbox string) agent.Agent {
		t.Helper()
		fakeSSH(t, "#!/bin/sh\nexec env "+
			far{Agent: name, Sandbox: sandbox, Runs: runsOf(t, argv), Argv: argv}.start(t))
		return remote.New(config.Agent{Agent: name, On: "ssh far"}, sandbox, can)
	}
}

// start returns the words by which a shell starts this program as f.
func (f far) start(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return farVariable + "='" + string(text) + "' '" + self + "'\n"
}

// runsOf returns the folder of runs of a program of agenttest: <runs>/<run>/home/bench/program.
func runsOf(t *testing.T, argv []string) string {
	runs := t.TempDir()
	if len(argv) > 1 {
		for runs = argv[1]; filepath.Base(runs) != "home"; runs = filepath.Dir(runs) {
		}
		runs = filepath.Dir(filepath.Dir(runs))
	}
	return runs
}

func fakeSSH(t *testing.T, script string) { t.Helper(); fake(t, "ssh", script) }

// fake puts a script on PATH as a program.
func fake(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestConformanceExec(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make:  over("exec", agent.Capabilities{}),
		Say:   func(text string) string { return text + "\n" },
		Plain: true, Open: true, Far: true,
	})
}
