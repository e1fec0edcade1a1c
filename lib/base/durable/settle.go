package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tri/lib/base/sysexit"
)

// Settle makes durable what others have written to a file, for a program that is
// about to act on it. Who has written it may be about to sync it, or was killed
// before that; were it gone after a power cut, and what was made of it not, the
// two would never again agree. What is no file on a disk is left as it is.
func Settle(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EROFS) {
		return nil // a pipe, a terminal, a file system that nobody writes to
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("sync %q: %w", f.Name(), err))
	}
	return nil
}

// Settle is the function of that name for a file of the home; one that is not
// there is durable as it is.
func (h *Home) Settle(name string) error {
	f, err := h.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return ioError("open", name, err)
	}
	return errors.Join(Settle(f), f.Close())
}

// Rename gives a folder its final name, durably. An empty folder of that name goes.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	f, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(Settle(f), f.Close())
}

// makeAll makes a folder and those above it, durably.
func makeAll(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	above := filepath.Dir(dir)
	if err := makeAll(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(above)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a folder of somebody else's that only lets us through
	}
	if err != nil {
		return err
	}
	return errors.Join(Settle(f), f.Close())
}
