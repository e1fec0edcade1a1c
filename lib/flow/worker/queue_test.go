package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/agent/remote"
	"tri/lib/base/broker"
	"tri/lib/base/broker/brokertest"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

// overQueue returns a maker of agents that run over the queue of a real server, where another process of this
// program takes them, with the rights of a worker.
func overQueue(name string, can agent.Capabilities) func(*testing.T, []string, string) agent.Agent {
	return func(t *testing.T, argv []string, sandbox string) agent.Agent {
		t.Helper()
		dir, url := brokertest.Serve(t, nil)
		hub, worker := brokertest.Config(dir, url, "hub"), brokertest.Config(dir, url, "worker1")
		fake(t, "tri-nats", "#!/bin/sh\nexec env "+far{Nats: &hub, Hub: true}.start(t))
		f := far{Agent: name, Sandbox: sandbox, Runs: runsOf(t, argv), Argv: argv, Nats: &worker,
			Mark: os.Getenv(agenttest.Variable)}
		cmd := exec.Command("sh", "-c", "exec env -u "+agenttest.Variable+" "+f.start(t))
		cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return remote.New(config.Agent{Agent: name, On: config.Queue}, sandbox, can)
	}
}

func TestConformanceQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("40 seconds, for ends that the same suite over ssh has")
	}
	agenttest.Run(t, agenttest.Suite{
		Make:  overQueue("exec", agent.Capabilities{}),
		Say:   func(text string) string { return text + "\n" },
		Plain: true, Open: true, Far: true,
	})
}

// TestAskedAgain: a failure that passes is not a result: asked again, the job runs again. Any other is.
func TestAskedAgain(t *testing.T) {
	for status, want := range map[int]int{sysexit.TempFail: 2, sysexit.Data: 1} {
		dir, url := brokertest.Serve(t, nil)
		runs := 0
		w := &Worker{Name: "w", Config: &config.Config{Sandbox: "off", Investigator: config.Agent{Agent: "exec"}},
			New: func(config.Agent, string) (agent.Agent, error) {
				runs++
				return failing{sysexit.With(status, errors.New("busy"))}, nil
			},
			place: func(o *remote.Order) (place, error) {
				return place{codebase: o.Codebase, dir: t.TempDir(), remove: func() error { return nil }}, nil
			}}
		ctx, stop := context.WithCancel(t.Context())
		q := &Queue{Worker: w, Conn: brokertest.Open(t, dir, url, "worker1"), Slots: 1, Say: t.Logf}
		ended := make(chan error, 1)
		go func() { ended <- q.Run(ctx, "test") }()
		hub := brokertest.Config(dir, url, "hub")
		fake(t, "tri-nats", "#!/bin/sh\nexec env "+far{Nats: &hub, Hub: true}.start(t))
		a := remote.New(config.Agent{Agent: "exec", On: config.Queue}, "off", agent.Capabilities{})
		code, runDir := t.TempDir(), filepath.Join(t.TempDir(), "i-1")
		if err := os.Mkdir(runDir, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := a.Run(ctx, agent.Task{Prompt: "?", Codebase: code, Dir: runDir})
			if got, _ := sysexit.Of(err); got != status || !strings.Contains(err.Error(), "busy") {
				t.Errorf("status %d: %d, %v", status, got, err)
			}
		}
		stop()
		if err := <-ended; err != nil || runs != want {
			t.Errorf("status %d: %d runs, want %d; %v", status, runs, want, err)
		}
	}
}

// TestServerLost: the server loses its disk while a hub waits for its only job, before a worker is there and
// between the files of a result and the result. The job is done, and what is left of it is given.
func TestServerLost(t *testing.T) {
	dir, url, lose := brokertest.Lossy(t, nil)
	o := remote.Order{V: remote.Version, ID: strings.Repeat("0123456789abcdef", 2)}
	line, err := json.Marshal(remote.Message{Order: &o})
	if err != nil {
		t.Fatal(err)
	}
	in, order := io.Pipe()
	result, out := io.Pipe()
	defer order.Close()
	hub, far := brokertest.Open(t, dir, url, "hub"), brokertest.Open(t, dir, url, "worker1")
	ended := make(chan error, 1)
	go func() { ended <- (&Relay{Conn: hub}).Run(t.Context(), in, out) }()
	if _, err := order.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	take := func() *broker.Job {
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if job, err := far.Take(t.Context()); err == nil && job != nil {
				return job
			}
		}
		t.Fatal("the job is not in the queue")
		return nil
	}
	take()
	lose()
	job := take()
	if err := errors.Join(job.Begin(t.Context()), job.Put(t.Context(), []byte("{}\n"))); err != nil {
		t.Fatal(err)
	}
	lose()
	l := &queued{ctx: t.Context(), job: job, parts: []string{"transcript.ndjson"}}
	r := &remote.Result{ID: o.ID, Value: []byte("42"),
		Files: []remote.Sum{{Name: "transcript.ndjson", Bytes: 3}}}
	go func() { _ = l.finish(t.Context(), r) }()
	m, err := remote.NewReader(bufio.NewReader(result)).Next()
	if err != nil || m.Result == nil || string(m.Result.Value) != "42" || len(m.Result.Files) > 0 {
		t.Errorf("%+v, %v", m, err)
	}
	result.Close()
	<-ended
}

// TestStranger: a worker that did not begin a try neither speaks for the one that did nor is told its words.
func TestStranger(t *testing.T) {
	var out bytes.Buffer
	r := &Relay{out: &lines{out: &out}, news: make(chan struct{}, 1)}
	say := func(key string, try int, m remote.Message) {
		t.Helper()
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		r.heard(key, try, data)
	}
	final := remote.Message{Result: &remote.Result{Value: []byte("1"), SHA256: "x"}}
	say("first", 1, remote.Message{Taken: &remote.Taken{Worker: "first"}})
	for _, try := range []int{0, 1, 2, 999999} {
		say("stranger", try, final)
		say("stranger", try, remote.Message{Event: &agent.Event{Text: "mine"}})
		if r.key != "first" || r.try != 1 || r.final != nil || strings.Contains(out.String(), "mine") {
			t.Fatalf("try %d: %s speaks, %+v, %s", try, r.key, r.final, out.String())
		}
	}
	say("second", 2, remote.Message{Taken: &remote.Taken{Worker: "second"}})
	say("second", 2, final)
	if r.key != "second" || r.final == nil {
		t.Errorf("%s speaks, %+v", r.key, r.final)
	}
}

// failing is an agent that leaves a transcript and fails.
type failing struct{ err error }

func (f failing) Run(_ context.Context, t agent.Task) (agent.Result, error) {
	err := os.WriteFile(filepath.Join(t.Dir, "transcript.ndjson"), []byte("{}\n"), 0o600)
	return agent.Result{}, errors.Join(err, f.err)
}
