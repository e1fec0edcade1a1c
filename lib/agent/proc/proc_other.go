//go:build unix && !linux

package proc

import "syscall"

// attributes make the program the leader of its own group. Only Linux has the
// kernel kill it when we die.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitDeath is left to Wait here.
func awaitDeath(int) bool { return false }

// sweep needs /proc.
func sweep(string) {}
