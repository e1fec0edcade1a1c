package longrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"tri/lib/agent/supervise"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Statuses of an Entry besides those of run.Exit.
const (
	Running = "running"
	Gone    = "gone" // its runner ended without a word; nobody has started it again
)

// Entry is one long run, as list shows it.
type Entry struct {
	RunID          string       `json:"run_id"`
	Key            string       `json:"key"`
	By             string       `json:"by"`
	At             string       `json:"at"` // when it was asked for
	Status         string       `json:"status"`
	EndedAt        string       `json:"ended_at,omitempty"`
	Terminal       string       `json:"terminal,omitempty"`
	Session        string       `json:"session,omitempty"` // of tmux
	TranscriptPath string       `json:"transcript_path"`
	Doing          string       `json:"doing,omitempty"` // what it was seen to do last
	Usage          *draft.Usage `json:"usage"`
}

// List gives all long runs, the oldest first.
func (d *Desk) List() ([]Entry, error) {
	names, err := d.Home.List("escalations")
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, id := range names {
		if !isID.MatchString(id) || !d.Home.Exists(folder(id)+"/request.json") {
			continue // killed before it began
		}
		e, err := d.entry(id)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return strings.Compare(a.At, b.At) })
	return all, nil
}

func (d *Desk) entry(id string) (Entry, error) {
	r, err := d.request(id)
	if err != nil {
		return Entry{}, err
	}
	p, err := d.place(id)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{RunID: id, Key: r.Thread.Key, By: r.By, At: r.At, Terminal: p.Terminal, Session: p.Session, TranscriptPath: d.transcript(id)}
	if state, err := supervise.Load(d.Home.Path(folder(id))); err == nil { // without one it is just beginning
		e.Doing, e.Usage = state.Doing, state.Usage
	}
	x, err := run.LoadExit(d.Home, id)
	if err != nil {
		return e, err
	}
	if x != nil {
		e.Status, e.EndedAt, e.Usage, e.Doing = x.Status, x.EndedAt, x.Usage, ""
		return e, nil
	}
	e.Status = Gone
	running, err := d.running(id)
	if running {
		e.Status = Running
	}
	return e, err
}

// Resolve finds the run that a person means: its id or the beginning of it, the
// key of its thread or the beginning of that (the latest run of it), or "latest".
func (d *Desk) Resolve(name string) (string, error) {
	all, err := d.List()
	if err != nil {
		return "", err
	}
	var found []Entry
	for _, e := range all {
		if e.RunID == name {
			return name, nil
		}
		if name == "latest" || name != "" && (strings.HasPrefix(e.RunID, name) || strings.HasPrefix(e.Key, name)) {
			found = append(found, e)
		}
	}
	for _, e := range found {
		if e.Key != found[0].Key && name != "latest" {
			return "", sysexit.With(sysexit.Usage, fmt.Errorf("%q begins several runs: %s, %s, …", name, found[0].RunID, e.RunID))
		}
	}
	if len(found) == 0 {
		return "", sysexit.Hint(sysexit.With(sysexit.NoInput, fmt.Errorf("no long run %q", name)), "tri-escalate list shows those there are")
	}
	return found[len(found)-1].RunID, nil
}

// Next is the id of the long run that a person starts for a thread: the one that
// is under way, or a new one.
func (d *Desk) Next(key string) (id string, begun bool, err error) {
	for n := 1; ; n++ {
		id = Attempt(key, n)
		if !d.Home.Exists(folder(id) + "/request.json") {
			return id, false, nil
		}
		if x, err := run.LoadExit(d.Home, id); err != nil || x == nil {
			return id, true, err
		}
	}
}

// settle writes down the end of a run that a person started and whose runner is
// gone. Those of the pipeline are tri-dispatch's to start again.
func (d *Desk) settle(id string) (*run.Exit, error) {
	x, err := run.LoadExit(d.Home, id)
	if err != nil || x != nil {
		return x, err
	}
	r, err := d.request(id)
	if err != nil || r.By == dispatcher {
		return nil, err
	}
	return d.close(id)
}

// close buries a run that nobody is at.
func (d *Desk) close(id string) (*run.Exit, error) {
	lock, err := d.lock(folder(id) + "/start") // nobody starts it just now
	if err != nil {
		return nil, err
	}
	x, err := run.LoadExit(d.Home, id)
	running := false
	if err == nil && x == nil {
		running, err = d.running(id)
	}
	if err == nil && x == nil && !running {
		if err = d.bury(id); err == nil {
			x, err = run.LoadExit(d.Home, id)
		}
	}
	return x, errors.Join(err, lock.Unlock())
}

// Poll gives the ends of runs, of all where ids is empty. With wait it waits for
// those that are under way; tell is called for each end as it comes.
func (d *Desk) Poll(ctx context.Context, ids []string, wait bool, tell func(*run.Exit) error) error {
	if len(ids) == 0 {
		all, err := d.List()
		if err != nil {
			return err
		}
		for _, e := range all {
			ids = append(ids, e.RunID)
		}
	}
	for len(ids) > 0 {
		var left []string
		for _, id := range ids {
			x, err := d.settle(id)
			if err != nil {
				return err
			}
			if x == nil {
				left = append(left, id)
			} else if err := tell(x); err != nil {
				return err
			}
		}
		if ids = left; len(ids) == 0 || !wait {
			return nil
		}
		if err := d.await(ctx, ids[0]); err != nil {
			return err
		}
	}
	return nil
}

// await returns when a run has ended, or may have.
func (d *Desk) await(ctx context.Context, id string) error {
	looked := false
	for x, err := range d.ends(ctx, id) {
		if err != nil || x != nil || looked {
			return err
		}
		looked = true
	}
	return ctx.Err()
}

// giveUp marks a run that is to end for good.
func (d *Desk) giveUp(id, by string) error {
	return d.write(folder(id)+"/killed", map[string]string{"by": by, "at": text.Timestamp(d.Now())})
}

func (d *Desk) givenUp(id string) bool { return d.Home.Exists(folder(id) + "/killed") }

// Kill ends a run for good, and waits for that.
func (d *Desk) Kill(ctx context.Context, id, by string) (*run.Exit, error) {
	if x, err := run.LoadExit(d.Home, id); err != nil || x != nil {
		return x, err
	}
	if err := d.giveUp(id, by); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for x, err := range d.ends(ctx, id) {
		if err != nil || x != nil {
			return x, err
		}
		runner, err := d.worker(id) // it may just be coming up
		if err != nil {
			return nil, err
		}
		if runner.Alive() {
			err := syscall.Kill(runner.PID, syscall.SIGTERM)
			if err == nil {
				err = syscall.Kill(runner.PID, syscall.SIGCONT) // one that is stopped hears nothing
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) {
				return nil, sysexit.With(sysexit.NoPerm, fmt.Errorf("end long run %s: %w", id, err))
			}
			continue
		}
		if x, err := d.close(id); err != nil || x != nil {
			return x, err
		}
	}
	err := sysexit.With(sysexit.TempFail, fmt.Errorf("long run %s has not ended in %v", id, patience))
	if w, werr := d.worker(id); werr == nil && w.Alive() {
		return nil, sysexit.Hint(err, fmt.Sprintf("kill -9 %d ends it, and tri-escalate poll %s writes that down", w.PID, id))
	}
	return nil, sysexit.Hint(err, d.outlived(id))
}
