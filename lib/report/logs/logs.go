// Package logs shows the message logs of the pipeline's stages, with terminal control sequences
// made visible.
package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Options select the logs.
type Options struct {
	Dir    string   // the folder of the logs
	Stages []string // none: all
	Lines  int      // how many of each log's last lines are shown
	Follow bool     // then show new lines until the context ends
}

const (
	ending   = ".log"
	rotated  = ".1"    // after ending; for a moment, a log that is rotated has this name only
	maxShown = 4096    // characters of a line
	maxBack  = 1 << 20 // bytes of a log that are searched for its last lines, and of the longest line
	interval = time.Second / 4
)

// Show writes the last lines of the logs, each after the name of its stage if there are several,
// and then new lines if Follow is set.
func Show(ctx context.Context, w io.Writer, o Options) error {
	names, err := o.names()
	if err != nil {
		return err
	}
	s := &show{Options: o, w: w, named: len(o.Stages) != 1}
	defer s.close()
	for _, name := range names {
		if err := s.last(s.add(name)); err != nil {
			return err
		}
	}
	if !o.Follow {
		return nil
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.step(); err != nil {
			return err
		}
	}
}

// names returns the stages whose logs are shown.
func (o *Options) names() ([]string, error) {
	entries, err := os.ReadDir(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = sysexit.With(sysexit.NoInput, fmt.Errorf("%q: no stage has a log here", o.Dir))
		return nil, sysexit.Hint(err, "tri up starts the pipeline; --home names another home")
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	var all []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), rotated), ending)
		if ok && e.Type().IsRegular() && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, name := range o.Stages {
		if !slices.Contains(all, name) {
			return nil, sysexit.Hint(sysexit.With(sysexit.NoInput, fmt.Errorf("no log of a stage %q", name)),
				"there are: "+strings.Join(all, ", "))
		}
	}
	if len(o.Stages) > 0 {
		return o.Stages, nil
	}
	return all, nil
}

type show struct {
	Options
	named bool
	w     io.Writer
	logs  []*log
}

// log is one stage's log as far as it was shown.
type log struct {
	name string
	file *os.File // nil while there is none
	at   int64    // offset of what was not read yet
	rest []byte   // of a line without its end
}

func (s *show) add(name string) *log {
	l := &log{name: name}
	s.logs = append(s.logs, l)
	return l
}

func (s *show) close() {
	for _, l := range s.logs {
		_ = l.file.Close() // opened for reading only; nil is an error, too
	}
}

func (s *show) path(l *log) string { return filepath.Join(s.Dir, l.name+ending) }

// open opens the log, from its start, and reports whether there is one. While a log is rotated, there is
// none.
func (s *show) open(l *log) (bool, error) {
	f, err := os.Open(s.path(l))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, sysexit.With(sysexit.IO, err)
	}
	l.file, l.at, l.rest = f, 0, nil
	return true, nil
}

func (s *show) print(l *log, line []byte) error {
	shown := text.Cut(text.Visible(strings.TrimRight(string(line), "\r")), maxShown)
	if s.named {
		shown = l.name + ": " + shown
	}
	if _, err := io.WriteString(s.w, shown+"\n"); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	return nil
}

// last shows the last complete lines of a log.
func (s *show) last(l *log) error {
	if ok, err := s.open(l); !ok {
		return err
	}
	info, err := l.file.Stat()
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	from := max(0, info.Size()-maxBack)
	b := make([]byte, info.Size()-from)
	n, err := l.file.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return sysexit.With(sysexit.IO, err)
	}
	end := bytes.LastIndexByte(b[:n], '\n') + 1
	l.at = from + int64(end)
	lines := bytes.Split(b[:end], []byte{'\n'})
	lines = lines[:len(lines)-1]
	for _, line := range lines[max(0, len(lines)-s.Lines):] {
		if err := s.print(l, line); err != nil {
			return err
		}
	}
	return nil
}

// step shows what was written since the last step, and, if all logs are shown, finds those of stages that
// have started since. It compares files instead of asking for notifications, and so has no moment in which
// a line, a rotation or a missing file could be overlooked.
func (s *show) step() error {
	now, err := s.names()
	if err != nil {
		now = nil // being rotated
	}
	for _, name := range now {
		if !slices.ContainsFunc(s.logs, func(l *log) bool { return l.name == name }) {
			s.add(name)
		}
	}
	for _, l := range s.logs {
		if err := s.more(l); err != nil {
			return err
		}
	}
	return nil
}

// more shows the new lines of a log: of the open file, and, when another one has its name, of that.
func (s *show) more(l *log) error {
	for {
		if l.file == nil {
			if ok, err := s.open(l); !ok {
				return err
			}
		}
		named, err := os.Stat(s.path(l)) // before the reading, so that what a rotated file got last is read
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sysexit.With(sysexit.IO, err)
		}
		is, err1 := l.file.Stat()
		if err1 != nil {
			return sysexit.With(sysexit.IO, err1)
		}
		if is.Size() < l.at {
			l.at, l.rest = 0, nil // cut
		}
		if err := s.read(l); err != nil {
			return err
		}
		if err != nil || os.SameFile(is, named) {
			return nil
		}
		if len(l.rest) > 0 {
			if err := s.print(l, l.rest); err != nil {
				return err
			}
		}
		_ = l.file.Close() // opened for reading only
		l.file = nil
	}
}

// read shows the complete lines of the open file from at on. A line longer than maxBack is shown in parts.
func (s *show) read(l *log) error {
	b := make([]byte, 32<<10)
	for {
		n, err := l.file.ReadAt(b, l.at)
		l.at += int64(n)
		l.rest = append(l.rest, b[:n]...)
		for {
			line, rest, whole := bytes.Cut(l.rest, []byte{'\n'})
			if !whole && len(line) < maxBack {
				break
			}
			l.rest = rest
			if err := s.print(l, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return sysexit.With(sysexit.IO, err)
		}
	}
}
