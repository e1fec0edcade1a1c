package sandbox

import "golang.org/x/sys/unix"

const (
	machine = unix.AUDIT_ARCH_X86_64
	foreign = 0x40000000
	filters = true
)
