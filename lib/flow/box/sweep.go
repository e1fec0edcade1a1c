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

// What is done to a run is marked, before it begins and until all of it is written
// down: a file active/<run> says what. So whoever comes along next finds what a
// killed process had begun, without looking at every run that there ever was.
const (
	marks   = "active"
	running = "run"
	merging = "merge"
)

func (b *Box) mark(name, what string) error { return b.home.Replace(marks+"/"+name, []byte(what+"\n")) }
func (b *Box) unmark(name string) error     { return b.home.Remove(marks + "/" + name) }

// Sweep is what every call begins with: it writes down the end of runs whose
// supervisor is gone, takes their commands away, mends merges that were cut
// short, and puts the index right. What is under way is not touched.
func (b *Box) Sweep(ctx context.Context) error {
	names, err := b.home.List(marks)
	for _, n := range names {
		if idOf(n) == "" || !b.home.Exists("runs/"+n) {
			continue // it is being made, or gc has it go
		}
		err = errors.Join(err, b.sweep(ctx, n))
	}
	return errors.Join(err, b.unmarked(ctx))
}

// maxUnmarked is how many of the newest runs are looked at for a lost mark; gc
// looks at all.
const maxUnmarked = 50

// unmarked sweeps runs whose state says that they are under way though no mark
// does: somebody has put a folder back, or deleted the mark.
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
		b.reap(name, s)
		if s, err = run.Sweep(b.dir(name), b.Now()); err != nil || !s.Over() {
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
		return nil // somebody else has been faster
	} else if string(what) == merging+"\n" && (s.Status == run.Review || s.Status == run.Proposed) {
		if err := l.mendMerge(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(b.enter(name), b.account(name)); err != nil {
		return err // the mark stays: whoever comes next tries again
	}
	return b.unmark(name)
}

// dir is a run's folder.
func (b *Box) dir(name string) string { return filepath.Join(b.home.Dir(), "runs", name) }

// Run is one run, as it stands.
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

// recent are the newest n runs, the newest first; 0 is all. One that cannot be
// read is left out.
func (b *Box) recent(n int) ([]*Run, error) {
	names, err := b.names()
	if err != nil {
		return nil, err
	}
	if n > 0 && n < len(names) { // by their names, which tell the minute, and then by the time
		first := names[len(names)-n][:len(layout)]
		names = slices.DeleteFunc(names, func(name string) bool { return name[:len(layout)] < first })
	}
	var runs []*Run
	for _, name := range slices.Backward(names) {
		if r, err := b.Run(name); err == nil {
			runs = append(runs, r)
		}
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

// took is how long the run has lasted, until now where it has not ended.
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
