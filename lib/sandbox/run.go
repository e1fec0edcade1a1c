package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"tri/lib/sysexit"
)

// Run runs a command in a sandbox to its end, for a person who wants to look
// around, and returns its exit status. A command is ended when ctx is.
func Run(ctx context.Context, s Spec, in io.Reader, out, errw io.Writer) (status int, err error) {
	box, err := New(s)
	if err != nil {
		return 0, startError(s.Argv, err)
	}
	defer box.Close()
	cmd, err := box.Command(nil)
	if err != nil {
		return 0, err
	}
	// Bubblewrap dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, io.MultiWriter(errw, &said)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start a sandbox: %w", err)
	}
	if err := box.Admit(); err != nil {
		box.Kill()
		_ = cmd.Wait() // it says no more than said does
		return 0, startError(s.Argv, box.Explain(err, said.String()))
	}
	defer context.AfterFunc(ctx, box.Kill)()
	err = cmd.Wait()
	exit := new(exec.ExitError)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	}
	return 0, err
}

func startError(argv []string, err error) error {
	if _, known := sysexit.Of(err); known {
		return err
	}
	return sysexit.With(sysexit.Unavailable, fmt.Errorf("start %q: %w", argv[0], err))
}

// tail is the last of what a program says.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > 4<<10 {
		t.Reset()
	}
	return t.Buffer.Write(p)
}
