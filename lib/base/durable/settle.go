package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tri/lib/base/sysexit"
)

// Sync makes durable what other processes have written to a file, for a program that is about to
// act on it. The writer may not have synced it yet, or may have been killed before that; if a
// power cut then removed it but kept the results derived from it, the two would disagree for ever.
// A file that cannot be synced is left as it is.
func Sync(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EROFS) {
		return nil // a pipe, a terminal, a read-only file system
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "sync %q: %w", f.Name(), err)
	}
	return nil
}

// Sync is the function Settle for a file of the home. A missing file is not an error.
func (h *Home) Sync(name string) error {
	f, err := h.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return ioError("open", name, err)
	}
	return errors.Join(Sync(f), f.Close())
}

// Rename durably gives a folder its final name. It replaces an empty folder of that name.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	f, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(Sync(f), f.Close())
}

// RemoveAll removes what is at name below root, also folders whose permissions forbid it, such as those
// of Go's module cache. It follows no link.
func RemoveAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), name, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			_ = root.Chmod(name, 0o700)
		}
		return nil
	})
	return root.RemoveAll(name)
}

// makeAll durably creates a folder and its parents.
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
		return nil // a folder of another user that can only be traversed
	}
	if err != nil {
		return err
	}
	return errors.Join(Sync(f), f.Close())
}
