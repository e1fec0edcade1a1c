//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Box is the sandbox of one program. This system has none.
type Box struct{}

var errSystem = errors.New("start a sandbox: only Linux has one")

// New always fails.
func New(Spec) (*Box, error) { return nil, missing(errSystem, "run this on Linux") }

// Command and the following methods belong to a Box, which New never returns here.
func (*Box) Command(*os.File) (*exec.Cmd, error) { return nil, errSystem }
func (*Box) Admit() error                        { return errSystem }
func (*Box) Explain(err error, _ string) error   { return err }
func (*Box) Report() Report                      { return Report{} }
func (*Box) PID() int                            { return 0 }
func (*Box) Signal(syscall.Signal)               {}
func (*Box) Kill()                               {}
func (*Box) Await() bool                         { return true }
func (*Box) Close() (oom bool)                   { return false }

// Inside always fails.
func Inside(string) error { return errSystem }
