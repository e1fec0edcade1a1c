package health

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tri/lib/disk"
	"tri/lib/sysexit"
)

// The files of a home that this room looks at, each owned by the stage that it
// names.
const (
	eventsName     = "events.ndjson"
	threadedName   = "events-threaded.ndjson" // where tri-thread runs at all
	classifiedName = "events-classified.ndjson"
	beatName       = "watch.json"
	markName       = "dispatch.json"
)

// stages are the programs that run for as long as a team does, with the lock that
// each holds while it lives.
var stages = []struct{ name, lock, start string }{
	{"tri-watch", "locks/watch", "tri-watch mattermost, or local DIR"},
	{"tri-thread", "." + threadedName + ".lock", "tri-thread --follow --out events-threaded.ndjson events.ndjson"},
	{"tri-classify", "." + classifiedName + ".lock", "tri-classify --follow --out events-classified.ndjson events.ndjson"},
	{"tri-dispatch", "locks/dispatch", "tri-dispatch events-classified.ndjson"},
	{"tri-reply", "locks/reply", "tri-reply"},
}

// alive says which stages run: who holds a lock lives, the kernel knows no other
// state. A stage may be meant not to run, so its absence is no failure.
func (x *examination) alive() {
	for _, s := range stages {
		pid, held, err := x.holder(s.lock)
		switch {
		case err != nil:
			x.failed(s.name, "", err)
		case !held && s.name == "tri-thread" && !x.home.Exists(threadedName): // platforms with threads need none
		case !held:
			x.warn(s.name, s.start, "does not run")
		case s.name == "tri-watch":
			x.watching(pid)
		default:
			x.ok(s.name, "runs, process %d", pid)
		}
	}
}

// beat is what tri-watch writes of itself.
type beat struct {
	PID            int     `json:"pid"`
	Source         string  `json:"source"`
	StartedAt      string  `json:"started_at"`
	ConnectedSince *string `json:"connected_since"`
	LastEventAt    *string `json:"last_event_at"`
	BeatAt         string  `json:"beat_at"`
}

// silent is how long a heartbeat may be old: it comes every 10 s.
const silent = 45 * time.Second

func (x *examination) watching(pid int) {
	var b beat
	text, err := x.home.ReadFile(beatName)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	at, bad := time.Parse(time.RFC3339, b.BeatAt)
	switch age := x.Now().Sub(at); {
	case err != nil || bad != nil:
		x.warn("tri-watch", "wait a moment, or look at its stderr", "runs, process %d, and no heartbeat can be read", pid)
	case age > silent:
		x.fail("tri-watch", "look at its stderr; end it and start it again", "runs, process %d, and is silent since %s", pid, ago(age))
	case b.ConnectedSince == nil:
		x.fail("tri-watch", "look at its stderr: it tries again by itself", "runs, process %d, and is not connected to %s", pid, b.Source)
	default:
		last := "no event yet"
		if b.LastEventAt != nil {
			if at, err := time.Parse(time.RFC3339, *b.LastEventAt); err == nil {
				last = "last event " + ago(x.Now().Sub(at)) + " ago"
			}
		}
		x.ok("tri-watch", "runs, process %d, connected to %s, %s", pid, b.Source, last)
	}
}

// holder says which process holds a lock. It reads the kernel's table instead of
// trying the lock, which could make a stage that just starts believe that another
// one runs.
func (x *examination) holder(lock string) (pid int, held bool, err error) {
	info, err := x.home.Root().Stat(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look at lock: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false, fmt.Errorf("look at lock %q: no inode", lock)
	}
	f, err := os.Open("/proc/locks")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, x.probe(lock), nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look at locks: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if pid, ok := flockOn(lines.Text(), st.Ino); ok {
			return pid, true, nil
		}
	}
	return 0, false, nil
}

// flockOn reads a line of /proc/locks (proc(5)) such as
// "1: FLOCK  ADVISORY  WRITE 708 08:02:1048580 0 EOF". Devices are not compared:
// overlay and btrfs tell another one there than stat does.
func flockOn(line string, inode uint64) (pid int, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "FLOCK" {
		return 0, false
	}
	parts := strings.Split(f[5], ":")
	if parts[len(parts)-1] != strconv.FormatUint(inode, 10) {
		return 0, false
	}
	pid, err := strconv.Atoi(f[4])
	return pid, err == nil
}

// probe tries a lock, where there is no table to read.
func (x *examination) probe(lock string) (held bool) {
	l, err := x.home.TryLock(lock)
	if err != nil {
		return errors.Is(err, disk.ErrLocked)
	}
	return l.Unlock() != nil
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

var errCut = sysexit.With(sysexit.Data, errors.New("the log was cut or replaced"))
