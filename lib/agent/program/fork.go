package program

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Limits on a copied home.
const (
	maxCopy  = 512 << 20 // bytes
	maxFiles = 50_000
)

// fork copies the HOME of the run that the task forks from, with the usage that its session has
// reported, so that its session can be resumed here and stays as it is there. Links are not copied:
// the agent could write them.
func (r *running) fork() error {
	t := &r.task
	if t.From == nil || t.From.SessionID == "" || t.Dir == "" {
		return sysexit.Errorf(sysexit.Unavailable, "fork: %w", agent.ErrNoResume)
	}
	from := t.Origin()
	err := copyTree(filepath.Join(from, "home"), filepath.Join(t.Dir, "home"))
	if err == nil {
		err = copyTree(filepath.Join(from, ledger), filepath.Join(t.Dir, ledger))
	}
	if err != nil {
		return sysexit.Errorf(sysexit.Unavailable, "fork: %w: %w", agent.ErrNoResume, err)
	}
	t.SessionID, t.Resume = t.From.SessionID, true
	return nil
}

// copyTree copies a folder or a file. A missing one is skipped.
func copyTree(from, to string) error {
	source, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer target.Close()
	base, bytes, files := filepath.Base(from), int64(0), 0
	return fs.WalkDir(source.FS(), base, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil:
			return err
		case e.IsDir():
			return target.MkdirAll(name, 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		in, err := durable.OpenFile(source, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		n, err := io.Copy(out, io.LimitReader(in, maxCopy-bytes+1))
		if bytes, files = bytes+n, files+1; err == nil && (bytes > maxCopy || files > maxFiles) {
			err = errors.New("its home is too large")
		}
		return errors.Join(err, out.Close())
	})
}
