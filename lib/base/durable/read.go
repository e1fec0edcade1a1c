package durable

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxRead is the largest file that is read whole, in bytes; a sparse file has any size.
const maxRead = 1 << 30

// ErrNotFile means that a folder, a pipe, a socket or a device is in the place of a file.
var ErrNotFile = errors.New("not a regular file")

// OpenFile opens a file for reading that another program may have replaced: what is not a regular file is
// refused with ErrNotFile, and opening it does not wait, as for the writer of a pipe.
func OpenFile(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a file of OpenFile whole, if it has at most 1 GiB.
func ReadFile(root *os.Root, name string) ([]byte, error) {
	f, err := OpenFile(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > maxRead {
		err = &fs.PathError{Op: "read", Path: name, Err: syscall.EFBIG}
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead) // so that the end is met without growing
	_, err = b.ReadFrom(io.LimitReader(f, maxRead))
	return b.Bytes(), err
}

// ReadPath is ReadFile for the path of a file.
func ReadPath(path string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return ReadFile(root, filepath.Base(path))
}
