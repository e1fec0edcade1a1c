//go:build !linux

package run

import (
	"os"
	"syscall"
)

// ProcessOf is the process that has a number now. Nobody tells here when it began.
func ProcessOf(pid int) Process { return Process{PID: pid} }

// Stopped is false: the system does not tell here.
func (p Process) Stopped() bool { return false }

// Alive reports whether a process of this number runs.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	found, err := os.FindProcess(p.PID)
	return err == nil && found.Signal(syscall.Signal(0)) == nil
}
