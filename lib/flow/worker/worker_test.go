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
	"tri/lib/base/config"
	"tri/lib/base/durable"
)

// far describes the worker that a fake ssh starts.
type far struct {
	Agent, Sandbox, Runs string
	Argv                 []string
	Home                 string // of a worker that prepares its places itself
	Codebases            []config.Codebase
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
	return w.Stdio(context.Background(), os.Stdin, os.Stdout)
}

// over returns a maker of agents that run over ssh, which is a script that starts this program.
func over(name string, can agent.Ability) func(*testing.T, []string, string) agent.Agent {
	return func(t *testing.T, argv []string, sandbox string) agent.Agent {
		t.Helper()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		runs := t.TempDir()
		if len(argv) > 1 { // <runs>/<run>/home/bench/program
			for runs = argv[1]; filepath.Base(runs) != "home"; runs = filepath.Dir(runs) {
			}
			runs = filepath.Dir(filepath.Dir(runs))
		}
		text, err := json.Marshal(far{Agent: name, Sandbox: sandbox, Runs: runs, Argv: argv})
		if err != nil {
			t.Fatal(err)
		}
		fakeSSH(t, "#!/bin/sh\nexec env "+farVariable+"='"+string(text)+"' '"+self+"'\n")
		return remote.New(config.Agent{Agent: name, On: "ssh far"}, sandbox, can)
	}
}

func fakeSSH(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestConformanceExec(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make:  over("exec", agent.Ability{}),
		Say:   func(text string) string { return text + "\n" },
		Plain: true, Open: true,
	})
}
