package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// forgetCode gives back the pages of the program's own file that were looked at: the
// code and tables that only its beginning needed, and what the kernel maps around
// them unasked, two thirds of what such a program has resident. What is needed again
// is mapped again, from the page cache, in a microsecond. Where that is not to be,
// they stay.
func forgetCode() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for in := bufio.NewScanner(maps); in.Scan(); {
		if from, to, ok := readOnly(in.Text(), exe); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}

// readOnly is where a line of /proc/self/maps says that a file is mapped so that
// nobody can have changed it: what is given back there can be read again.
func readOnly(line, file string) (from, to uintptr, ok bool) {
	var perms string
	if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perms); n < 3 || len(perms) != 4 || perms[0] != 'r' || perms[1] != '-' {
		return 0, 0, false
	}
	return from, to, strings.HasSuffix(line, " "+file) && from < to
}
