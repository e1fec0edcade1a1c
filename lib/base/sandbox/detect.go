package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tri/lib/base/sysexit"
)

// Detect starts a sandbox around a program that does nothing, and reports which walls were in force.
func Detect(ctx context.Context) (r Report, err error) {
	dir, err := os.MkdirTemp("", "tri-look-")
	if err != nil {
		return r, sysexit.With(sysexit.IO, err)
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	var said bytes.Buffer
	status, r, err := Run(ctx, Spec{Argv: []string{"true"}, Dir: dir}, strings.NewReader(""),
		io.Discard, &said)
	if err == nil && status != 0 {
		err = sysexit.Errorf(sysexit.Unavailable, "try a sandbox: status %d: %q", status, said.String())
	}
	return r, err
}

// String describes a Report.
func (r Report) String() string {
	var walls []string
	if r.Bubblewrap {
		walls = append(walls, "bubblewrap")
	}
	if r.Landlock > 0 {
		walls = append(walls, fmt.Sprintf("Landlock (ABI %d)", r.Landlock))
	}
	if r.Syscalls {
		walls = append(walls, "a filter of system calls")
	}
	if r.Limits != NoLimits {
		walls = append(walls, "limits by "+r.Limits)
	}
	return strings.Join(walls, ", ")
}
