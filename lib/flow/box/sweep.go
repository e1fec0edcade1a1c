package box

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/run"
)

// A run is marked by a file active/<run> that names the operation, from before the operation begins until
// all its results are recorded. So a later call finds what a killed process left unfinished, without
// examining every run.
const (
	marks   = "active"
	running = "run"
	merging = "merge"
)

func (b *Box) mark(name, what string) error { return b.home.Replace(marks+"/"+name, []byte(what+"\n")) }
func (b *Box) unmark(name string) error     { return b.home.Remove(marks + "/" + name) }

// Sweep begins every call: it records the end of runs whose supervisor is gone, removes their commands,
// repairs interrupted merges, and corrects the index. Runs in progress are not touched.
func (b *Box) Sweep(ctx context.Context) error {
	names, err := b.home.List(marks)
	for _, n := range names {
		if idOf(n) == "" || !b.home.Exists("runs/"+n) {
			continue // it is being created, or gc removes it
		}
		err = errors.Join(err, b.sweep(ctx, n))
	}
	return errors.Join(err, b.unmarked(ctx))
}

// maxUnmarked is how many of the newest runs are checked for a lost mark; gc checks all.
const maxUnmarked = 50

// unmarked sweeps runs whose state says that they are in progress although they have no mark: the folder
// was restored, or the mark was deleted.
func (b *Box) unmarked(ctx context.Context) error {
	names, err := b.names()
	for _, n := range names[max(0, len(names)-maxUnmarked):] {
		if s, bad := b.State(n); bad == nil && !s.Over() && !b.home.Exists(marks+"/"+n) {
			err = errors.Join(err, b.mark(n, running), b.sweep(ctx, n))
		}
	}
	return err
}

func (b *Box) sweep(ctx context.Context, name string) error {
	s, err := b.State(name)
	if err != nil {
		b.Say("%v", err) // one broken run must not stop the others
		return nil
	}
	was := s.Status
	if !s.Over() {
		// Under a lock: reap would end another tri program that holds the run's lock to record its end.
		err := b.locked(ctx, "sweep.lock", func() error {
			if s, err = b.State(name); err == nil && !s.Over() {
				b.reap(name, s)
				s, err = run.Sweep(b.dir(name), b.Now())
			}
			return err
		})
		if err != nil || !s.Over() {
			return err
		}
	}
	l, s, err := b.take(name)
	if errors.Is(err, durable.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.lock.Unlock()
	if f := s.Failure; was == run.Active && f != nil {
		b.Say("run %s: %s: %s", name, s.Status, f.Message)
		b.swept[name] = true
	}
	if what, err := b.home.ReadFile(marks + "/" + name); errors.Is(err, fs.ErrNotExist) {
		return nil // another process was faster
	} else if string(what) == merging+"\n" && (s.Status == run.Review || s.Status == run.Proposed) {
		if err := l.recoverMerge(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(b.enter(name), b.account(name)); err != nil {
		return err // the mark stays, and the next call tries again
	}
	return b.unmark(name)
}

// dir returns a run's folder.
func (b *Box) dir(name string) string { return filepath.Join(b.home.Dir(), "runs", name) }

// Run is one run in its current state.
type Run struct {
	Meta  *Meta     `json:"meta"`
	State run.State `json:"state"`
	Dir   string    `json:"dir"`
}

// Run reads a run.
func (b *Box) Run(name string) (*Run, error) {
	m, err := b.Meta(name)
	if err != nil {
		return nil, err
	}
	s, err := b.State(name)
	return &Run{m, s, b.dir(name)}, err
}

// recent returns the newest n runs, newest first; 0 means all. Unreadable runs are left out, and
// reported.
func (b *Box) recent(n int) ([]*Run, error) {
	names, err := b.names()
	if err != nil {
		return nil, err
	}
	if n > 0 && n < len(names) { // the names give the minute; the exact time orders within it
		first := names[len(names)-n][:len(layout)]
		names = slices.DeleteFunc(names, func(name string) bool { return name[:len(layout)] < first })
	}
	var runs []*Run
	for _, name := range slices.Backward(names) {
		r, err := b.Run(name)
		if err != nil {
			b.Say("%v", err)
			continue
		}
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(x, y *Run) int { return y.started().Compare(x.started()) })
	if n > 0 {
		runs = runs[:min(n, len(runs))]
	}
	return runs, nil
}

func (r *Run) started() time.Time { return timeOf(&r.State.StartedAt) }

func timeOf(s *string) time.Time {
	if s == nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, *s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// took is how long the run lasted, or has lasted so far.
func (r *Run) took(now time.Time) string {
	end := timeOf(r.State.EndedAt)
	if end.IsZero() {
		end = now
	}
	return between(r.started(), end)
}

func between(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return max(0, to.Sub(from)).Round(time.Second).String()
}
