package durable

import (
	"errors"
	"hash/crc32"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// second locks a byte of a log for name, far beyond the log's possible size: a lock file can be
// deleted while it is locked, and a new one would then admit a second process. It returns nil if
// there is no such log. Open file description locks belong to the open file, not to the process,
// and do not interact with flock.
func (h *Home) second(log, name string) (*os.File, error) {
	f, err := h.root.OpenFile(log, os.O_RDWR, 0)
	if err != nil {
		return nil, nil // missing, or not writable: only the lock file counts
	}
	const far = 1 << 60
	at := unix.Flock_t{Type: unix.F_WRLCK, Start: far + int64(crc32.ChecksumIEEE([]byte(name))), Len: 1}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &at)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES):
		return nil, errors.Join(ErrLocked, f.Close())
	}
	return nil, f.Close() // the file system has no such locks
}
