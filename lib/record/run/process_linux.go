package run

import (
	"bytes"
	"os"
	"strconv"
)

// ProcessOf is the process that has a number now, with Start 0 where it is gone
// or only waits to be reaped.
func ProcessOf(pid int) Process {
	p, _ := look(pid)
	return p
}

// look also tells the process's state, as proc(5) has it; 0 where it is gone.
func look(pid int) (p Process, state byte) {
	p = Process{PID: pid}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, 0
	}
	// The name, in brackets, may hold anything: what counts comes behind its end.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return p, 0
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return p, 0
	}
	p.Start = start
	return p, fields[0][0]
}

// Stopped reports whether this very process is there and has been stopped, by a
// signal or a debugger.
func (p Process) Stopped() bool {
	_, state := look(p.PID)
	return p.Alive() && (state == 'T' || state == 't')
}

// Alive reports whether this very process still runs.
func (p Process) Alive() bool {
	now := ProcessOf(p.PID)
	return p.PID > 0 && now.Start != 0 && (p.Start == 0 || now.Start == p.Start)
}
