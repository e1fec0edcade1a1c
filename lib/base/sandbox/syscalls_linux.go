//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are system calls that no agent needs: those that look into other
// processes, change mounts and namespaces, load code into the kernel, or reach
// large and rarely used parts of it.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_VHANGUP,
}

// absent are calls that a library tries before an older one that can be looked
// at: clone3 has its flags in memory, where a filter cannot read them, and
// so has openat2, and io_uring makes calls that no filter sees.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// Where seccomp_data keeps what a filter reads: number, architecture, and the low
// halves of the arguments (both machines are little-endian).
const (
	offNumber, offArch = 0, 4
	offArg0            = 16
	offArg1            = 24
	offArg2            = 32
	offArg3            = 40
)

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// assembly writes a filter. Jumps go to the next instruction but k; a rule ends
// with a return, so none is longer than a few instructions.
type assembly []unix.SockFilter

func (a *assembly) load(offset uint32) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// unless skips the next n instructions unless the loaded value is k.
func (a *assembly) unless(k uint32, n uint8) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: n, K: k})
}

// when skips the next n instructions when the loaded value is k.
func (a *assembly) when(k uint32, n uint8) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: n, K: k})
}

// unlessAny skips the next n instructions unless the loaded value has a bit of k.
func (a *assembly) unlessAny(k uint32, n uint8) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: n, K: k})
}

func (a *assembly) end(action uint32) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action})
}

const (
	permit  = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	deny    = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	absence = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filter is the program that the kernel runs on each system call. paths: it may
// have sockets with a path; a pair of connected ones it always may.
func filter(paths bool) []unix.SockFilter {
	var a assembly
	a.load(offArch)
	a.when(machine, 1)
	a.end(unix.SECCOMP_RET_KILL_PROCESS)
	a.load(offNumber)
	if foreign != 0 { // the numbers of x32, on the same machine
		a.unlessAny(foreign, 1)
		a.end(absence)
	}
	for _, call := range refused {
		a.unless(call, 1)
		a.end(refuse)
	}
	for _, call := range absent {
		a.unless(call, 1)
		a.end(absence)
	}
	// A child in namespaces of its own would have every right in them.
	a.unless(unix.SYS_CLONE, 4)
	a.load(offArg0)
	a.unlessAny(newNamespaces, 1)
	a.end(refuse)
	a.end(permit)
	// Typing into somebody's terminal.
	a.unless(unix.SYS_IOCTL, 5)
	a.load(offArg1)
	a.when(unix.TIOCSTI, 1)
	a.unless(unix.TIOCLINUX, 1)
	a.end(refuse)
	a.end(permit)
	a.keepModes()
	// Sockets: of the address families, those that programs use. One of the others
	// (vsock) leads out of a virtual machine, whatever its network.
	if !paths {
		a.unless(unix.SYS_SOCKET, 3)
		a.load(offArg0)
		a.unless(unix.AF_UNIX, 1)
		a.end(deny)
		a.load(offNumber)
	}
	a.unless(unix.SYS_SOCKET, 9)
	a.load(offArg0)
	a.when(unix.AF_UNIX, 5)
	a.when(unix.AF_INET, 4)
	a.when(unix.AF_INET6, 3)
	a.unless(unix.AF_NETLINK, 3)
	a.load(offArg2)
	a.unless(unix.NETLINK_ROUTE, 1) // how libraries list addresses
	a.end(permit)
	a.end(deny)
	a.end(permit)
	return a
}

// giveMode are the calls that give a file its mode, and where they have it: it may
// not be one by which a program runs with the rights of the file's owner, which is
// the person in whose name all this runs.
var giveMode = append([]modeCall{
	{unix.SYS_FCHMOD, offArg1, 0}, {unix.SYS_FCHMODAT, offArg2, 0}, {unix.SYS_FCHMODAT2, offArg2, 0},
	{unix.SYS_MKNODAT, offArg2, 0}, {unix.SYS_OPENAT, offArg3, offArg2},
}, oldModeCalls...)

// modeCall is a call with a mode. Where flags is set, those say whether the mode
// counts.
type modeCall struct{ number, mode, flags uint32 }

const (
	ownersRights = unix.S_ISUID | unix.S_ISGID
	makesFile    = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

func (a *assembly) keepModes() {
	for _, c := range giveMode {
		if c.flags == 0 {
			a.unless(c.number, 4)
		} else {
			a.unless(c.number, 6)
			a.load(c.flags)
			a.unlessAny(makesFile, 3)
		}
		a.load(c.mode)
		a.unlessAny(ownersRights, 1)
		a.end(refuse)
		a.end(permit)
	}
}

// filterSyscalls puts the filter on the calling thread and what it becomes.
func filterSyscalls(paths bool) error {
	program := filter(paths)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}
