package box

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tri/lib/record/run"
)

// reap ends the processes of a run that outlived its supervisor: without a sandbox
// one can leave its group and stay. They are known by the run's lock, which they
// inherited; as long as they hold it the run cannot end. Where one of our own
// programs holds the lock, the run is in good hands.
func (b *Box) reap(name string, s run.State) {
	if s.Owner.Alive() {
		return
	}
	lock := filepath.Join(b.dir(name), "lock")
	for range 20 {
		left := holders(lock)
		for _, p := range left {
			if ours(p.Pid) {
				return
			}
		}
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			_ = p.Kill() // gone already, or not ours to end: the lock tells
		}
		time.Sleep(5 * time.Millisecond) // for the kernel to take them away
	}
}

// holders are the processes that have a file open. What cannot be looked at is not
// of this user.
func holders(file string) []*os.Process {
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil
	}
	var found []*os.Process
	seen := map[int]bool{os.Getpid(): true}
	for _, fd := range fds {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(fd))))
		if err != nil || seen[pid] {
			continue
		}
		if to, err := os.Readlink(fd); err != nil || to != file {
			continue
		}
		seen[pid] = true
		p, err := os.FindProcess(pid) // by a handle, which no later process of this number gets
		if to, again := os.Readlink(fd); err == nil && again == nil && to == file {
			found = append(found, p)
		}
	}
	return found
}

// ours reports whether a process runs the program that this one does.
func ours(pid int) bool {
	mine, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return true
	}
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	// A program that was replaced meanwhile is still ours.
	return err == nil && strings.TrimSuffix(its, " (deleted)") == strings.TrimSuffix(mine, " (deleted)")
}
