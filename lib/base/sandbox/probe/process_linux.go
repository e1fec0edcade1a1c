package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls tries a system call that may fail even without walls.
func calls(name string, try func(*Stage) error) Probe { return Probe{Name: name, try: try} }

// raw makes a system call.
func raw(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

// others are the probes of other processes.
func others() []Probe {
	return []Probe{
		{Name: "see what others run", Anybody: true, try: func(s *Stage) error {
			text, err := os.ReadFile(victimFile("cmdline")(s))
			if err == nil && string(text) != "sleep\x00600\x00" {
				err = errHeld
			}
			return err
		}},
		calls("trace a process", func(s *Stage) error {
			if err := raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.Victim), 0, 0); err != nil {
				return err
			}
			return nil // detached when this process ends
		}),
		calls("trace its own starter", func(*Stage) error {
			return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 1, 0, 0)
		}),
		calls("read another process's memory", func(s *Stage) error {
			var b byte
			local := unix.Iovec{Base: &b, Len: 1}
			remote := unix.RemoteIovec{Base: 0, Len: 1}
			err := raw(unix.SYS_PROCESS_VM_READV, uintptr(s.Victim), uintptr(unsafe.Pointer(&local)), 1,
				uintptr(unsafe.Pointer(&remote)), 1, 0)
			if errors.Is(err, unix.EFAULT) {
				return nil // access was granted, but nothing is at that address
			}
			return err
		}),
		calls("take another process's files", func(s *Stage) error {
			fd, err := unix.PidfdOpen(s.Victim, 0)
			if err != nil {
				return err
			}
			return raw(unix.SYS_PIDFD_GETFD, uintptr(fd), 0, 0)
		}),
		calls("enter another process's network", func(s *Stage) error {
			f, err := os.Open(victimFile("ns/net")(s))
			if err != nil {
				return err
			}
			defer f.Close()
			return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		}),
	}
}

// rights are the probes of rights that it does not have.
func rights() []Probe {
	return []Probe{
		calls("become root", func(*Stage) error { return unix.Setresuid(0, 0, 0) }),
		calls("gain rights by a setuid program", func(*Stage) error {
			if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n == 1 {
				return errHeld
			}
			return nil
		}),
		calls("have capabilities", func(*Stage) error {
			text, err := os.ReadFile("/proc/self/status")
			if err != nil || strings.Contains(string(text), "CapEff:\t0000000000000000") {
				return errors.Join(errHeld, err)
			}
			return nil
		}),
		calls("mount a file system", func(s *Stage) error {
			dir := filepath.Join(s.Home, "mnt")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
				return err
			}
			return unix.Unmount(dir, unix.MNT_DETACH)
		}),
		calls("take a wall's mount away", func(s *Stage) error {
			return unix.Unmount(s.Repo+"/.agents", unix.MNT_DETACH)
		}),
		calls("make namespaces", func(*Stage) error {
			cmd := exec.Command("/bin/true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
			return cmd.Run()
		}),
		calls("change its root folder", func(s *Stage) error { return unix.Chroot(s.Home) }),
	}
}

// kernel are the probes of kernel services.
func kernel() []Probe {
	return []Probe{
		calls("rename the machine", func(*Stage) error {
			name, err := os.Hostname()
			if err != nil {
				return err
			}
			return unix.Sethostname([]byte(name))
		}),
		calls("set the clock", func(*Stage) error {
			var t unix.Timex
			t.Modes = unix.ADJ_OFFSET_SINGLESHOT // by nothing
			_, err := unix.Adjtimex(&t)
			return err
		}),
		calls("use the kernel's keyrings", func(*Stage) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
			return err
		}),
		calls("load a BPF program", func(*Stage) error {
			attr := [16]uint32{2, 4, 4, 1} // a map of one element
			return raw(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		}),
		calls("watch the machine's counters", func(*Stage) error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE,
				Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
			_, err := unix.PerfEventOpen(&attr, -1, 0, -1, 0)
			return err
		}),
		calls("handle page faults", func(*Stage) error { return raw(unix.SYS_USERFAULTFD, 1) }),
		calls("make calls by io_uring", func(*Stage) error {
			var params [120]byte
			return raw(unix.SYS_IO_URING_SETUP, 2, uintptr(unsafe.Pointer(&params)))
		}),
		calls("type into a terminal", typeInto),
		{Name: "use a descriptor that was left open", Alone: true, try: leftOpen},
	}
}

// bounds are the probes of the limits on time and resources.
func bounds() []Probe {
	return []Probe{
		{Name: "kill a process", Anybody: true, try: func(s *Stage) error {
			return unix.Kill(s.Victim, unix.SIGKILL)
		},
			seen: (*Stage).victimDies},
		{Name: "outlive its run", Anybody: true, Alone: true, try: func(s *Stage) error {
			lock, err := os.OpenFile(filepath.Join(s.Home, "alive"), os.O_CREATE|os.O_RDWR, 0o600)
			if err != nil {
				return err
			}
			if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
				return err
			}
			cmd := exec.Command("sleep", "30")
			cmd.ExtraFiles = []*os.File{lock}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			return cmd.Start()
		}, seen: func(s *Stage) bool {
			f, err := os.OpenFile(filepath.Join(s.Home, "alive"), os.O_RDWR, 0)
			if err != nil {
				return false
			}
			defer f.Close()
			return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
		}},
		{Name: "start more processes than it may", Anybody: true, Alone: true, try: forks},
		{Name: "take more memory than it may", Anybody: true, Alone: true, try: func(s *Stage) error {
			memory := make([]byte, 2*s.Memory)
			for i := 0; i < len(memory); i += 4096 {
				memory[i] = 1
			}
			return nil
		}},
		{Name: "fill the memory with files", Anybody: true, Alone: true, try: func(s *Stage) error {
			f, err := os.CreateTemp("", s.Name)
			if err != nil {
				return err
			}
			defer os.Remove(f.Name())
			for block := make([]byte, 1<<20); ; {
				if info, err := f.Stat(); err != nil || info.Size() >= 2*s.Memory {
					return errors.Join(err, f.Close())
				}
				if _, err := f.Write(block); err != nil {
					return errors.Join(err, f.Close())
				}
			}
		}},
	}
}

// forks starts twice as many processes as allowed, and ends them.
func forks(s *Stage) error {
	var started []*exec.Cmd
	defer func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
		}
		for _, cmd := range started {
			_ = cmd.Wait() // killed
		}
	}()
	for i := range 2 * s.Forks {
		cmd := exec.Command("sleep", "20")
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("after %d: %w", i, err)
		}
		started = append(started, cmd)
	}
	return nil
}

// typeInto puts a letter into the input of a terminal, as if typed.
func typeInto(*Stage) error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	letter := byte('x')
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer slave.Close()
	return raw(unix.SYS_IOCTL, slave.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
}

// leftOpen looks for inherited descriptors beyond the first three.
func leftOpen(*Stage) error {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		to, err := os.Readlink("/proc/self/fd/" + name)
		own := strings.HasPrefix(to, "anon_inode:") || name == fmt.Sprint(dir.Fd())
		if err == nil && !own && name != "0" && name != "1" && name != "2" {
			return nil
		}
	}
	return errHeld
}
