package run

import (
	"bytes"
	"os"
	"strconv"
)

// ProcessOf is the process that has a number now, with Start 0 where it is gone
// or only waits to be reaped.
func ProcessOf(pid int) Process {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{PID: pid}
	}
	// The name, in brackets, may hold anything: what counts comes behind its end.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return Process{PID: pid}
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return Process{PID: pid}
	}
	return Process{PID: pid, Start: start}
}

// Alive reports whether this very process still runs.
func (p Process) Alive() bool {
	now := ProcessOf(p.PID)
	return p.PID > 0 && now.Start != 0 && (p.Start == 0 || now.Start == p.Start)
}
