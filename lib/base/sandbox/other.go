//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Box is the walls around one program. There are none on this system.
type Box struct{}

var errSystem = errors.New("start a sandbox: only Linux has one")

// New refuses.
func New(Spec) (*Box, error) { return nil, missing(errSystem, "run this on Linux") }

// Command and what follows belong to a Box that New never makes here.
func (*Box) Command(*os.File) (*exec.Cmd, error) { return nil, errSystem }
func (*Box) Admit() error                        { return errSystem }
func (*Box) Explain(err error, _ string) error   { return err }
func (*Box) Report() Report                      { return Report{} }
func (*Box) PID() int                            { return 0 }
func (*Box) Signal(syscall.Signal)               {}
func (*Box) Kill()                               {}
func (*Box) Await() bool                         { return true }
func (*Box) Close() (oom bool)                   { return false }

// Inside refuses.
func Inside(string) error { return errSystem }
