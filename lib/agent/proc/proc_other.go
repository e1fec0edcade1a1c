//go:build unix && !linux

package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// attributes make the program the leader of its own group. Only Linux kills the program when this
// process dies.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// given returns an unlinked temporary file that contains text.
func given(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "prompt-*.md")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return f, errors.Join(err, os.Remove(f.Name()))
}

// awaitDeath is not available: Wait is used instead.
func awaitDeath(int) bool { return false }

// sweep does nothing: it needs /proc.
func sweep(string) {}
