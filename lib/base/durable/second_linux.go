package durable

import (
	"errors"
	"hash/crc32"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// second locks a byte of a log for name, far behind whatever the log will hold: a lock
// file can be deleted while it is held, and then a new one lets a second process in. It
// returns nil where there is no such log. Open file description locks belong to the
// file, not to the process, and mix with no flock.
func (h *Home) second(log, name string) (*os.File, error) {
	f, err := h.root.OpenFile(log, os.O_RDWR, 0)
	if err != nil {
		return nil, nil // none yet, or not ours to write: the lock file alone counts
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
	return nil, f.Close() // a file system without such locks
}
