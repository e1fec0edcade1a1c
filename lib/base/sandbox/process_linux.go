package sandbox

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process in the sandbox: its process id outside, and a descriptor that identifies it
// even after the id is reused.
type process struct{ pid, fd int }

func openProcess(pid int) *process {
	if pid <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	return &process{pid, fd}
}

// alive waits at most that long for the end of a process, and reports whether it is still alive.
func (p *process) alive(most time.Duration) bool {
	deadline := time.Now().Add(most)
	for {
		left := max(time.Until(deadline), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if err == unix.EINTR && left > 0 {
			continue
		}
		return n == 0
	}
}

// remember records the program, which still waits for its order, and the first process of its
// namespace, whose end ends all the others.
func (b *Box) remember(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.agent = openProcess(pid)
	if !b.spec.Without.Bubblewrap {
		b.init = openProcess(parent(pid))
	}
}

// parent returns a process's parent, 0 if the process is gone.
func parent(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	f := strings.Fields(after)
	if len(f) < 2 {
		return 0
	}
	n, err := strconv.Atoi(f[1])
	if err != nil {
		return 0
	}
	return n
}

// PID returns the program's process id as seen from outside; 0 before Admit.
func (b *Box) PID() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil {
		return 0
	}
	return b.agent.pid
}

// Signal signals the program and its process group, if it is still alive.
func (b *Box) Signal(s syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil || !b.agent.alive(0) {
		return
	}
	_ = unix.Kill(-b.agent.pid, s) // may have ended already
}

// Kill kills every process in the sandbox.
func (b *Box) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range []*process{b.init, b.agent} {
		if p != nil {
			_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) // may have ended already
		}
	}
}

// Await waits up to five seconds for every process in the sandbox to end, and reports whether they
// have.
func (b *Box) Await() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.init == nil || !b.init.alive(5*time.Second)
}

func (b *Box) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range []*process{b.init, b.agent} {
		if p != nil {
			_ = unix.Close(p.fd)
		}
	}
	b.init, b.agent = nil, nil
}
