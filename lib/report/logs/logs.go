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
	"sync"
	"time"

	"github.com/nxadm/tail"

	"tri/lib/base/follow"
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
	maxShown = 4096        // characters of a line
	maxBack  = 1 << 20     // bytes of a log that are searched for its last lines
	newEvery = time.Second // interval of checks for new stages
)

// Show writes the last lines of the logs, each after the name of its stage if there are several,
// and then new lines if Follow is set.
func Show(ctx context.Context, w io.Writer, o Options) error {
	names, err := o.names()
	if err != nil {
		return err
	}
	s := &show{Options: o, w: w, named: len(o.Stages) != 1, from: map[string]int64{}}
	for _, name := range names {
		if err := s.last(name); err != nil {
			return err
		}
	}
	if !o.Follow {
		return nil
	}
	return s.follow(ctx, names)
}

// names returns the stages whose logs are shown.
func (o *Options) names() ([]string, error) {
	entries, err := os.ReadDir(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = sysexit.With(sysexit.NoInput, fmt.Errorf("%q: no stage has said anything here", o.Dir))
		return nil, sysexit.Hint(err, "tri up starts the pipeline; --home names another home")
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	var all []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ending); ok && e.Type().IsRegular() {
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
	from  map[string]int64 // offset after the lines shown

	mu sync.Mutex
	w  io.Writer
}

func (s *show) path(name string) string { return filepath.Join(s.Dir, name+ending) }

func (s *show) print(name, line string) error {
	line = text.Cut(text.Visible(strings.TrimRight(line, "\r")), maxShown)
	if s.named {
		line = name + ": " + line
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.WriteString(s.w, line+"\n"); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	return nil
}

// last shows the last complete lines of a log.
func (s *show) last(name string) error {
	f, err := os.Open(s.path(name))
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	from := max(0, info.Size()-maxBack)
	b := make([]byte, info.Size()-from)
	n, err := f.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return sysexit.With(sysexit.IO, err)
	}
	end := bytes.LastIndexByte(b[:n], '\n') + 1
	s.from[name] = from + int64(end)
	lines := strings.Split(string(b[:end]), "\n")
	lines = lines[:len(lines)-1]
	for _, line := range lines[max(0, len(lines)-s.Lines):] {
		if err := s.print(name, line); err != nil {
			return err
		}
	}
	return nil
}

// follow shows new lines of the logs, and, if all are shown, of stages that start later.
func (s *show) follow(ctx context.Context, names []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	begin := func(name string) {
		wg.Go(func() {
			if err := s.one(ctx, name); err != nil {
				cancel(err)
			}
		})
	}
	for _, name := range names {
		begin(name)
	}
	look := time.NewTicker(newEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		case <-look.C:
		}
		now, err := s.names()
		if err != nil {
			continue // being rotated
		}
		for _, name := range now {
			if !slices.Contains(names, name) {
				names = append(names, name)
				begin(name)
			}
		}
	}
}

// one follows one log by its name, since it is rotated when it is long. It polls: the library
// misses lines written between its read and its request for notifications.
func (s *show) one(ctx context.Context, name string) error {
	t, err := follow.Open(s.path(name), follow.Options{Offset: s.from[name], ReOpen: true, Poll: true})
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	defer func() { _ = t.Stop() }() // opened for reading only
	for {
		var line *tail.Line
		var ok bool
		select {
		case <-ctx.Done():
			return nil
		case line, ok = <-t.Lines:
		}
		if !ok {
			return sysexit.With(sysexit.IO, fmt.Errorf("follow %q: %w", s.path(name), t.Err()))
		}
		if err := s.print(name, line.Text); err != nil {
			return err
		}
	}
}
