package durable

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tri/lib/base/sysexit"
)

// TestOpenHome: a home that does not exist is not made, and one that others can write to, that belongs
// to somebody else, or in which a pipe is in place of a file, is refused at once.
func TestOpenHome(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	_, err := OpenHome(none)
	status(t, "none", err, sysexit.NoInput)
	if _, err := os.Lstat(none); err == nil {
		t.Error("it was made")
	}
	t.Setenv("TRI_HOME", "")
	t.Setenv("HOME", "")
	t.Chdir(dir)
	_, err = MakeHome("")
	status(t, "without HOME", err, sysexit.Config)
	if _, err := os.Lstat(filepath.Join(dir, ".tri")); err == nil {
		t.Error("a home was made in the working folder")
	}
	made, err := MakeHome(none)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]int{0o700: 0, 0o755: 0, 0o770: sysexit.NoPerm,
		0o707: sysexit.NoPerm, 0o777: sysexit.NoPerm} {
		if err := os.Chmod(none, mode); err != nil {
			t.Fatal(err)
		}
		h, err := OpenHome(none)
		if got, _ := sysexit.Of(err); got != want || (err == nil) != (want == 0) {
			t.Errorf("mode %o: %v", mode, err)
		}
		if h != nil {
			h.Close()
		}
	}
	if err := os.Chmod(none, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"events.ndjson", "config.yaml", "open/k.json", "outbox/x.json"} {
		pipe := filepath.Join(none, name)
		if err := os.MkdirAll(filepath.Dir(pipe), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenHome(none)
		status(t, name, err, sysexit.Data)
		if err := os.Remove(pipe); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(none, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		_, err := OpenHome(none)
		status(t, "another's", err, sysexit.NoPerm)
	}
}
