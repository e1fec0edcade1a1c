package git

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk merges on a disk with ever less room: all or nothing, each time.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a small disk")
	}
	r, base, p, after := fixed(t)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no small disk:", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	if out, err := exec.Command("cp", "-a", r.Root+"/.git", disk).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	run(t, disk, "reset", "-q", "--hard")
	small, err := Open(t.Context(), disk, r.scratch)
	if err != nil {
		t.Fatal(err)
	}
	before, full, done := dropFolders(read(t, disk)), 0, 0
	for room := 0; done == 0 && room < 60; room++ {
		fill := filepath.Join(disk, ".git/fill")
		leave(t, disk, fill, room*4096)
		_, err := small.Apply(t.Context(), p, small.merge(base))
		os.Remove(fill)
		want := before
		if err == nil {
			want = after
			done++
		} else {
			full++
		}
		if got := dropFolders(read(t, disk)); !maps.Equal(got, want) {
			t.Fatalf("%d pages left, %v: %q", room, err, got)
		}
		if _, err := os.Lstat(filepath.Join(disk, ".agents/runs/run1/merge")); err == nil {
			t.Fatalf("%d pages left, %v: the journal stays", room, err)
		}
	}
	if full < 5 || done != 1 {
		t.Errorf("%d times full, %d done", full, done)
	}
}

// leave fills a disk but for some bytes.
func leave(t *testing.T, disk, file string, bytes int) {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(disk, &st); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, int(st.Bavail)*int(st.Bsize)-bytes), 0o600); err != nil {
		t.Fatal(fmt.Errorf("fill: %w", err))
	}
}
