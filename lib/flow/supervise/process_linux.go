package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// attributes make a stage the leader of its own process group, so that ^C at a terminal reaches only the
// supervisor, and end it when the supervisor ends in any way.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// memory returns the memory of a process, in bytes, 0 if unknown.
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
