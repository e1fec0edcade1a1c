package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// environment is bubblewrap's own: it contains no variable of the program's, which may be
// untrusted (LD_PRELOAD).
func (b *Box) environment() []string { return []string{"PATH=" + os.Getenv("PATH")} }

// arguments returns bubblewrap's arguments.
func (b *Box) arguments() ([]string, error) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 { // inside only; outside it owns root's files without root's rights
		uid, gid = 1000, 1000
	}
	args := []string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
		"--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
		"--uid", strconv.Itoa(uid), "--gid", strconv.Itoa(gid),
		"--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/var",
	}
	for _, at := range []string{"/dev/shm", "/tmp"} { // in memory
		if sizes(b.bwrap) {
			args = append(args, "--size", strconv.FormatInt(b.spec.memory(), 10))
		}
		args = append(args, empty, at)
	}
	shown, last := b.plan.arguments()
	args = append(args, shown...)
	home := b.spec.Home
	if home == "" {
		home = "/tmp"
	}
	files := []struct{ at, text string }{
		{"/etc/passwd", fmt.Sprintf("agent:x:%d:%d:agent:%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", uid, gid, strings.Map(plainName, home))},
		{"/etc/group", fmt.Sprintf("agent:x:%d:\nnogroup:x:65534:\n", gid)},
		{"/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
		{"/etc/nsswitch.conf",
			"passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"},
	}
	for _, config := range b.plan.configs {
		if text, err := readSome(config, maxSettings); err == nil {
			files = append(files, struct{ at, text string }{config, string(plainConfig(text))})
		}
	}
	for _, f := range files {
		data, err := memory(f.text)
		if err != nil {
			return nil, fmt.Errorf("prepare %q: %w", f.at, err)
		}
		b.ours = append(b.ours, data)
		args = append(args, "--ro-bind-data", strconv.Itoa(2+len(b.ours)), f.at)
	}
	// Root's kernel settings belong to root outside, whatever its user id in here.
	last = append(last, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")
	return append(append(args, "--ro-bind", b.helper, HelperAt), last...), nil
}

// versions caches the version of each bubblewrap.
var versions sync.Map

// sizes reports whether this bubblewrap can limit the size of a tmpfs: version 0.7.0 or later.
func sizes(bwrap string) bool {
	v, known := versions.Load(bwrap)
	if !known {
		out, _ := exec.Command(bwrap, "--version").Output() // without output it is taken for an old version
		v = strings.TrimPrefix(strings.TrimSpace(string(out)), "bubblewrap ")
		versions.Store(bwrap, v)
	}
	major, rest, _ := strings.Cut(v.(string), ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return major != "" && major != "0" || err == nil && n >= 7
}

// plainName replaces characters that would break a line of passwd.
func plainName(r rune) rune {
	if r == ':' || r < ' ' {
		return '_'
	}
	return r
}

// memory returns an anonymous file that contains text.
func memory(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("tri", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
