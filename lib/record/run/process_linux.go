package run

import (
	"bytes"
	"os"
	"strconv"
)

// ProcessOf returns the process that has the number pid now, with Start 0 if there is none or it
// is a zombie.
func ProcessOf(pid int) Process {
	p, _ := look(pid)
	return p
}

// look also returns the process's state, as in proc(5); 0 if it does not exist.
func look(pid int) (p Process, state byte) {
	p = Process{PID: pid}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, 0
	}
	// The name, in parentheses, may contain anything: the fields follow the last parenthesis.
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

// Stopped reports whether this same process still exists and is stopped, by a signal or a
// debugger.
func (p Process) Stopped() bool {
	_, state := look(p.PID)
	return p.Alive() && (state == 'T' || state == 't')
}

// Alive reports whether this same process still runs.
func (p Process) Alive() bool {
	now := ProcessOf(p.PID)
	return p.PID > 0 && now.Start != 0 && (p.Start == 0 || now.Start == p.Start)
}
