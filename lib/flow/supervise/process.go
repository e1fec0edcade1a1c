package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is one process of a stage, the leader of its own process group.
type process struct {
	pid   int
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program in a folder, with standard error going to log. Standard output is discarded:
// every stage keeps its own records.
func start(argv []string, dir string, log *os.File) (*process, error) {
	p := &process{cmd: &exec.Cmd{
		Path: argv[0], Args: argv, Dir: dir, Stdout: nil, Stderr: log, SysProcAttr: attributes(),
	}, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the parent death signal when the thread that forked ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // ProcessState has the exit status
			// What its command started, such as the rest of a shell's pipe, would write beside its successor.
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) // mostly there is nothing left
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %q: %w", argv[0], err)
	}
	p.pid = p.cmd.Process.Pid
	return p, nil
}

// stop asks the stage to end, and kills its group if it does not end in time.
func (p *process) stop(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a suspended process handles no signal
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		<-p.ended
	}
}

// outcome describes how the process ended. quick is true if it failed by itself; an end by a signal does not
// predict the next start.
func (p *process) outcome() (ended string, quick bool) {
	state := p.cmd.ProcessState
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return "ended by " + w.Signal().String(), false
	}
	return fmt.Sprintf("ended with status %d", state.ExitCode()), state.ExitCode() != 0
}
