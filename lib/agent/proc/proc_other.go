//go:build unix && !linux

package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// attributes make the program the leader of its own group. Only Linux has the
// kernel kill it when we die.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// given is a file with text in it that has no name any more.
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

// awaitDeath is left to Wait here.
func awaitDeath(int) bool { return false }

// sweep needs /proc.
func sweep(string) {}
