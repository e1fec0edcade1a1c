package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes make the program the leader of its own group, and have the kernel kill it when this
// process dies for any reason.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// given returns a sealed memory file that contains text and cannot be changed.
func given(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("prompt", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "prompt")
	_, err = f.WriteString(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
			unix.F_SEAL_SEAL|unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	}
	return f, err
}

// awaitDeath returns when the process has died, without reaping it. It reports whether it could
// wait.
func awaitDeath(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// sweep kills processes that left the group but still carry the run's mark in their environment,
// and those that they start meanwhile.
func sweep(mark string) {
	for range 20 {
		if !kill(mark) {
			return
		}
		time.Sleep(5 * time.Millisecond) // until the kernel has removed them
	}
}

func kill(mark string) (found bool) {
	envs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return false
	}
	for _, name := range envs {
		env, err := os.ReadFile(name) // unreadable or gone: not of this run
		if err != nil || !bytes.Contains(env, []byte(mark)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && pid != os.Getpid() {
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
	}
	return found
}
