package sandbox

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are system calls that no agent needs: those that inspect other processes, change mounts
// and namespaces, load code into the kernel, or reach large and rarely used parts of it.
var refused = []string{
	"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
	"mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "fsopen",
	"fsconfig", "fsmount", "fspick", "mount_setattr",
	"unshare", "setns", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load",
	"bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key",
	"open_by_handle_at", "quotactl", "quotactl_fd", "swapon", "swapoff", "reboot", "acct", "syslog",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "vhangup",
}

// absent are calls that libraries try before an older one that can be filtered: clone3 and openat2
// have their flags in memory, where a filter cannot read them, and io_uring makes calls that no
// filter sees.
var absent = []string{"clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"}

const (
	newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	ownersRights = unix.S_ISUID | unix.S_ISGID
	makesFile    = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

func anyBit(argument uint32, of uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: of}
}

func other(argument uint32, than uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: than}
}

// low matches an argument whose lower half is value: the kernel uses only that half of an int, but
// the library compares the whole.
func low(argument uint32, value uint32) (all []seccomp.Condition) {
	all = append(all, seccomp.Condition{Argument: argument, Operation: seccomp.BitsNotSet,
		Value: uint64(^value)})
	for rest := value; rest != 0; rest &= rest - 1 {
		all = append(all, anyBit(argument, 1<<bits.TrailingZeros32(rest)))
	}
	return all
}

// filtered reports whether there is a filter for this architecture.
func filtered() bool {
	_, err := arch.GetInfo("")
	return err == nil
}

// policy returns the filter. paths permits sockets with a path; connected pairs of sockets are
// always permitted.
func policy(info *arch.Info, paths bool) seccomp.Policy {
	known := func(names []string) []string { // newer architectures lack the oldest calls
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, ok := info.SyscallNames[name]
			return !ok
		})
	}
	when := func(list *[]seccomp.NameWithConditions, name string, conditions ...seccomp.Condition) {
		if len(known([]string{name})) > 0 {
			*list = append(*list, seccomp.NameWithConditions{Name: name, Conditions: conditions})
		}
	}
	var never, denied []seccomp.NameWithConditions
	// A child in new namespaces would have every right in them.
	when(&never, "clone", anyBit(0, newNamespaces))
	// Input injection into a person's terminal.
	when(&never, "ioctl", low(1, unix.TIOCSTI)...)
	when(&never, "ioctl", low(1, unix.TIOCLINUX)...)
	// A file must not become setuid or setgid: it would run with the rights of its owner, the user
	// on whose behalf all this runs.
	for name, mode := range map[string]uint32{"fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknodat": 2,
		"chmod": 1, "creat": 1, "mknod": 1} {
		when(&never, name, anyBit(mode, ownersRights))
	}
	when(&never, "openat", anyBit(2, makesFile), anyBit(3, ownersRights))
	when(&never, "open", anyBit(1, makesFile), anyBit(2, ownersRights))
	// Socket families are limited to those that programs use. Some others (vsock) lead out of a
	// virtual machine, whatever its network. Of netlink, only the protocol that libraries use to
	// list addresses.
	families := []seccomp.Condition{other(0, unix.AF_INET), other(0, unix.AF_INET6),
		other(0, unix.AF_NETLINK)}
	if paths {
		families = append(families, other(0, unix.AF_UNIX))
	}
	when(&denied, "socket", families...)
	when(&denied, "socket", append(low(0, unix.AF_NETLINK), other(2, unix.NETLINK_ROUTE))...)
	return seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		{Names: known(refused), NamesWithCondtions: never,
			Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM)},
		{Names: known(absent), Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
		{NamesWithCondtions: denied, Action: seccomp.ActionErrno | seccomp.Action(unix.EACCES)},
	}}
}

// filterSyscalls applies the filter to the calling thread and the program it becomes. A system
// call of another architecture kills the process: the library would let it pass.
func filterSyscalls(paths bool) error {
	info, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	p := policy(info, paths)
	rules, err := p.Assemble()
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	foreign := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
	}
	program, err := bpf.Assemble(append(foreign, rules...))
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	// RawInstruction has the layout of the kernel's sock_filter.
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}
