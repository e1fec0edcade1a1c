package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// limits are the limits on all processes of a run together: control groups, if we may create them.
type limits struct {
	kind string
	dirs []string // created for this run: one of version 2, or those of memory and pids
}

// groupPrefix begins the name of every group that we create; the creator's process id follows.
const groupPrefix = "tri-"

// newLimits creates the groups. Failure is not an error: kind reports it.
func newLimits(memory int64, processes int) *limits {
	name := fmt.Sprintf("%s%d-%s", groupPrefix, os.Getpid(), strings.ToLower(rand.Text()[:8]))
	set := map[string]string{"memory.max": strconv.FormatInt(memory, 10), "pids.max": strconv.Itoa(processes)}
	for _, parent := range parentsV2() {
		if dir, err := makeGroup(parent, name, unix.CGROUP2_SUPER_MAGIC, set); err == nil {
			// missing in a kernel without swap
			_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0)
			return &limits{CgroupV2, []string{dir}}
		}
	}
	l := &limits{kind: CgroupV1}
	for controller, set := range map[string]map[string]string{
		"memory": {"memory.limit_in_bytes": set["memory.max"]}, "pids": {"pids.max": set["pids.max"]},
	} {
		dir, err := makeGroup(parentV1(controller), name, unix.CGROUP_SUPER_MAGIC, set)
		if err != nil {
			l.remove()
			return &limits{kind: Rlimits}
		}
		if controller == "memory" { // together with swap, if that is counted
			_ = os.WriteFile(filepath.Join(dir, "memory.memsw.limit_in_bytes"),
				[]byte(set["memory.limit_in_bytes"]), 0)
		}
		l.dirs = append(l.dirs, dir)
	}
	return l
}

// makeGroup creates a group below parent, and sets its limits. A folder can be created on any file
// system and limits nothing, so makeGroup checks the kind of file system, and that the limit files
// exist.
func makeGroup(parent, name string, magic int64, set map[string]string) (dir string, err error) {
	var fs unix.Statfs_t
	if parent == "" {
		return "", errors.New("no such hierarchy")
	}
	if err := unix.Statfs(parent, &fs); err != nil {
		return "", err
	}
	if int64(fs.Type) != magic {
		return "", fmt.Errorf("%s is not a control group", parent)
	}
	clean(parent)
	dir = filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for file, value := range set {
		if err := writeExisting(filepath.Join(dir, file), value); err != nil {
			return "", errors.Join(err, os.Remove(dir))
		}
	}
	return dir, nil
}

func writeExisting(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// clean removes groups whose creator was killed. A group in use cannot be removed.
func clean(parent string) {
	old, err := filepath.Glob(filepath.Join(parent, groupPrefix+"*-*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		maker, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		if pid, err := strconv.Atoi(maker); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = os.Remove(dir) // a group in use stays
		}
	}
}

// parentsV2 returns the groups of version 2 in which we might create one: our own and its
// ancestors, if their children are limited in memory and processes.
func parentsV2() (dirs []string) {
	mount, root := hierarchy("cgroup2", "")
	path, ok := ownGroup("")
	if mount == "" || !ok {
		return nil
	}
	top := mount
	for dir := filepath.Join(mount, strings.TrimPrefix(path, root)); below(top,
		dir); dir = filepath.Dir(dir) {
		counted, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		words := strings.Fields(string(counted))
		if err == nil && slices.Contains(words, "memory") && slices.Contains(words, "pids") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// parentV1 returns our own group in the hierarchy of one controller.
func parentV1(controller string) string {
	mount, root := hierarchy("cgroup", controller)
	path, ok := ownGroup(controller)
	if mount == "" || !ok {
		return ""
	}
	return filepath.Join(mount, strings.TrimPrefix(path, root))
}

// hierarchy returns where a kind of file system is mounted, and which part of it.
func hierarchy(kind, controller string) (mount, root string) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", ""
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 || right[0] != kind {
			continue
		}
		if controller == "" || slices.Contains(strings.Split(right[2], ","), controller) {
			return left[4], strings.TrimSuffix(left[3], "/")
		}
	}
	return "", ""
}

// ownGroup returns the group of this process; controller "" means version 2.
func ownGroup(controller string) (string, bool) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) == 3 && (controller == "" && f[0] == "0" ||
			controller != "" && slices.Contains(strings.Split(f[1], ","), controller)) {
			return f[2], true
		}
	}
	return "", false
}

// admit puts a process, and so its children, under the limits.
func (l *limits) admit(pid int) error {
	for _, dir := range l.dirs {
		if err := writeExisting(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("limit memory and processes: %w", err)
		}
	}
	return nil
}

// killed reports whether the kernel has killed a process for its memory use.
func (l *limits) killed() bool {
	for _, dir := range l.dirs {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue
			}
			for line := range strings.SplitSeq(string(text), "\n") {
				if count, found := strings.CutPrefix(line, "oom_kill "); found && count != "0" {
					return true
				}
			}
		}
	}
	return false
}

// remove removes the groups. The kernel releases them a moment after their last process has ended;
// a later run removes any that remain.
func (l *limits) remove() {
	for _, dir := range l.dirs {
		for range 50 {
			if err := os.Remove(dir); !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// setRlimits limits this process, and the program it becomes: core files are off in any case, and
// without a group for all processes together, memory and processes are limited. The kernel exempts
// root from the process limit.
func setRlimits(memory int64, processes int) error {
	set := map[int]uint64{unix.RLIMIT_CORE: 0}
	if memory > 0 {
		set[unix.RLIMIT_DATA], set[unix.RLIMIT_NPROC] = uint64(memory), uint64(processes)
	}
	for what, most := range set {
		var now unix.Rlimit
		if err := unix.Getrlimit(what, &now); err != nil {
			return fmt.Errorf("read limits: %w", err)
		}
		most = min(most, now.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("set limits: %w", err)
		}
	}
	return nil
}
