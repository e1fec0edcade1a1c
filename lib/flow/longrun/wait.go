package longrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Wait implements dispatch.Long: it returns when a run of the pipeline has ended. A run whose runner died
// without a result is started again, and has failed if it cannot be.
func (m *Manager) Wait(ctx context.Context, id string) (*run.Result, error) {
	for res, err := range m.ends(ctx, id) {
		if err != nil {
			return nil, err
		}
		if res != nil {
			return m.checked(res), nil
		}
		running, err := run.Held(m.Home, id)
		if err != nil {
			return nil, err
		}
		if running {
			continue
		}
		r, err := m.request(id)
		if err != nil {
			return nil, err
		}
		_, err = m.Begin(*r)
		if status, _ := sysexit.Of(err); err != nil && status == sysexit.Unavailable {
			err = m.publishFailed(id, fmt.Errorf("start a long run again: %w", err))
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// Stop implements dispatch.Long: it ends a run that is no longer needed.
func (m *Manager) Stop(id string) error {
	_, err := m.Kill(context.Background(), id, run.Dispatcher)
	return err
}

// ends looks for a run's result at once, whenever its folder changes, and at intervals. It yields nil
// while there is none, and stops when ctx ends.
func (m *Manager) ends(ctx context.Context, id string) func(func(*run.Result, error) bool) {
	return func(yield func(*run.Result, error) bool) {
		var told chan fsnotify.Event
		var trouble chan error
		if w, err := fsnotify.NewWatcher(); err == nil { // without a watcher, only at intervals
			defer w.Close()
			if w.Add(m.dir(id)) == nil {
				told, trouble = w.Events, w.Errors
			}
		}
		tick := time.NewTicker(cmp.Or(m.Look, look))
		defer tick.Stop()
		for {
			if x, err := run.Load(m.Home, id); !yield(x, err) {
				return
			}
			for waiting := true; waiting; {
				select {
				case <-ctx.Done():
					return
				case e, ok := <-told:
					if !ok {
						told = nil
					}
					waiting = filepath.Base(e.Name) != "result.json" && filepath.Base(e.Name) != "exit.json"
				case <-trouble: // an event may be lost: look
					waiting = false
				case <-tick.C:
					waiting = false
				}
			}
		}
	}
}

// checked returns a result with its return checked again, since it was read from a file.
func (m *Manager) checked(res *run.Result) *run.Result {
	if res.Status != run.Done {
		return res
	}
	ret := new(draft.Return)
	err := json.Unmarshal(res.Value, ret)
	if err == nil {
		err = check(ret)
	}
	if err != nil {
		failed := *res
		failed.Status, failed.Value, failed.Error = run.Failed, nil,
			fmt.Sprintf("return of the long run: %v", err)
		failed.Failure = &run.Failure{Kind: agent.Abort, Message: failed.Error}
		return &failed
	}
	return res
}

// publishFailed publishes the end of a run that died too often, or that is not restarted.
func (m *Manager) publishFailed(id string, why error) error {
	r, err := m.request(id)
	if err != nil {
		return err
	}
	state, err := m.state(id)
	if err == nil && state.Starts > 0 {
		state, err = run.Sweep(m.dir(id), m.Now())
	}
	if err != nil {
		return err
	}
	res := run.Result{
		RunID: id, Kind: run.Investigate, Key: r.Thread.Key, Cycle: r.Thread.Cycle,
		Round: r.Thread.InvestigatorRound,
		Agent: m.Config.Investigator.Agent, By: r.By, StartedAt: r.At, EndedAt: text.Timestamp(m.Now()),
		Status:  run.Failed,
		Failure: state.Failure, Usage: state.Usage, Starts: state.Starts,
	}
	if res.Failure == nil {
		res.Failure = &run.Failure{Kind: agent.Killed, Message: "its runner ended unexpectedly"}
	}
	if run.IsCancelled(m.Home, id) {
		res.Failure = &run.Failure{Kind: agent.Killed, Message: supervise.ErrAbandon.Error()}
	}
	if why != nil {
		res.Failure = &run.Failure{Kind: agent.ToolError, Message: why.Error()}
	}
	res.Error = res.Failure.Message
	own, err := run.Begin(m.Home, id)
	if err != nil {
		return err
	}
	return errors.Join(own.Publish(res), own.End(), m.settle(&res))
}
