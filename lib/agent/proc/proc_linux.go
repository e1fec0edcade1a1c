package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
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
// and those that they start meanwhile, for up to drain.
func sweep(mark string) {
	dead := map[string]bool{}
	for end := time.Now().Add(drain); kill(mark, dead) && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // until the kernel has removed them
	}
}

// kill kills the marked processes. It reports whether there may be more: it found one, one is executing
// a program and has no environment yet, or one has ended since the last look, recorded in dead, and may
// have forked before.
func kill(mark string, dead map[string]bool) (again bool) {
	proc, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)             // those read before an error
	for _, name := range slices.Backward(names) { // the newest first: they are listed last
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ")
		switch {
		case errors.Is(err, os.ErrPermission): // another user's
		case len(env) == 0: // or an error
			again = changing(name, dead) || again
		case bytes.Contains(env, []byte(mark)):
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already, or not permitted
			again = true
		}
	}
	return again
}

// changing reports whether a process whose environment cannot be read has just ended, or has memory into
// which the kernel has not yet written one: fields 23 and 51 of proc_pid_stat(5).
func changing(pid string, dead map[string]bool) bool {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat") // nothing if it is gone
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) <= 48 || string(f[20]) == "0" { // or one of the kernel's own, each time
		known := dead[pid]
		dead[pid] = true
		return !known
	}
	return string(f[48]) == "0"
}
