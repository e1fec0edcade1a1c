package sandbox

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one in the sandbox, by the number that it has outside and a
// descriptor that means it even when the number belongs to another.
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

// alive waits at most so long for the end of a process.
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

// remember keeps the program, still waiting for its orders, and the first process
// of its namespace, whose end is the end of all of them.
func (b *Box) remember(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.agent = openProcess(pid)
	if !b.spec.Without.Bubblewrap {
		b.init = openProcess(parent(pid))
	}
}

// parent is a process's parent; 0 where it is gone.
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

// PID is the program's process id, as seen from outside; 0 before Admit.
func (b *Box) PID() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil {
		return 0
	}
	return b.agent.pid
}

// Signal reaches the program and the others of its process group, if it is still
// there.
func (b *Box) Signal(s syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent == nil || !b.agent.alive(0) {
		return
	}
	_ = unix.Kill(-b.agent.pid, s) // none left: which is what is wanted
}

// Kill ends every process in the sandbox.
func (b *Box) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range []*process{b.init, b.agent} {
		if p != nil {
			_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) // gone: which is what is wanted
		}
	}
}

// Await returns when every process in the sandbox is gone, or after some seconds,
// and reports whether they are.
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
