package box

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"tri/lib/agent/supervise"
	"tri/lib/run"
)

// Sweep is what every call begins with: it writes down the end of runs whose
// supervisor is gone, takes their commands away, and puts the index right. A run
// that is under way is not touched.
func (b *Box) Sweep(ctx context.Context) error {
	names, err := b.names()
	if err != nil {
		return err
	}
	var ended []string
	var errs error
	for _, n := range names {
		s, err := b.State(n)
		if err != nil {
			b.Say("%v", err) // one broken run must not stop the others
			continue
		}
		if s.Status == run.Review {
			errs = errors.Join(errs, b.mendMerge(ctx, n))
		}
		if s.Status != run.Active && (s.Status != run.Stalled || s.EndedAt != nil) {
			continue
		}
		b.reap(n, s)
		now, err := supervise.Watchdog(b.dir(n), b.Now())
		if err != nil {
			b.Say("look after run %s: %v", n, err)
			continue
		}
		if now.EndedAt != nil {
			ended = append(ended, n)
		}
	}
	for _, n := range ended {
		if s, err := b.State(n); err == nil && s.Failure != nil {
			b.Say("run %s: %s: %s", n, s.Status, s.Failure.Message)
		}
	}
	return errors.Join(errs, b.collectOver(ctx), b.enter(""))
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
	if n > 0 {
		names = names[max(0, len(names)-n):]
	}
	var runs []*Run
	for _, name := range slices.Backward(names) {
		if r, err := b.Run(name); err == nil {
			runs = append(runs, r)
		}
	}
	slices.SortStableFunc(runs, func(x, y *Run) int { return y.started().Compare(x.started()) })
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
	if end.IsZero() || r.started().IsZero() {
		return ""
	}
	return max(0, end.Sub(r.started())).Round(time.Second).String()
}
