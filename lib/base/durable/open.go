package durable

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"tri/lib/base/sysexit"
)

// MakeHome opens the home of a team, and creates it if it does not exist. A home that others can
// write to is refused with NoPerm, one with a pipe, device or socket in place of a file with Data.
func MakeHome(dir string) (*Home, error) {
	dir, err := homeDir(dir)
	if err != nil {
		return nil, err
	}
	h, err := Open(dir)
	if err != nil {
		return nil, err
	}
	if err := h.trusted(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// OpenHome is MakeHome for a home that exists; if it does not, the status is NoInput.
func OpenHome(dir string) (*Home, error) {
	dir, err := homeDir(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		err := sysexit.Errorf(sysexit.NoInput, "there is no home %q", dir)
		return nil, sysexit.Hint(err, "tri init makes one; TRI_HOME and --home name another")
	}
	return MakeHome(dir)
}

// homeDir returns dir, or DefaultDir if it does not depend on the working folder.
func homeDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	if _, err := os.UserHomeDir(); err != nil && os.Getenv("TRI_HOME") == "" {
		return "", sysexit.Errorf(sysexit.Config,
			"neither TRI_HOME nor HOME is set: name a home with --home")
	}
	return DefaultDir(), nil
}

// trusted refuses a home that is not this user's alone, and files that are none.
func (h *Home) trusted() error {
	info, err := h.root.Stat(".")
	if err != nil {
		return ioError("open", h.dir, err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		err := sysexit.Errorf(sysexit.NoPerm, "home %q belongs to user %d, and this is user %d", h.dir,
			st.Uid, os.Geteuid())
		return sysexit.Hint(err, "run it as the owner, or chown the home")
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		err := sysexit.Errorf(sysexit.NoPerm, "home %q has mode %#o: others can write to it", h.dir, mode)
		return sysexit.Hint(err, "chmod 700 "+h.dir)
	}
	for _, dir := range []string{".", "open", "outbox", "watch"} {
		f, err := h.root.Open(dir)
		if err != nil {
			continue // not there, or reported by whoever needs it
		}
		entries, err := f.ReadDir(-1)
		if err = errors.Join(err, f.Close()); err != nil {
			return ioError("list", dir, err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if special := e.Type() & (fs.ModeNamedPipe | fs.ModeDevice | fs.ModeSocket); special != 0 &&
				(special != fs.ModeSocket || path.Ext(name) != ".sock") {
				return sysexit.Errorf(sysexit.Data, "%q is not a file but a %s", h.Path(name), kinds[special])
			}
		}
	}
	return nil
}

var kinds = map[fs.FileMode]string{fs.ModeNamedPipe: "named pipe", fs.ModeDevice: "device",
	fs.ModeSocket: "socket"}
