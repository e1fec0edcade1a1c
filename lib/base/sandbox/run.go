package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"tri/lib/base/sysexit"
)

// Run runs a command in a sandbox to its end, for interactive inspection, and returns its exit
// status and which walls were in force. The command is killed when ctx ends.
func Run(ctx context.Context, s Spec, in io.Reader, out, errw io.Writer) (status int, r Report, err error) {
	box, err := New(s)
	if err != nil {
		return 0, r, startError(s.Argv, err)
	}
	defer box.Close()
	cmd, err := box.Command(nil)
	if err != nil {
		return 0, r, err
	}
	// Bubblewrap dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, io.MultiWriter(errw, &said)
	if err := cmd.Start(); err != nil {
		return 0, r, fmt.Errorf("start a sandbox: %w", err)
	}
	if err := box.Admit(); err != nil {
		box.Kill()
		_ = cmd.Wait() // said has its output
		return 0, r, startError(s.Argv, box.Explain(err, said.String()))
	}
	defer context.AfterFunc(ctx, box.Kill)()
	err = cmd.Wait()
	exit := new(exec.ExitError)
	switch {
	case ctx.Err() != nil:
		return 0, box.Report(), ctx.Err()
	case errors.As(err, &exit):
		return exit.ExitCode(), box.Report(), nil
	}
	return 0, box.Report(), err
}

func startError(argv []string, err error) error {
	if _, known := sysexit.Of(err); known {
		return err
	}
	return sysexit.Errorf(sysexit.Unavailable, "start %q: %w", argv[0], err)
}

// tail keeps the end of a program's output.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > 4<<10 {
		t.Reset()
	}
	return t.Buffer.Write(p)
}
