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

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/record/run"
)

// TestUnwatched: who looks at a run that nobody watches over is told, and what to do.
func TestUnwatched(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody tells here that a process is stopped")
	}
	d := desk(t, config.Pty)
	r := ask("1", "wait")
	r.By = "ana"
	begin(t, d, r)
	p := runner(t, d, r.RunID)
	// attach gives what is said, and has then done when that begins with want.
	attach := func(want string, then func() error) {
		t.Helper()
		var said []string
		c := d.counter("ana", io.Discard, func(format string, args ...any) {
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
		if n := len(slices.DeleteFunc(said, func(s string) bool { return !strings.HasPrefix(s, r.RunID+": "+want) })); n != 1 {
			t.Errorf("it was said %d times, wanted once: %q", n, want)
		}
	}
	if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	attach(fmt.Sprintf("nobody watches over it: process %d, which supervises it, is stopped; kill -CONT %d has it go on, ", p.PID, p.PID), func() error {
		return syscall.Kill(p.PID, syscall.SIGKILL) // which reaches it
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		lock, err := d.Home.TryLock(folder(r.RunID) + "/lock")
		if err == nil { // as an agent holds it that outlived the runner
			attach(fmt.Sprintf("nobody watches over it: its runner, process %d, is gone, and a process of its agent holds", p.PID), lock.Unlock)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	attach("its runner ended without a word; tri-escalate poll "+r.RunID, func() error { return nil })
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
	if err := d.counter("ana", out, t.Logf).attach(soon(t), r.RunID, false); err != nil {
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
		if err := d.counter("ben", out, t.Logf).attach(soon(t), r.RunID, false); err != nil {
			t.Fatal(err)
		}
	}
}

// counter is where a person stands who is at no terminal.
func (d *Desk) counter(by string, out io.Writer, say func(string, ...any)) *Counter {
	return &Counter{Desk: d, In: strings.NewReader(""), Out: out, Say: say, By: by}
}

// TestFollowFromTheStart: who looks at a run before it has said a word waits for that.
func TestFollowFromTheStart(t *testing.T) {
	d := desk(t, config.Pty)
	r := ask("1", "x")
	if err := d.ask(r); err != nil {
		t.Fatal(err)
	}
	lock, err := d.Home.TryLock(folder(r.RunID) + "/lock") // as its runner holds it
	if err != nil {
		t.Fatal(err)
	}
	c := d.counter("ana", io.Discard, t.Logf)
	if f, err := c.grown(r.RunID, nil, true); f != nil || err != nil {
		t.Errorf("%v, %v", f, err)
	}
	out := &shown{word: []byte("hello"), then: func() {
		if err := lock.Unlock(); err != nil {
			t.Error(err)
		}
	}}
	go func() {
		if err := d.Home.Replace(folder(r.RunID)+"/transcript.log", []byte("hello\n")); err != nil {
			t.Error(err)
		}
	}()
	if err := d.counter("ana", out, t.Logf).attach(soon(t), r.RunID, false); err != nil || string(out.all) != "hello\n" {
		t.Errorf("%q, %v", out.all, err)
	}
	if _, err := c.grown(r.RunID, nil, false); err != nil {
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
