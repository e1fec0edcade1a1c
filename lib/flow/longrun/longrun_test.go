package longrun

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/record/run"
)

// TestLifecycle: however many processes request it at once, a run is done once; it leaves its return, its
// result and its transcript.
func TestLifecycle(t *testing.T) {
	for _, terminal := range terminals {
		t.Run(terminal, func(t *testing.T) {
			d := manager(t, terminal)
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
			if e, err := d.entry(r.RunID); err != nil || e.Status != run.Running {
				t.Errorf("%+v %v", e, err)
			}
			if err := d.Home.Replace("go", nil); err != nil {
				t.Fatal(err)
			}
			res, err := d.Wait(soon(t), r.RunID)
			if err != nil || res == nil || res.Status != run.Done || res.Usage.InputTokens != 22 ||
				!bytes.Contains(res.Value, []byte(`"answer"`)) {
				t.Fatalf("%+v %v", res, err)
			}
			if n := acts(t, d); n != 1 {
				t.Errorf("%d runs", n)
			}
			begin(t, d, r) // an ended run stays as it is
			said, err := d.Home.ReadFile(d.folder(r.RunID) + "/transcript.log")
			if err != nil || !strings.Contains(string(said),
				"thought   thinking about<U+001B>[2J\n                   please wait") ||
				!strings.Contains(string(said), "end       done") {
				t.Errorf("%v\n%s", err, said)
			}
			if bytes.ContainsAny(said, "\x1b\r\x00") {
				t.Errorf("%q", said)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	d := manager(t, config.None)
	for _, tt := range []struct {
		text   string
		status run.Phase
		kind   string
	}{
		{"nothing here", run.Nothing, ""},
		{"an unproven claim", run.Failed, agent.Abort},
		{"what the logs say", run.Done, ""},
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
	x, err := run.Load(d.Home, ask("suicide", "").RunID)
	if err != nil || x.Starts != maxStarts || x.Usage == nil || x.Usage.InputTokens != 11*maxStarts {
		t.Errorf("%+v %v: what each try took counts", x, err)
	}
}

// TestRunnerKilled: a runner that was killed is started again by the process waiting for it.
func TestRunnerKilled(t *testing.T) {
	for _, terminal := range terminals {
		t.Run(terminal, func(t *testing.T) {
			d := manager(t, terminal)
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

// TestNotStartedAgain: a run whose runner was killed and cannot be started again has failed; the process
// waiting for it continues.
func TestNotStartedAgain(t *testing.T) {
	d := manager(t, config.None)
	r := ask("1", "wait")
	begin(t, d, r)
	d.Program = d.Home.Path("gone")
	if err := syscall.Kill(runner(t, d, r.RunID).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	res, err := d.Wait(soon(t), r.RunID)
	if err != nil || res == nil || res.Status != run.Failed || res.Failure.Kind != agent.ToolError ||
		!strings.Contains(res.Error, "gone: no such file") {
		t.Fatalf("%+v %v", res, err)
	}
}

// TestHangup: neither the end of its terminal nor that of who started it reaches a
// run.
func TestHangup(t *testing.T) {
	for _, terminal := range terminals {
		t.Run(terminal, func(t *testing.T) {
			d := manager(t, terminal)
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
				if out, err := exec.Command("tmux", "-L", d.server(),
					"kill-server").CombinedOutput(); err != nil {
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
			d := manager(t, terminal)
			r := ask("1", "wait")
			r.By = "ana"
			begin(t, d, r)
			// handles no signal
			if err := syscall.Kill(runner(t, d, r.RunID).PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			x, err := d.Kill(soon(t), r.RunID, "ana")
			if err != nil || x == nil || x.Status != run.Failed || x.Failure.Kind != agent.Killed ||
				!strings.Contains(x.Error, "given up") {
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
	d := manager(t, config.None)
	r := ask("1", "x")
	if err := run.Cancel(d.Home, r.RunID, "ana", d.Now()); err != nil {
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
	d := manager(t, config.None)
	r := ask("1", "x")
	if err := d.ask(r); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, dir, says string
	}{{"agent", "", "no agent is called"}, {"transcript", "/dev/null/x", "keep transcript"}} {
		d.Config.Escalation.TranscriptDir = tt.dir
		if err := d.Home.Remove(d.folder(r.RunID) + "/result.json"); err != nil {
			t.Fatal(err)
		}
		if err := (&Runner{Manager: d, Trouble: errors.New("no agent is called so")}).Run(soon(t),
			r.RunID); err != nil {
			t.Fatal(err)
		}
		x, err := run.Load(d.Home, r.RunID)
		if err != nil || x == nil || x.Status != run.Failed || !strings.Contains(x.Error, tt.says) {
			t.Errorf("%s: %+v %v", tt.name, x, err)
		}
	}
}

// TestUnreadable: a run that cannot be read does not hide the others, nor keep them from being ended.
func TestUnreadable(t *testing.T) {
	d := manager(t, config.None)
	r, damaged := ask("1", "wait"), attempt("2", 1)
	begin(t, d, r)
	runner(t, d, r.RunID)
	name := d.folder(damaged) + "/request.json"
	if err := errors.Join(d.Home.MkdirAll(d.folder(damaged)), d.Home.Replace(name, []byte("{"))); err != nil {
		t.Fatal(err)
	}
	defer d.Home.Remove(name)
	var out bytes.Buffer
	c := &Commands{Manager: d, Out: &out, Say: t.Logf, By: "ana"}
	if err := c.Show(); err == nil || !strings.Contains(err.Error(), damaged) ||
		!strings.Contains(out.String(), r.RunID) {
		t.Errorf("list: %v, %q", err, out.String())
	}
	out.Reset()
	if err := c.End(soon(t), r.RunID); err != nil || !strings.Contains(out.String(), r.RunID) {
		t.Errorf("kill: %v, %q", err, out.String())
	}
	out.Reset()
	if err := c.Ended(soon(t), nil, true); err == nil || !strings.Contains(out.String(), r.RunID) {
		t.Errorf("poll: %v, %q", err, out.String())
	}
}

// TestPoll: a run that a person started and whose runner is gone has ended; one of
// the pipeline has not.
func TestPoll(t *testing.T) {
	d := manager(t, config.None)
	ours, theirs := ask("1", "wait"), ask("2", "wait")
	ours.By = "ana"
	for _, r := range []Request{ours, theirs} {
		begin(t, d, r)
		if err := syscall.Kill(runner(t, d, r.RunID).PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	var ended []string
	if err := d.Poll(soon(t), []string{ours.RunID}, true, func(x *run.Result) error {
		ended = append(ended, x.RunID+" "+x.Failure.Kind)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := d.Poll(soon(t), nil, false, func(x *run.Result) error {
		ended = append(ended, x.RunID)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(ended) != 2 || ended[0] != ours.RunID+" killed" || ended[1] != ours.RunID {
		t.Errorf("%q", ended)
	}
	for name, want := range map[string]string{"latest": theirs.RunID, ours.RunID[:8]: ours.RunID,
		"local.dev.2": theirs.RunID} {
		if id, err := d.Resolve(name); err != nil || id != want {
			t.Errorf("%s: %s %v, want %s", name, id, err, want)
		}
	}
	if _, err := d.Resolve("local.dev"); err == nil {
		t.Error("the beginning of two keys is one")
	}
}
