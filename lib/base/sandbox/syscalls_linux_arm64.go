package sandbox

import "golang.org/x/sys/unix"

const (
	machine = unix.AUDIT_ARCH_AARCH64
	foreign = 0
	filters = true
)

var oldModeCalls []modeCall
