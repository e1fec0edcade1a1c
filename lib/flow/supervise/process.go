package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is one life of a stage, the leader of its own group.
type process struct {
	pid   int
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program in a folder, with its words going to log. Its records are
// not wanted: every stage keeps its own.
func start(argv []string, dir string, log *os.File) (*process, error) {
	p := &process{cmd: &exec.Cmd{
		Path: argv[0], Args: argv, Dir: dir, Stdout: nil, Stderr: log, SysProcAttr: attributes(),
	}, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the death signal when the thread that forked dies.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in ProcessState
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %q: %w", argv[0], err)
	}
	p.pid = p.cmd.Process.Pid
	return p, nil
}

// stop asks the stage to end, and ends its group when it does not.
func (p *process) stop(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may just have ended
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // one that is stopped hears nothing
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		<-p.ended
	}
}

// how is how it ended, and whether by itself: somebody's signal says nothing of
// the next life.
func (p *process) how() (ended string, quick bool) {
	state := p.cmd.ProcessState
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return "ended by " + w.Signal().String(), false
	}
	return fmt.Sprintf("ended with status %d", state.ExitCode()), state.ExitCode() != 0
}
