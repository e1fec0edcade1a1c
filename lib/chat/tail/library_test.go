package tail

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestNotices: where the kernel gives no instance of inotify, which would end the
// process inside the library, it is known before.
func TestNotices(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	if notices(name) {
		t.Error("a file that is not there gives notices")
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !notices(name) {
		t.Skip("this machine has no inotify instance left")
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	if notices(name) {
		t.Error("without a descriptor left there are notices")
	}
}

// TestFollowFile: whole lines come, with the offset behind each, from the offset on.
func TestFollowFile(t *testing.T) {
	for _, poll := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "log")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fmt.Fprint(f, "one\ntwo\nth")
		x, err := follow(name, 4, poll)
		if err != nil {
			t.Fatal(err)
		}
		next := func(text string, offset int64) {
			t.Helper()
			select {
			case l := <-x.Lines:
				if l.Text != text || l.SeekInfo.Offset != offset {
					t.Errorf("%q at %d, want %q at %d", l.Text, l.SeekInfo.Offset, text, offset)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%q never came", text)
			}
		}
		next("two", 8)
		fmt.Fprint(f, "ree\n")
		if !poll { // the library may have read, and not yet asked for notice
			time.AfterFunc(200*time.Millisecond, func() { _ = os.Chtimes(name, time.Now(), time.Now()) })
		}
		next("three", 14)
		if err := x.Stop(); err != nil {
			t.Error(err)
		}
	}
}
