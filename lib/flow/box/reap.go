package box

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tri/lib/record/run"
)

// reap kills processes of a run that outlived its supervisor: without a sandbox a process can leave its
// group and stay. They are recognized by the run's lock, which they inherited; while they hold it the run
// cannot end. If a process of this same program holds the lock, the run is supervised and nothing is
// killed.
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
			_ = p.Kill() // gone already, or not permitted: the lock will show
		}
		time.Sleep(5 * time.Millisecond) // until the kernel has removed them
	}
}

// holders returns the processes that have a file open. Processes of other users cannot be inspected and
// are skipped.
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
		p, err := os.FindProcess(pid) // as a handle, which cannot refer to a later process with this id
		if to, again := os.Readlink(fd); err == nil && again == nil && to == file {
			found = append(found, p)
		}
	}
	return found
}

// ours reports whether a process runs the same program as this one.
func ours(pid int) bool {
	mine, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return true
	}
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	// A program file that was replaced in the meantime still counts.
	return err == nil && strings.TrimSuffix(its, " (deleted)") == strings.TrimSuffix(mine, " (deleted)")
}
