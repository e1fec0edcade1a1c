package watch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

// lockSource takes a lock on the source's app for this machine, across homes: a platform that
// spreads an app's events over its connections would give each of two watchers only a part. The
// kernel releases the lock when its holder dies.
func lockSource(s chat.Source) (unlock func(), err error) {
	app, ok := s.(chat.App)
	if !ok {
		return func() {}, nil
	}
	dir, err := lockDir()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(app.AppID())))[:32])
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("watch: lock of the app: %w", err))
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		_ = f.Close() // report the error above
		err = sysexit.With(sysexit.TempFail,
			fmt.Errorf("watch: another tri-watch is connected as the same app: %w", err))
		return nil, sysexit.Hint(err,
			"end it, or make an app for this one: each would get only some of the events")
	}
	return func() { _ = f.Close() }, nil
}

// lockDir returns a temporary folder that only this user can use.
func lockDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("tri-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", sysexit.With(sysexit.IO, fmt.Errorf("watch: %w", err))
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", sysexit.With(sysexit.IO, fmt.Errorf("watch: %w", err))
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(st.Uid) != os.Geteuid() {
		return "", sysexit.Hint(sysexit.With(sysexit.NoPerm,
			fmt.Errorf("watch: %q is not a folder that only this user can write to", dir)), "remove it, or set TMPDIR")
	}
	return dir, nil
}
