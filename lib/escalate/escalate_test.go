package escalate

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
	"sync"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/config"
	"tri/lib/disk"
	"tri/lib/draft"
	"tri/lib/event"
	"tri/lib/evidence"
	"tri/lib/run"
	"tri/lib/thread"
)

// TestMain is tri-escalate too: the runner and the holder of the tests' runs.
func TestMain(m *testing.M) {
	if os.Getenv("TRI_ESCALATE_TEST") == "" {
		os.Setenv("TRI_ESCALATE_TEST", "yes")
		os.Setenv("TRI_TEST_SECRET", "s3cret value")
		os.Exit(m.Run())
	}
	if err := program(os.Args[1], os.Args[3], os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func program(verb, dir, id string) error {
	h, err := disk.Open(dir)
	if err != nil {
		return err
	}
	cfg := config.Default()
	if b, err := h.ReadFile("test-config.json"); err != nil || json.Unmarshal(b, &cfg.Escalation) != nil {
		return errors.Join(errors.New("no configuration"), err)
	}
	d := &Desk{Home: h, Config: cfg, Program: os.Args[0], Now: time.Now}
	ctx, cancel := signals()
	defer cancel()
	if verb == hold {
		return d.Hold(ctx, id)
	}
	work := func(ctx context.Context, a agent.Agent, j *Job) (*draft.Return, error) {
		if _, err := a.Run(ctx, agent.Task{Question: j.Thread.Messages[0].Content, Dir: j.Dir, Hold: j.Hold}); err != nil {
			return nil, err
		}
		ref := evidence.Ref{Kind: evidence.File, Ref: "a.go:1", SupportsClaim: "x", Receipt: &evidence.Receipt{}}
		if strings.Contains(j.Thread.Messages[0].Content, "unproven") {
			ref.Receipt = nil
		}
		return &draft.Return{Confidence: "high", ConfidenceReason: "r", SummaryForOrchestrator: "s.", DraftReply: "answer", DraftLanguage: "en",
			EvidenceRefs: []evidence.Ref{ref}, OpenQuestions: []string{}, InvestigatorRound: 1}, nil
	}
	return (&Runner{Desk: d, Agent: actor{h}, Screen: os.Stdout, Investigate: work}).Run(ctx, id)
}

// actor is an agent that acts by the words of its question, and leaves a line in
// `acts` for each time it was started.
type actor struct{ home *disk.Home }

func (a actor) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	f, err := a.home.Root().OpenFile("acts", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return agent.Result{}, err
	}
	if _, err := fmt.Fprintf(f, "%s %s\n", filepath.Base(t.Dir), os.Getenv("TRI_TEST_SECRET")); err != nil {
		return agent.Result{}, err
	}
	f.Close()
	t.See(agent.Event{Kind: agent.Thought, Text: "thinking about\x1b[2J\n" + t.Question, Usage: &draft.Usage{InputTokens: 11}})
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

// desk is one in a fresh home, whose runs end with the test.
func desk(t *testing.T, terminal string, deep ...string) *Desk {
	t.Helper()
	h, err := disk.Open(filepath.Join(append([]string{t.TempDir()}, deep...)...))
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
	d := &Desk{Home: h, Config: cfg, Program: os.Args[0], Look: 100 * time.Millisecond, Now: time.Now}
	t.Cleanup(func() {
		all, err := d.List()
		if err != nil {
			t.Error(err)
		}
		for _, e := range all {
			if _, err := d.Kill(context.Background(), e.RunID, "test"); err != nil {
				t.Error(err)
			}
			for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				if busy, err := d.running(e.RunID); !busy || err != nil {
					break // the folder is about to be removed
				}
			}
		}
		_ = exec.Command("tmux", "-L", d.server(), "kill-server").Run() // it ends with its last session by itself
		h.Close()
	})
	return d
}

func ask(key, text string) Request {
	return Request{RunID: Attempt(key, 1), By: dispatcher, Hints: []thread.Hint{}, Thread: &thread.Thread{
		Key: event.Key("local", "dev", key), Messages: []thread.Message{{Content: text}}}}
}

func begin(t *testing.T, d *Desk, r Request) {
	t.Helper()
	if _, err := d.Begin(r); err != nil {
		t.Fatal(err)
	}
}

func acts(t *testing.T, d *Desk) int {
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

func runner(t *testing.T, d *Desk, id string) run.Process {
	t.Helper()
	var p run.Process
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := d.read(folder(id)+"/runner.json", &p)
		if err == nil && p.Alive() {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal("no runner came up: ", err)
		}
	}
}

var terminals = []string{config.Tmux, config.Pty}

// TestLifecycle: however many ask for it at once, a run is done once; it leaves
// what it gave, how it ended and what was seen.
func TestLifecycle(t *testing.T) {
	for _, terminal := range terminals {
		t.Run(terminal, func(t *testing.T) {
			d := desk(t, terminal)
			r := ask("1", "please wait")
			var starters sync.WaitGroup
			for range 8 {
				starters.Go(func() {
					at, err := d.Begin(r)
					if err != nil || (at.TmuxSession != nil) != (terminal == config.Tmux) {
						t.Errorf("%+v %v", at, err)
					}
				})
			}
			starters.Wait()
			if e, err := d.entry(r.RunID); err != nil || e.Status != Running {
				t.Errorf("%+v %v", e, err)
			}
			if err := d.Home.Replace("go", nil); err != nil {
				t.Fatal(err)
			}
			res, err := d.Wait(soon(t), r.RunID)
			if err != nil || res == nil || res.Status != run.Done || res.Usage.InputTokens != 22 || !bytes.Contains(res.Value, []byte(`"answer"`)) {
				t.Fatalf("%+v %v", res, err)
			}
			if n := acts(t, d); n != 1 {
				t.Errorf("%d runs", n)
			}
			begin(t, d, r) // one that has ended stays as it is
			said, err := d.Home.ReadFile(folder(r.RunID) + "/transcript.log")
			if err != nil || !strings.Contains(string(said), "thought   thinking about<U+001B>[2J\n                   please wait") || !strings.Contains(string(said), "end       done") {
				t.Errorf("%v\n%s", err, said)
			}
			if bytes.ContainsAny(said, "\x1b\r\x00") {
				t.Errorf("%q", said)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	d := desk(t, config.Pty)
	for _, tt := range []struct{ text, status, kind string }{
		{"nothing here", run.Nothing, ""},
		{"an unproven claim", run.Failed, agent.Abort},
		{"suicide", run.Failed, agent.Killed},
	} {
		r := ask(tt.text, tt.text)
		begin(t, d, r)
		res, err := d.Wait(soon(t), r.RunID)
		if err != nil || res == nil {
			t.Fatal(err)
		}
		kind := ""
		if res.Failure != nil {
			kind = res.Failure.Kind
		}
		if res.Status != tt.status || kind != tt.kind {
			t.Errorf("%s: %s %s (%s)", tt.text, res.Status, kind, res.Error)
		}
	}
	x, err := run.LoadExit(d.Home, ask("suicide", "").RunID)
	if err != nil || x.Starts != maxStarts || x.Usage == nil || x.Usage.InputTokens != 11*maxStarts {
		t.Errorf("%+v %v: what each try took counts", x, err)
	}
}

// TestRunnerKilled: a runner that was killed is started again by whoever waits.
func TestRunnerKilled(t *testing.T) {
	for _, terminal := range terminals {
		t.Run(terminal, func(t *testing.T) {
			d := desk(t, terminal)
			r := ask("1", "wait")
			begin(t, d, r)
			if err := syscall.Kill(runner(t, d, r.RunID).PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			go func() {
				runner(t, d, r.RunID)
				if err := d.Home.Replace("go", nil); err != nil {
					t.Error(err)
				}
			}()
			res, err := d.Wait(soon(t), r.RunID)
			if err != nil || res == nil || res.Status != run.Done {
				t.Fatalf("%+v %v", res, err)
			}
			if n := acts(t, d); n < 1 || n > 2 { // the first may have been killed before it acted
				t.Errorf("%d runs", n)
			}
		})
	}
}

// TestHangup: neither the end of its terminal nor that of who started it reaches a
// run.
func TestHangup(t *testing.T) {
	for _, terminal := range terminals {
		t.Run(terminal, func(t *testing.T) {
			d := desk(t, terminal)
			r := ask("1", "wait")
			begin(t, d, r)
			p := runner(t, d, r.RunID)
			if pgid, err := syscall.Getpgid(p.PID); err != nil || pgid == syscall.Getpgrp() {
				t.Errorf("the runner is of our process group: %v", err)
			}
			if err := syscall.Kill(p.PID, syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if terminal == config.Tmux {
				if out, err := exec.Command("tmux", "-L", d.server(), "kill-server").CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			}
			if err := d.Home.Replace("go", nil); err != nil {
				t.Fatal(err)
			}
			res, err := d.Wait(soon(t), r.RunID)
			if err != nil || res.Status != run.Done || acts(t, d) != 1 {
				t.Fatalf("%+v %v", res, err)
			}
		})
	}
}

func TestKill(t *testing.T) {
	for _, terminal := range terminals {
		t.Run(terminal, func(t *testing.T) {
			d := desk(t, terminal)
			r := ask("1", "wait")
			r.By = "ana"
			begin(t, d, r)
			runner(t, d, r.RunID)
			x, err := d.Kill(soon(t), r.RunID, "ana")
			if err != nil || x == nil || x.Status != run.Failed || x.Failure.Kind != agent.Killed || !strings.Contains(x.Error, "given up") {
				t.Fatalf("%+v %v", x, err)
			}
			again, err := d.Kill(soon(t), r.RunID, "ben")
			if err != nil || again.EndedAt != x.EndedAt {
				t.Errorf("killed twice: %+v %v", again, err)
			}
		})
	}
}

// TestGivenUp: a run that is given up before its runner comes up does nothing.
func TestGivenUp(t *testing.T) {
	d := desk(t, config.Pty)
	r := ask("1", "x")
	if err := d.giveUp(r.RunID, "ana"); err != nil {
		t.Fatal(err)
	}
	begin(t, d, r)
	res, err := d.Wait(soon(t), r.RunID)
	if err != nil || res.Failure == nil || res.Failure.Kind != agent.Killed || d.Home.Exists("acts") {
		t.Errorf("%+v %v", res, err)
	}
}

// TestTrouble: a run that cannot begin ends with the reason.
func TestTrouble(t *testing.T) {
	d := desk(t, config.Pty)
	r := ask("1", "x")
	if err := d.ask(r); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, dir, says string }{{"agent", "", "no agent is called"}, {"transcript", "/dev/null/x", "keep transcript"}} {
		d.Config.Escalation.TranscriptDir = tt.dir
		if err := d.Home.Remove(folder(r.RunID) + "/exit.json"); err != nil {
			t.Fatal(err)
		}
		if err := (&Runner{Desk: d, Trouble: errors.New("no agent is called so")}).Run(soon(t), r.RunID); err != nil {
			t.Fatal(err)
		}
		x, err := run.LoadExit(d.Home, r.RunID)
		if err != nil || x == nil || x.Status != run.Failed || !strings.Contains(x.Error, tt.says) {
			t.Errorf("%s: %+v %v", tt.name, x, err)
		}
	}
}

// TestPoll: a run that a person started and whose runner is gone has ended; one of
// the pipeline has not.
func TestPoll(t *testing.T) {
	d := desk(t, config.Pty)
	ours, theirs := ask("1", "wait"), ask("2", "wait")
	ours.By = "ana"
	for _, r := range []Request{ours, theirs} {
		begin(t, d, r)
		if err := syscall.Kill(runner(t, d, r.RunID).PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	var ended []string
	if err := d.Poll(soon(t), []string{ours.RunID}, true, func(x *run.Exit) error {
		ended = append(ended, x.RunID+" "+x.Failure.Kind)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := d.Poll(soon(t), nil, false, func(x *run.Exit) error {
		ended = append(ended, x.RunID)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(ended) != 2 || ended[0] != ours.RunID+" killed" || ended[1] != ours.RunID {
		t.Errorf("%q", ended)
	}
	for name, want := range map[string]string{"latest": theirs.RunID, ours.RunID[:8]: ours.RunID, "local.dev.2": theirs.RunID} {
		if id, err := d.Resolve(name); err != nil || id != want {
			t.Errorf("%s: %s %v, want %s", name, id, err, want)
		}
	}
	if _, err := d.Resolve("local.dev"); err == nil {
		t.Error("the beginning of two keys is one")
	}
}

// TestViewers: a terminal of our own is seen by all; only who may type is heard.
func TestViewers(t *testing.T) {
	d := desk(t, config.Pty, strings.Repeat("deep/", 20), strings.Repeat("d", 200))
	r := ask("1", "wait")
	begin(t, d, r)
	id := r.RunID
	view := func(mode byte) *viewer {
		conn, err := dial(d.Home.Path(folder(id)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := conn.Write([]byte{mode}); err != nil {
			t.Fatal(err)
		}
		v := &viewer{seen: make(chan struct{}), ended: make(chan struct{})}
		go v.read(conn)
		select {
		case <-v.seen:
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was shown")
		}
		v.typ = func(s string) {
			if _, err := conn.Write([]byte(s)); err != nil {
				t.Error(err)
			}
		}
		return v
	}
	one, two := view(onlyLook), view(mayType)
	one.typ("\x03")
	if x, err := run.LoadExit(d.Home, id); err != nil || x != nil {
		t.Fatalf("a viewer was heard: %+v %v", x, err)
	}
	two.typ("\x03")
	for _, v := range []*viewer{one, two} {
		select {
		case <-v.ended:
		case <-time.After(30 * time.Second):
			t.Fatal("the terminal did not end")
		}
	}
	x, err := run.LoadExit(d.Home, id)
	if err != nil || x == nil || x.Failure.Kind != agent.Killed {
		t.Errorf("%+v %v", x, err)
	}
}

type viewer struct {
	typ         func(string)
	seen, ended chan struct{}
}

func (v *viewer) read(conn interface{ Read([]byte) (int, error) }) {
	var all []byte
	buf := make([]byte, 4096)
	shown := false
	for {
		n, err := conn.Read(buf)
		all = append(all, buf[:n]...)
		if !shown && bytes.Contains(all, []byte("thinking")) {
			shown = true
			close(v.seen)
		}
		if err != nil {
			close(v.ended)
			return
		}
	}
}

// TestFollow: what is no terminal is shown the transcript, to its end; who looked at
// a run under way is known.
func TestFollow(t *testing.T) {
	d := desk(t, config.Tmux)
	r := ask("1", "wait")
	begin(t, d, r)
	out := &shown{word: []byte("thinking"), then: func() {
		if err := d.Home.Replace("go", nil); err != nil {
			t.Error(err)
		}
	}}
	if err := d.Attach(soon(t), r.RunID, "ana", false, strings.NewReader(""), out); err != nil {
		t.Fatal(err)
	}
	if want, err := d.Home.ReadFile(folder(r.RunID) + "/transcript.log"); err != nil || !bytes.Equal(out.all, want) || !bytes.Contains(want, []byte("end       done")) {
		t.Errorf("%v\n%s\nwant\n%s", err, out.all, want)
	}
	for range 2 { // the second time it has ended
		who, err := d.Home.ReadFile(folder(r.RunID) + "/attached.ndjson")
		if err != nil || bytes.Count(who, []byte("\n")) != 1 || !bytes.Contains(who, []byte(`"by":"ana"`)) {
			t.Errorf("%v %s", err, who)
		}
		if err := d.Attach(soon(t), r.RunID, "ben", false, strings.NewReader(""), out); err != nil {
			t.Fatal(err)
		}
	}
}

// shown does something once a word has been written to it.
type shown struct {
	all, word []byte
	then      func()
}

func (s *shown) Write(b []byte) (int, error) {
	s.all = append(s.all, b...)
	if s.then != nil && bytes.Contains(s.all, s.word) {
		s.then()
		s.then = nil
	}
	return len(b), nil
}

// TestNames: keys that tmux or a file system would confuse have sessions of their
// own, in our own alphabet, and no text of a chat is in a command line.
func TestNames(t *testing.T) {
	keys := []string{}
	for i := range 1 << 12 { // every text of 6 of these, twice
		var b strings.Builder
		for n := i; b.Len() < 6; n /= 4 {
			b.WriteByte(".:_-"[n%4])
		}
		keys = append(keys, b.String())
	}
	texts, err := os.ReadFile("../../../shared/data/hostile/text/blns.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Log("left out: the hostile texts are not here")
		texts, err = []byte("[]"), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var hostile []string
	if err := json.Unmarshal(texts, &hostile); err != nil {
		t.Fatal(err)
	}
	hostile = append(hostile, "../../../tmp/canary", "$(touch canary)", "`touch canary`", "; touch canary", "a;", "=x", "-L", "{}", "#{pane_pid}")
	seen := map[string]string{}
	for _, name := range append(keys, hostile...) {
		id := Attempt(event.Key("local", "dev", name), 1)
		if other, taken := seen[id]; taken && other != name || !isID.MatchString(id) {
			t.Errorf("%q and %q share %s", name, other, id)
		}
		seen[id] = name
	}
	if len(seen) < 1<<12+9 || len(hostile) > 100 && len(seen) < 1<<12+400 {
		t.Errorf("%d names", len(seen))
	}
}

// TestArguments: what a run is about, and what is in our environment, is in no
// command line.
func TestArguments(t *testing.T) {
	d := desk(t, config.Tmux)
	r := ask("$(touch canary);", "wait for $(touch canary)")
	begin(t, d, r)
	p := runner(t, d, r.RunID)
	out, err := exec.Command("tmux", "-L", d.server(), "display-message", "-p", "-t", "="+r.RunID+":", "#{pid} #{pane_pid} #{session_name}").Output()
	if err != nil {
		t.Fatal(err)
	}
	var server, pane int
	var session string
	if _, err := fmt.Sscan(string(out), &server, &pane, &session); err != nil || pane != p.PID || session != r.RunID {
		t.Errorf("%q: tmux runs %d, the runner is %d", out, pane, p.PID)
	}
	for _, pid := range []int{server, pane} {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			t.Skip(err)
		}
		if bytes.Contains(line, []byte("canary")) || bytes.Contains(line, []byte("s3cret")) || bytes.Contains(line, []byte("sh\x00-c")) {
			t.Errorf("%d: %q", pid, line)
		}
	}
}

func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "a;": `a\;`, ";": `\;`, "a;b": "a;b"} {
		if got := literal(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
