package supervise

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// attributes make a stage the leader of its own group, so that a terminal's ^C
// reaches only us, and have it end when we do, however we do.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// startOf is when a process began, in clock ticks since boot; 0 when it is gone.
func startOf(pid int) uint64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in brackets, may hold anything; field 22 is counted behind it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// memory is what a process holds in memory, in bytes.
func memory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// held reports whether a process holds the flock(2) on a file, by the kernel's
// table (proc(5)).
func held(path string, pid int) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return true // nobody can know; it is there
	}
	defer f.Close()
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		l := strings.Fields(lines.Text())
		if len(l) > 5 && l[1] == "FLOCK" && l[4] == strconv.Itoa(pid) && strings.HasSuffix(l[5], inode) {
			return true
		}
	}
	return false
}
