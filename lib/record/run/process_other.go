//go:build !linux

package run

import (
	"os"
	"syscall"
)

// ProcessOf returns the process that has the number pid now. Its start time is not known on this
// system.
func ProcessOf(pid int) Process { return Process{PID: pid} }

// Stopped is false: the state is not known on this system.
func (p Process) Stopped() bool { return false }

// Alive reports whether a process with this number runs.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	found, err := os.FindProcess(p.PID)
	return err == nil && found.Signal(syscall.Signal(0)) == nil
}
