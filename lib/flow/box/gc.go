package box

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// Collected is the result of GC for one run.
type Collected struct {
	RunName  string `json:"run_name"`
	Status   string `json:"status"` // after GC
	Worktree bool   `json:"worktree_removed"`
}

// GC removes what is no longer needed: worktrees of finished runs, folders of runs that were never
// completely created, program homes of old runs, and files that a killed process left unfinished. A run
// that has waited to be resumed or merged for longer than older is abandoned. The records of a run are
// kept.
func (b *Box) GC(ctx context.Context, older time.Duration) error {
	done, err := b.collectAll(ctx, older)
	if isFull(err) { // the first pass may have freed space
		var more []Collected
		more, err = b.collectAll(ctx, older)
		done = append(done, more...)
	}
	for _, c := range done {
		text := fmt.Appendf(nil, "%s\t%s\n", c.RunName, c.Status)
		if c.Worktree {
			text = fmt.Appendf(nil, "%s\t%s\tworktree removed\n", c.RunName, c.Status)
		}
		if b.JSON {
			line, bad := json.Marshal(c)
			text, err = append(line, '\n'), errors.Join(err, bad)
		}
		err = errors.Join(err, write(b.Out, text))
	}
	return err
}

func (b *Box) collectAll(ctx context.Context, older time.Duration) ([]Collected, error) {
	if err := errors.Join(b.locked(ctx, "births.lock", func() error {
		return errors.Join(b.unborn(), b.unmarkGone())
	}), b.leftovers("."), b.leftovers("pointers"), b.leftovers(marks)); err != nil {
		return nil, err
	}
	names, err := b.names()
	if err != nil {
		return nil, err
	}
	var done []Collected
	var errs error
	for _, n := range names {
		if s, err := b.State(n); err == nil && s.Status == run.Active && !b.home.Exists(marks+"/"+n) {
			errs = errors.Join(errs, b.mark(n, running), b.sweep(ctx, n)) // its mark was deleted
		}
		c, err := b.gcRun(ctx, n, older)
		errs = errors.Join(errs, err)
		if c != nil {
			done = append(done, *c)
		}
	}
	return done, errors.Join(errs, b.orphans(ctx, names), b.prune(ctx))
}

// gcRun removes what one run no longer needs. A run whose lock is held is left alone.
func (b *Box) gcRun(ctx context.Context, name string, older time.Duration) (*Collected, error) {
	l, s, err := b.take(name)
	if errors.Is(err, durable.ErrLocked) {
		return nil, nil
	}
	if err != nil {
		b.Say("%v", err) // an unreadable run cannot be judged
		return nil, nil
	}
	defer l.lock.Unlock()
	c := &Collected{RunName: name, Status: s.Status}
	// A run that is ACTIVE and not held has lost its owner, and the disk was too full to record that.
	waits := s.Status == run.Review || s.Status == run.Crashed || s.Status == run.Stalled ||
		s.Status == run.Active
	young := b.Now().Sub(cmp.Or(timeOf(s.EndedAt), timeOf(s.LastHeartbeat), timeOf(&s.StartedAt))) < older
	if (waits || s.Status == run.Proposed) && young {
		return nil, b.leftovers("runs/" + name)
	}
	if b.home.Exists(treeOf(name)) { // first, since it needs no space: the disk may be full
		c.Worktree = true
		if err := b.fell(ctx, name); err != nil {
			return nil, err
		}
	}
	if waits {
		c.Status = run.Abandoned
		err := run.Update(l.dir(name), func(s *run.State) {
			s.Status, s.EndedAt, s.PID = run.Abandoned, cmp.Or(s.EndedAt, new(stamp(b.Now()))), nil
		})
		if err := errors.Join(err, b.enter(name), b.account(name), b.unmark(name)); err != nil {
			return nil, err
		}
	}
	// The homes of the run's programs are needed only for a resume.
	if s.Status == run.Merged || !young {
		for _, home := range []string{"raw/home", testDir + "/home"} {
			if err := b.removeAll("runs/" + name + "/" + home); err != nil {
				return nil, err
			}
		}
	}
	if !waits && !c.Worktree {
		return nil, b.leftovers("runs/" + name)
	}
	return c, b.leftovers("runs/" + name)
}

// unmarkGone removes marks of runs that were never created, or whose folder was deleted.
func (b *Box) unmarkGone() error {
	names, err := b.home.List(marks)
	for _, n := range names {
		if !b.home.Exists("runs/" + n) {
			err = errors.Join(err, b.unmark(n))
		}
	}
	return err
}

// orphans removes worktrees that belong to no run.
func (b *Box) orphans(ctx context.Context, names []string) error {
	trees, err := b.home.List("trees")
	if err != nil {
		return err
	}
	for _, t := range trees {
		if !slices.Contains(names, t) && idOf(t) != "" && !b.home.Exists("runs/"+t) {
			err = errors.Join(err, b.fell(ctx, t))
		}
	}
	return err
}

// leftovers removes files that a killed process left unfinished: a replacement is named .NAME.PID until it
// is complete.
func (b *Box) leftovers(dir string) error {
	entries, err := fs.ReadDir(b.home.Root().FS(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sysexit.With(sysexit.IO, fmt.Errorf("list %q: %w", dir, err))
	}
	for _, e := range entries {
		if pid, ok := unfinished(e.Name()); !ok || e.IsDir() || (run.Process{PID: pid}).Alive() {
			continue
		}
		if err := b.home.Remove(strings.TrimPrefix(dir+"/"+e.Name(), "./")); err != nil {
			return err
		}
	}
	return nil
}

func unfinished(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, ".")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i <= 0 {
		return 0, false
	}
	if n, err := fmt.Sscanf(rest[i+1:], "%d", &pid); n != 1 || err != nil || fmt.Sprint(pid) != rest[i+1:] {
		return 0, false
	}
	return pid, true
}
