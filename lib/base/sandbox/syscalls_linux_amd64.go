package sandbox

import "golang.org/x/sys/unix"

const (
	machine = unix.AUDIT_ARCH_X86_64
	foreign = 0x40000000
	filters = true
)

// oldModeCalls are those that newer machines do not have.
var oldModeCalls = []modeCall{
	{unix.SYS_CHMOD, offArg1, 0}, {unix.SYS_CREAT, offArg1, 0}, {unix.SYS_MKNOD, offArg1, 0}, {unix.SYS_OPEN, offArg2, offArg1},
}
