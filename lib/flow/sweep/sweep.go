// Package sweep looks at codebases unasked: at intervals it runs the operator's commands, in the sandbox, or
// reads the forge's failing checks, and passes what they report as messages to the bot. A line of output that
// names a file and a line of the codebase is a finding; a run without one says nothing.
package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tri/lib/agent/proc"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/judge/codebase"
	"tri/lib/record/event"
)

// Limits of one run.
const (
	most      = 10 * time.Minute
	maxOutput = 16 << 20 // bytes
	// maxTold is how many findings are remembered of all sweeps, so that those after them are told next. The
	// state of a source has at most 64 KiB.
	maxTold = 2000
)

// Source runs the sweeps of a configuration.
type Source struct {
	cfg  *config.Config
	once bool // end when what was due has run
	now  func() time.Time
	run  func(context.Context, proc.Spec) (proc.Exit, error)
	http *http.Client // of the forge; nil: the usual one
}

var _ chat.Source = (*Source)(nil)

// New returns the source of the configured sweeps. With once it ends when those that are due have run.
func New(cfg *config.Config, once bool) (*Source, error) {
	if len(cfg.Sweep) == 0 {
		return nil, sysexit.Hint(sysexit.With(sysexit.Config, errors.New("no sweep is configured")),
			"name a command under sweep: in config.yaml; tri(5) describes the keys")
	}
	return &Source{cfg: cfg, once: once, now: time.Now, run: proc.Run}, nil
}

// state is when a sweep last ran, and the findings of that run that have been told.
type state struct {
	At   time.Time `json:"at"`
	Told []string  `json:"told,omitempty"`
}

// Run implements chat.Source. Findings are durable before the time of their run is: a sweep that is killed in
// between runs again, and the log has its findings already.
func (s *Source) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	states := map[string]state{}
	if err := json.Unmarshal(resume.State, &states); err != nil && len(resume.State) > 0 {
		to.Logf("sweep: its times are unreadable, and every sweep is due: %v", err)
	}
	to.OnConnect(true)
	for {
		wait := time.Hour
		for i := range s.cfg.Sweep {
			c := &s.cfg.Sweep[i]
			if left := s.left(c, states[c.Name]); left > 0 {
				wait = min(wait, left)
				continue
			}
			next, err := s.sweep(ctx, c, states[c.Name], to)
			if err != nil {
				return err
			}
			states[c.Name], wait = next, 0
			maps.DeleteFunc(states, func(name string, _ state) bool {
				return !slices.ContainsFunc(s.cfg.Sweep, func(c config.Sweep) bool { return c.Name == name })
			})
			kept, err := json.Marshal(states)
			if err == nil {
				err = to.Save(kept)
			}
			if err != nil {
				return fmt.Errorf("sweep %s: %w", c.Name, err)
			}
		}
		if s.once {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// left returns how long a sweep still rests. One whose last time is in the future, of a clock that was wrong,
// is due.
func (s *Source) left(c *config.Sweep, last state) time.Duration {
	now := s.now()
	if last.At.After(now) {
		return 0
	}
	return last.At.Add(c.Every()).Sub(now)
}

// sweep runs one command and passes its new findings. A command that fails rests like the others. The error
// is that of the handler, or of ctx.
func (s *Source) sweep(ctx context.Context, c *config.Sweep, last state, to chat.Handler) (state, error) {
	next := state{At: s.now().UTC()}
	look := s.findings
	if c.Checks {
		look = func(ctx context.Context, c *config.Sweep, _ chat.Handler) ([]finding, error) {
			return s.failing(ctx, c)
		}
	}
	found, err := look(ctx, c, to)
	if ctx.Err() != nil {
		return next, ctx.Err()
	}
	if err != nil {
		to.Logf("sweep %s: %v", c.Name, err)
		next.Told = last.Told // what it did not report is not gone
	}
	var events []event.Event
	room := max(1, maxTold/len(s.cfg.Sweep))
	dated := map[string]map[string]time.Time{}
	for _, f := range found {
		if slices.Contains(next.Told, f.told) || len(next.Told) >= room {
			continue
		}
		if !slices.Contains(last.Told, f.told) {
			if len(events) == c.Most || !s.old(ctx, c, &f, dated) {
				continue // at the next run
			}
			events = append(events, s.event(c, f, next.At))
		}
		next.Told = append(next.Told, f.told)
	}
	if len(events) == 0 {
		return next, nil
	}
	return next, to.OnEvents(events...)
}

// findings runs the command and returns what it reports, in order, each once.
func (s *Source) findings(ctx context.Context, c *config.Sweep, to chat.Handler) ([]finding, error) {
	dir := s.cfg.Folder(c.Codebase)
	tree, err := codebase.Open(dir, nil, false)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	own, err := os.MkdirTemp("", "tri-sweep-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(own)
	home := filepath.Join(own, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	r := reader{tree: tree, sweep: c.Name, seen: map[string]bool{}}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	exit, err := s.run(limited, proc.Spec{
		Argv: c.Command, Dir: dir, Env: proc.Env(nil, home, "NO_COLOR=1", "TERM=dumb"), RunDir: own,
		Sandbox: s.cfg.Sandbox, Home: home, Read: c.Read, MaxStdout: maxOutput,
		Line: func(line []byte) bool { r.line(line); return false },
	})
	said, readErr := durable.ReadPath(filepath.Join(own, "stderr.txt")) // where go vet reports
	if !errors.Is(readErr, fs.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	for line := range bytes.Lines(said) {
		r.line(bytes.TrimRight(line, "\r\n"))
	}
	if r.refused > 0 || exit.Skipped > 0 {
		to.Logf("sweep %s: %d lines of its output are not used: %s", c.Name, r.refused+exit.Skipped,
			text.Line(r.why, 200))
	}
	switch {
	case limited.Err() != nil:
		err = fmt.Errorf("it ran longer than %v and was ended", most)
	case err != nil:
	case exit.Flooded:
		err = fmt.Errorf("it wrote more than %d MiB and was ended", maxOutput>>20)
	case exit.Status != 0 && len(r.found) == 0:
		err = fmt.Errorf("exit status %d, and no finding: %s", exit.Status, text.Line(exit.Stderr, 200))
	}
	return r.found, err
}
