package durable

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// traced are the durable operations, in order, with the system calls that each must have made when
// it returns. Data not synced by them would be lost in a power cut.
var traced = []struct {
	name string
	do   func(h *Home) error
	want string
}{
	{"a file replaced in a new folder", func(h *Home) error { return h.Replace("a/b/k", []byte("x")) },
		"mkdir a, fsync home, mkdir b, fsync a, write .k.PID, fsync .k.PID, rename .k.PID k, fsync b"},
	{"replaced again", func(h *Home) error { return h.Replace("a/b/k", []byte("y")) },
		"write .k.PID, fsync .k.PID, rename .k.PID k, fsync b"},
	{"at the top", func(h *Home) error { return h.Replace("top", []byte("z")) },
		"write .top.PID, fsync .top.PID, rename .top.PID top, fsync home"},
	{"moved", func(h *Home) error { return h.Move("a/b/k", "c/k") },
		"mkdir c, fsync home, rename k k, fsync c, fsync b"},
	{"removed", func(h *Home) error { return h.Remove("c/k") },
		"unlink k, fsync c"},
	{"nothing to remove", func(h *Home) error { return h.Remove("c/k") },
		"unlink k, unlink k"},
	{"a new log", func(h *Home) error { return withLog(h, func(*Log) error { return nil }) },
		"fsync c"},
	{"appended", func(h *Home) error {
		return withLog(h, func(l *Log) error { _, err := l.Append(line("one")); return err })
	}, "fsync c, flock LOCK_EX, write log, flock LOCK_UN, fsync log, flock LOCK_EX|LOCK_NB, write .log.sum, flock LOCK_UN"},
	{"nothing appended", func(h *Home) error {
		return withLog(h, func(l *Log) error {
			_, err := l.Append(func(int64) ([]byte, error) { return nil, nil })
			return err
		})
	}, "fsync log, flock LOCK_EX, flock LOCK_UN, fsync log, flock LOCK_EX|LOCK_NB, flock LOCK_UN"},
	{"written", func(h *Home) error {
		return withLog(h, func(l *Log) error { _, err := l.Write(line("two")); return err })
	}, "fsync log, flock LOCK_EX, write log, flock LOCK_UN"},
	{"a torn tail cut", func(h *Home) error {
		if err := os.Truncate(h.Path("c/log"), 6); err != nil {
			return err
		}
		return withLog(h, func(l *Log) error { _, err := l.Append(line("three")); return err })
	}, "fsync log, flock LOCK_EX, truncate log, write log, flock LOCK_UN, fsync log, flock LOCK_EX|LOCK_NB, write .log.sum, flock LOCK_UN"},
	{"what somebody else wrote", func(h *Home) error { return h.Sync("c/log") },
		"fsync log"},
	{"a home in a new folder", func(h *Home) error {
		other, err := Open(h.Path("d/other")) // mkdir is asked for by the whole path, and not seen
		if err != nil {
			return err
		}
		return other.Close()
	}, "fsync home, fsync d"},
}

func withLog(h *Home, do func(*Log) error) error {
	l, err := h.OpenLog("c/log")
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}

const tracedHome = "TRI_DISK_TRACED"

// TestTraced is what TestSyncs looks at: between two operations it asks for a
// folder that is not there, by name.
func TestTraced(t *testing.T) {
	dir := os.Getenv(tracedHome)
	if dir == "" {
		t.Skip("only below TestSyncs")
	}
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range traced {
		_ = os.Chdir("/no folder/" + tt.name) // fails, and is seen
		if err := tt.do(h); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	_ = os.Chdir("/no folder/end")
}

var call = regexp.MustCompile(`^\d+ +(\w+)\((.*?)(\) += .*| <unfinished \.\.\.>)$`)

// TestSyncs: every durable operation syncs the file before its name, and the folder
// behind it. What the kernel was asked for is seen by strace.
func TestSyncs(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	home, trace := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(strace, "-f", "-y", "-o", trace, "-e",
		"trace=chdir,mkdirat,fsync,write,pwrite64,renameat,renameat2,unlinkat,flock,ftruncate",
		os.Args[0], "-test.run", "^TestTraced$")
	cmd.Env = append(os.Environ(), tracedHome+"="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "PTRACE") {
			t.Skipf("strace may not trace here: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	at := ""
	for l := range strings.SplitSeq(string(text), "\n") {
		m := call.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		if m[1] == "chdir" {
			at = strings.TrimSuffix(strings.TrimPrefix(m[2], `"/no folder/`), `"`)
		} else if said := told(m[1], m[2], home); said != "" && at != "" && at != "end" {
			got[at] = append(got[at], said)
		}
	}
	for _, tt := range traced {
		if got := strings.Join(got[tt.name], ", "); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

var (
	quoted = regexp.MustCompile(`"([^"]*)"`)
	opened = regexp.MustCompile(`<([^>]*)>`)
	number = regexp.MustCompile(`\.\d+$`)
)

// told summarizes a system call, "" if it is about nothing below the home.
func told(name, args, home string) string {
	file := opened.FindStringSubmatch(args)
	if file == nil || !strings.HasPrefix(file[1], home) {
		return ""
	}
	short := func(path string) string { return number.ReplaceAllString(filepath.Base(path), ".PID") }
	name = strings.TrimPrefix(strings.TrimRight(name, "at2"), "f")
	switch name {
	case "sync":
		return "fsync " + short(file[1])
	case "lock":
		return "flock " + args[strings.LastIndexByte(args, ' ')+1:]
	case "write", "pwrite64":
		return "write " + short(file[1])
	case "trunc", "truncate":
		return "truncate " + short(file[1])
	}
	for _, q := range quoted.FindAllStringSubmatch(args, -1) {
		name += " " + short(q[1])
	}
	return name
}
