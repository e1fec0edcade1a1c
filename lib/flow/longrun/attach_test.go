package longrun

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/config"
)

// TestUnwatched: a look at a run that is not supervised says so, and what to do.
func TestUnwatched(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody tells here that a process is stopped")
	}
	d := manager(t, config.None)
	r := ask("1", "wait")
	r.By = "ana"
	begin(t, d, r)
	p := runner(t, d, r.RunID)
	// attach gives what is said, and has then done when that begins with want.
	attach := func(want string, then func() error) {
		t.Helper()
		var said []string
		c := d.commands("ana", io.Discard, func(format string, args ...any) {
			said = append(said, fmt.Sprintf(format, args...))
			if strings.HasPrefix(said[len(said)-1], r.RunID+": "+want) {
				if err := then(); err != nil {
					t.Error(err)
				}
			}
		})
		if err := c.attach(soon(t), r.RunID, false); err != nil {
			t.Fatal(err)
		}
		if n := len(slices.DeleteFunc(said, func(s string) bool {
			return !strings.HasPrefix(s, r.RunID+": "+want)
		})); n != 1 {
			t.Errorf("it was said %d times, wanted once: %q", n, want)
		}
	}
	if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	attach(fmt.Sprintf("not supervised: process %d, which supervises it, is stopped; kill -CONT %d continues it, ", p.PID, p.PID), func() error {
		return syscall.Kill(p.PID, syscall.SIGKILL) // which reaches it
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		lock, err := d.Home.TryLock(d.folder(r.RunID) + "/lock")
		if err == nil { // as an agent holds it that outlived the runner
			attach(fmt.Sprintf("not supervised: its runner, process %d, is gone, and a process of its agent holds", p.PID), lock.Unlock)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	attach("its runner ended unexpectedly; tri-escalate poll "+r.RunID, func() error { return nil })
}

// TestFollow: without a terminal the transcript is shown, to its end; looks at a running run are recorded.
func TestFollow(t *testing.T) {
	d := manager(t, config.Tmux)
	r := ask("1", "wait")
	begin(t, d, r)
	out := &shown{word: []byte("thinking"), then: func() {
		if err := d.Home.Replace("go", nil); err != nil {
			t.Error(err)
		}
	}}
	if err := d.commands("ana", out, t.Logf).attach(soon(t), r.RunID, false); err != nil {
		t.Fatal(err)
	}
	if want, err := d.Home.ReadFile(d.folder(r.RunID) + "/transcript.log"); err != nil ||
		!bytes.Equal(out.all, want) || !bytes.Contains(want, []byte("end       done")) {
		t.Errorf("%v\n%s\nwant\n%s", err, out.all, want)
	}
	for range 2 { // the second time it has ended
		who, err := d.Home.ReadFile(d.folder(r.RunID) + "/attached.ndjson")
		if err != nil || bytes.Count(who, []byte("\n")) != 1 || !bytes.Contains(who, []byte(`"by":"ana"`)) {
			t.Errorf("%v %s", err, who)
		}
		if err := d.commands("ben", out, t.Logf).attach(soon(t), r.RunID, false); err != nil {
			t.Fatal(err)
		}
	}
}

// commands are those of a person who is at no terminal.
func (d *Manager) commands(by string, out io.Writer, say func(string, ...any)) *Commands {
	return &Commands{Manager: d, In: strings.NewReader(""), Out: out, Say: say, By: by}
}

// TestFollowFromTheStart: who looks at a run before it has said a word waits for that.
func TestFollowFromTheStart(t *testing.T) {
	d := manager(t, config.None)
	r := ask("1", "x")
	if err := d.ask(r); err != nil {
		t.Fatal(err)
	}
	lock, err := d.Home.TryLock(d.folder(r.RunID) + "/lock") // as its runner holds it
	if err != nil {
		t.Fatal(err)
	}
	c := d.commands("ana", io.Discard, t.Logf)
	if f, err := c.grown(r.RunID, nil); f != nil || err != nil {
		t.Errorf("%v, %v", f, err)
	}
	out := &shown{word: []byte("hello"), then: func() {
		if err := lock.Unlock(); err != nil {
			t.Error(err)
		}
	}}
	go func() {
		if err := d.Home.Replace(d.folder(r.RunID)+"/transcript.log", []byte("hello\n")); err != nil {
			t.Error(err)
		}
	}()
	if err := d.commands("ana", out, t.Logf).attach(soon(t), r.RunID, false); err != nil ||
		string(out.all) != "hello\n" {
		t.Errorf("%q, %v", out.all, err)
	}
	if _, err := c.grown(r.RunID, nil); err != nil {
		t.Error(err)
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
