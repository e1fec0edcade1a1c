package proc

import (
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tri/lib/base/sandbox"
	"tri/lib/judge/safety"
)

// RefusedLog is the file in the run's folder with a line for each connection that the sandbox
// refused.
const RefusedLog = "refused.ndjson"

// walled returns the command that runs the program in a sandbox.
func (r *running) walled() (cmd *exec.Cmd, err error) {
	s, log := r.spec, ""
	if s.RunDir != "" {
		if log, err = filepath.Abs(filepath.Join(s.RunDir, RefusedLog)); err != nil {
			return nil, err
		}
	}
	r.box, err = sandbox.New(sandbox.Spec{
		Argv: s.Argv, Env: append(s.Env[:len(s.Env):len(s.Env)], r.mark), Dir: s.Dir, Write: s.Write,
		Hidden: s.Hidden, Secret: safety.HoldsSecret,
		Home: s.Home, Read: s.Read, Reach: s.Reach, Forwards: s.Forwards, Serve: s.Serve, Memory: s.Memory,
		Processes: s.Processes, Log: log,
	})
	if err != nil {
		r.box = nil
		return nil, err
	}
	return r.box.Command(s.Hold)
}

// admit lets the sandbox start the program. On failure it kills what has been started.
func (r *running) admit() error {
	err := r.box.Admit()
	if err == nil {
		return nil
	}
	r.box.Kill()
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // may have ended already
	_ = r.cmd.Wait()
	_ = r.errR.SetReadDeadline(time.Now().Add(drain))    // pipes have deadlines
	said, _ := io.ReadAll(io.LimitReader(r.errR, 2<<10)) // the available output
	return r.box.Explain(err, string(said))
}

// pid returns the program's process id.
func (r *running) pid() int {
	if r.box != nil {
		return r.box.PID()
	}
	return r.cmd.Process.Pid
}
