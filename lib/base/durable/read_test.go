package durable

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestReplaced: what a program has put in the place of a file is refused at once.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for name, text := range map[string]string{"file": "text", "empty": ""} {
		if err := h.Replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	huge, err2 := os.Create(filepath.Join(dir, "huge"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), huge.Truncate(1<<40), huge.Close(),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700), os.Symlink("pipe", filepath.Join(dir, "link")),
		os.Symlink("/dev/zero", filepath.Join(dir, "device"))); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // a read that waits for a pipe's writer is the fault
	go func() {
		defer close(done)
		for name, want := range map[string]error{"file": nil, "empty": nil, "missing": fs.ErrNotExist,
			"pipe": ErrNotFile, "link": ErrNotFile, "socket": ErrNotFile, "folder": ErrNotFile,
			"huge": syscall.EFBIG} {
			b, err := h.ReadFile(name)
			path, errPath := ReadPath(filepath.Join(dir, name))
			if !errors.Is(err, want) || !errors.Is(errPath, want) || string(b) != string(path) ||
				name == "file" && string(b) != "text" {
				t.Errorf("%s: %q, %v; %q, %v", name, b, err, path, errPath)
			}
			if want == ErrNotFile {
				if err := h.Lines(name, 0, func([]byte) error { return nil }); !errors.Is(err, want) {
					t.Errorf("lines of %s: %v", name, err)
				}
			}
		}
		if _, err := h.ReadFile("device"); err == nil {
			t.Error("a link leads out of the folder")
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
}
