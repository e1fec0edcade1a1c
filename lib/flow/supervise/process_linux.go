package supervise

import (
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
