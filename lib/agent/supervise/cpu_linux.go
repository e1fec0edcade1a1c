package supervise

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of times in /proc: USER_HZ, which is always 100 per second.
const clockTick = 10 * time.Millisecond

// CPUTime returns the CPU time of a process and its descendants, including those that have ended
// and been waited for.
func CPUTime(pid int) time.Duration {
	names, err := readNames("/proc")
	if err != nil {
		return 0
	}
	type proc struct {
		parent int
		used   time.Duration
	}
	all := map[int]proc{}
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, used, ok := stat(name); ok {
			all[id] = proc{parent, used}
		}
	}
	var sum time.Duration
	for id, p := range all {
		for at, depth := id, 0; at > 0 && depth < 64; at, depth = all[at].parent, depth+1 {
			if at == pid {
				sum += p.used
				break
			}
		}
	}
	return sum
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// stat reads the parent and the times (fields 4 and 14 to 17 of proc_pid_stat(5)).
func stat(pid string) (parent int, used time.Duration, ok bool) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from field 3
	if len(fields) < 15 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, 0, false
	}
	for _, f := range fields[11:15] {
		ticks, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, 0, false
		}
		used += time.Duration(ticks) * clockTick
	}
	return parent, used, true
}
