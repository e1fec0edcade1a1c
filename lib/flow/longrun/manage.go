package longrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Gone is the status of an Entry whose runner died without a result and that has not been restarted.
const Gone run.Phase = "gone"

// Entry is one long run, as shown by list.
type Entry struct {
	RunID          string       `json:"run_id"`
	Key            string       `json:"key"`
	By             string       `json:"by"`
	At             string       `json:"at"`     // when it was requested
	Status         run.Phase    `json:"status"` // Running, Gone, or the status of the result
	EndedAt        string       `json:"ended_at,omitempty"`
	Terminal       string       `json:"terminal,omitempty"`
	Session        string       `json:"session,omitempty"` // tmux session
	TranscriptPath string       `json:"transcript_path"`
	Doing          string       `json:"doing,omitempty"` // last activity seen
	Usage          *draft.Usage `json:"usage"`
}

// List returns all long runs, oldest first. An unreadable run does not hide the others: its error is joined
// to the result's.
func (m *Manager) List() ([]Entry, error) {
	ids, err := run.IDs(m.Home)
	if err != nil {
		return nil, err
	}
	var all []Entry
	var errs []error
	for _, id := range ids {
		if !run.IsID(id) || !m.Home.Exists(m.folder(id)+"/request.json") {
			continue // not a long run, or killed before it began
		}
		if e, err := m.entry(id); err != nil {
			errs = append(errs, err)
		} else {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return strings.Compare(a.At, b.At) })
	return all, errors.Join(errs...)
}

func (m *Manager) entry(id string) (Entry, error) {
	r, err := m.request(id)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		RunID: id, Key: r.Thread.Key, By: r.By, At: r.At, Terminal: config.None,
		TranscriptPath: m.transcript(id),
	}
	if m.inTmux(id) {
		e.Terminal, e.Session = config.Tmux, id
	}
	res, err := run.Load(m.Home, id)
	if err != nil {
		return e, err
	}
	if res != nil {
		e.Status, e.EndedAt, e.Usage = res.Status, res.EndedAt, res.Usage
		return e, nil
	}
	if state, err := m.state(id); err == nil {
		e.Doing, e.Usage = state.Doing, state.Usage
	}
	e.Status = Gone
	running, err := run.Held(m.Home, id)
	if running {
		e.Status = run.Running
	}
	return e, err
}

// Resolve returns the run that name identifies: its id, its thread's key (the latest run of it), a
// prefix of one of at least three characters, or "latest". An unreadable run keeps no other from being
// named by its id.
func (m *Manager) Resolve(name string) (string, error) {
	if run.IsID(name) && m.Home.Exists(m.folder(name)+"/request.json") {
		return name, nil
	}
	all, err := m.List()
	if err != nil {
		return "", err
	}
	var found []Entry
	for _, e := range all {
		if name == "latest" || text.Names(name, e.RunID) || text.Names(name, e.Key) {
			found = append(found, e)
		}
	}
	for _, e := range found {
		if e.Key != found[0].Key && name != "latest" {
			err := fmt.Errorf("%q begins several runs: %s, %s, …", name, found[0].RunID, e.RunID)
			return "", sysexit.With(sysexit.Usage, err)
		}
	}
	if len(found) == 0 {
		err := sysexit.With(sysexit.NoInput, fmt.Errorf("no long run %q", name))
		return "", sysexit.Hint(err, "tri-escalate list shows those there are")
	}
	return found[len(found)-1].RunID, nil
}

// Next returns the id of the long run that a person starts for a thread: the one that is running, or a new
// one.
func (m *Manager) Next(key string) (id string, begun bool, err error) {
	for n := 1; ; n++ {
		id = attempt(key, n)
		if !m.Home.Exists(m.folder(id) + "/request.json") {
			return id, false, nil
		}
		if x, err := run.Load(m.Home, id); err != nil || x == nil {
			return id, true, err
		}
	}
}

// ended returns the result of a run. A run that a person started and whose runner is gone is ended by
// this; tri-dispatch restarts its own.
func (m *Manager) ended(id string) (*run.Result, error) {
	res, err := run.Load(m.Home, id)
	if err != nil || res != nil {
		return res, err
	}
	r, err := m.request(id)
	if err != nil || r.By == run.Dispatcher {
		return nil, err
	}
	return m.close(id)
}

// close ends a run that has no owner.
func (m *Manager) close(id string) (*run.Result, error) {
	lock, err := m.lock(m.folder(id) + "/start") // so that it is not started meanwhile
	if err != nil {
		return nil, err
	}
	x, err := run.Load(m.Home, id)
	running := false
	if err == nil && x == nil {
		running, err = run.Held(m.Home, id)
	}
	if err == nil && x == nil && !running {
		if err = m.publishFailed(id, nil); err == nil {
			x, err = run.Load(m.Home, id)
		}
	}
	return x, errors.Join(err, lock.Unlock())
}

// Poll reports the results of runs, of all if ids is empty. With wait it waits for those that are running.
// It calls tell for each result as it arrives.
func (m *Manager) Poll(ctx context.Context, ids []string, wait bool, tell func(*run.Result) error) error {
	var unread error
	if len(ids) == 0 {
		var all []Entry
		all, unread = m.List()
		for _, e := range all {
			ids = append(ids, e.RunID)
		}
	}
	for len(ids) > 0 {
		var left []string
		for _, id := range ids {
			x, err := m.ended(id)
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
			break
		}
		if err := m.await(ctx, ids[0]); err != nil {
			return err
		}
	}
	return unread
}

// await returns when a run has ended, or may have ended.
func (m *Manager) await(ctx context.Context, id string) error {
	looked := false
	for x, err := range m.ends(ctx, id) {
		if err != nil || x != nil || looked {
			return err
		}
		looked = true
	}
	return ctx.Err()
}

// Kill ends a run permanently, and waits for its end.
func (m *Manager) Kill(ctx context.Context, id, by string) (*run.Result, error) {
	if x, err := run.Load(m.Home, id); err != nil || x != nil {
		return x, err
	}
	if err := run.Cancel(m.Home, id, by, m.Now()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for x, err := range m.ends(ctx, id) {
		if err != nil || x != nil {
			return x, err
		}
		state, err := m.state(id) // it may just be starting
		if err != nil {
			return nil, err
		}
		if pid := state.Owner.PID; state.Owner.Alive() {
			err := syscall.Kill(pid, syscall.SIGTERM)
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGCONT) // a suspended process handles no signal
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) {
				return nil, sysexit.With(sysexit.NoPerm, fmt.Errorf("end long run %s: %w", id, err))
			}
			continue
		}
		if x, err := m.close(id); err != nil || x != nil {
			return x, err
		}
	}
	err := sysexit.With(sysexit.TempFail, fmt.Errorf("long run %s has not ended in %v", id, patience))
	if s, serr := m.state(id); serr == nil && s.Owner.Alive() {
		return nil, sysexit.Hint(err,
			fmt.Sprintf("kill -9 %d ends it, and tri-escalate poll %s records that", s.Owner.PID, id))
	}
	return nil, sysexit.Hint(err, m.survivor(id))
}
