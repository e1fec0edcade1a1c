package health

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"tri/lib/disk"
)

// holder says which process holds a lock. It reads the kernel's table instead of
// trying the lock, which could make a stage that just starts believe that another
// one runs.
func (x *examination) holder(lock string) (pid int, held bool, err error) {
	info, err := x.home.Root().Stat(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look at lock: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false, fmt.Errorf("look at lock %q: no inode", lock)
	}
	f, err := os.Open("/proc/locks")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, x.probe(lock), nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look at locks: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if pid, ok := flockOn(lines.Text(), st.Ino); ok {
			return pid, true, nil
		}
	}
	return 0, false, nil
}

// flockOn reads a line of /proc/locks (proc(5)) such as
// "1: FLOCK  ADVISORY  WRITE 708 08:02:1048580 0 EOF". Devices are not compared:
// overlay and btrfs tell another one there than stat does.
func flockOn(line string, inode uint64) (pid int, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "FLOCK" {
		return 0, false
	}
	parts := strings.Split(f[5], ":")
	if parts[len(parts)-1] != strconv.FormatUint(inode, 10) {
		return 0, false
	}
	pid, err := strconv.Atoi(f[4])
	return pid, err == nil
}

// probe tries a lock, where there is no table to read.
func (x *examination) probe(lock string) (held bool) {
	l, err := x.home.TryLock(lock)
	if err != nil {
		return errors.Is(err, disk.ErrLocked)
	}
	return l.Unlock() != nil
}

// stopped reports whether a process does nothing because somebody stopped it: ^Z,
// SIGSTOP, a debugger (proc(5), the state behind the name).
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(rest) > 0 && (rest[0] == 'T' || rest[0] == 't')
}
