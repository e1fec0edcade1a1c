package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gotd/td/session"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// store is the file of a session. Whoever has the file is logged in as the account: it is this user's
// alone, and lies outside of the home, which is backed up and copied.
type store struct {
	dir  *durable.Home // the file's folder
	name string
}

var _ session.Storage = (*store)(nil)

// openStore returns the store of a file, which may not exist yet.
func openStore(file string, home *durable.Home) (*store, error) {
	s := &store{name: filepath.Base(file)}
	dir, err := durable.MakeHome(filepath.Dir(file))
	if s.dir = dir; err == nil && home.Contains(dir.Path(s.name)) {
		err = errors.New("lies in the home, which is backed up and copied")
	}
	if err == nil {
		_, err = s.LoadSession(context.Background())
	}
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, sysexit.With(sysexit.Config, fmt.Errorf("session %q: %w", file, err))
	}
	return s, nil
}

// LoadSession implements session.Storage. A file that others can read is refused.
func (s *store) LoadSession(context.Context) ([]byte, error) {
	text, err := config.ReadSecret(s.dir.Path(s.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, session.ErrNotFound
	}
	return []byte(text), err
}

// StoreSession implements session.Storage: it replaces the file durably, with mode 0600.
func (s *store) StoreSession(_ context.Context, text []byte) error {
	return s.dir.Replace(s.name, text)
}
