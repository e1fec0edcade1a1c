package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Limits on a session that Adopt copies.
const (
	maxAdopted = 256 << 20 // bytes
	maxFiles   = 20000
)

// sessionFiles are what adapters keep of a session in a run's folder: the program's HOME, the conversation
// of the API agent, and the usage that the session has reported.
var sessionFiles = []string{"home", "session.json", "session-usage.json"}

// Adopt copies the session of the run in folder from to the run in folder to, where Task.Resume can
// continue it. It replaces what an interrupted try of that run has left. Links are not followed or copied:
// the agent may have made them. The error is ErrNoResume if the session is too large.
func Adopt(from, to string) error {
	src, err := os.OpenRoot(from)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoResume
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "copy session: %w", err)
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "copy session: %w", err)
	}
	defer dst.Close()
	a := adoption{src: src, dst: dst}
	for _, name := range sessionFiles {
		err := dst.RemoveAll(name)
		if info, lerr := src.Lstat(name); err == nil && lerr == nil &&
			(info.IsDir() || info.Mode().IsRegular()) {
			err = fs.WalkDir(src.FS(), name, a.copy)
		}
		switch {
		case errors.Is(err, ErrNoResume):
			return errors.Join(err, dst.RemoveAll(name))
		case err != nil:
			return sysexit.Errorf(sysexit.IO, "copy session: %w", err)
		}
	}
	return nil
}

type adoption struct {
	src, dst *os.Root
	files    int
	bytes    int64
}

func (a *adoption) copy(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if a.files++; a.files > maxFiles {
		return fmt.Errorf("%w: more than %d files", ErrNoResume, maxFiles)
	}
	switch {
	case d.IsDir():
		return a.dst.MkdirAll(name, 0o700)
	case !d.Type().IsRegular():
		return nil
	}
	in, err := durable.OpenFile(a.src, name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := a.dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxAdopted-a.bytes+1))
	if a.bytes += n; err == nil && a.bytes > maxAdopted {
		err = fmt.Errorf("%w: more than %d bytes", ErrNoResume, maxAdopted)
	}
	return errors.Join(err, out.Close())
}
