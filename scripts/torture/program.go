package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program is a started one, which may be stopped, continued and killed.
type program struct {
	*exec.Cmd
	said  words
	ended chan struct{} // closed when it has ended and cmd.ProcessState is set
}

// words is what a program says on stderr; it is read while it speaks.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *words) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Reset()
}

// begin starts a command.
func begin(cmd *exec.Cmd) (*program, error) {
	p := &program{Cmd: cmd, ended: make(chan struct{})}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.said
	}
	cmd.WaitDelay = time.Second // whoever it has started may have its stderr still
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // the state tells
		close(p.ended)
	}()
	return p, nil
}

// over reports whether it has ended.
func (p *program) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// endsWithin waits for its end.
func (p *program) endsWithin(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// signal sends one; a program that has just ended is not an error.
func (p *program) signal(s os.Signal) { _ = p.Process.Signal(s) }

// kill9 ends it at once.
func (p *program) kill9() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// status is the exit status, -1 while it runs or when a signal ended it.
func (p *program) status() int {
	if !p.over() {
		return -1
	}
	return p.ProcessState.ExitCode()
}

// diedOf reports whether a signal ended it.
func (p *program) diedOf(s syscall.Signal) bool {
	ws, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == s
}

// word is the first line of what it said.
func (p *program) word() string {
	line, _, _ := strings.Cut(p.said.String(), "\n")
	return line
}
