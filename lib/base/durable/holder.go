package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"tri/lib/base/sysexit"
)

// Holder returns the process that holds the lock called name, and whether one does. It reads the
// kernel's lock table: trying the lock could make a program that is just starting believe that
// another one runs. On a system without such a table the error is errors.ErrUnsupported.
func (h *Home) Holder(name string) (pid int, held bool, err error) {
	info, err := h.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, ioError("look at lock", name, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false, fmt.Errorf("look at lock %q: no inode: %w", name, errors.ErrUnsupported)
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0, false, fmt.Errorf("look at lock %q: %w: %w", name, errors.ErrUnsupported, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if pid, ok := flockOn(lines.Text(), st.Ino); ok {
			return pid, true, nil
		}
	}
	return 0, false, sysexit.With(sysexit.IO, lines.Err())
}

// flockOn parses a line of /proc/locks (proc(5)) such as "1: FLOCK  ADVISORY  WRITE 708
// 08:02:1048580 0 EOF". Devices are not compared: overlay and btrfs report another device there
// than stat does.
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
