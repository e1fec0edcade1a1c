package web

import (
	"net"
	"path/filepath"
	"testing"

	"tri/lib/base/sysexit"
)

// TestListenUnix: the socket of a program that listens is left to it; one that a killed process left is
// replaced.
func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.sock")
	first, err := listenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	_, err = listenUnix(path)
	if status, _ := sysexit.Of(err); status != sysexit.Unavailable {
		t.Errorf("of a live program: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := listenUnix(path)
	if err != nil {
		t.Fatalf("left by a dead one: %v", err)
	}
	second.Close()
}
