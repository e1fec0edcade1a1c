package longrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Wait is dispatch.Long: it returns when a run of the pipeline has ended. One that
// died without a word is started again.
func (d *Desk) Wait(ctx context.Context, id string) (*run.Result, error) {
	for x, err := range d.ends(ctx, id) {
		if err != nil {
			return nil, err
		}
		if x != nil {
			return d.result(x)
		}
		running, err := d.running(id)
		if err != nil {
			return nil, err
		}
		if running {
			continue
		}
		r, err := d.request(id)
		if err != nil {
			return nil, err
		}
		if _, err := d.Begin(*r); err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// Stop is dispatch.Long: it ends a run that nobody needs any more.
func (d *Desk) Stop(id string) error {
	_, err := d.Kill(context.Background(), id, dispatcher)
	return err
}

// ends looks for a run's end: at once, whenever its folder is told to have
// changed, and now and then. It yields nil while there is none, and stops when
// ctx ends.
func (d *Desk) ends(ctx context.Context, id string) func(func(*run.Exit, error) bool) {
	return func(yield func(*run.Exit, error) bool) {
		var told chan fsnotify.Event
		var trouble chan error
		if w, err := fsnotify.NewWatcher(); err == nil { // without one it is asked for
			defer w.Close()
			if w.Add(d.Home.Path(folder(id))) == nil {
				told, trouble = w.Events, w.Errors
			}
		}
		tick := time.NewTicker(cmp.Or(d.Look, look))
		defer tick.Stop()
		for {
			if x, err := run.LoadExit(d.Home, id); !yield(x, err) {
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
					waiting = filepath.Base(e.Name) != "exit.json"
				case <-trouble: // an event may be lost: ask
					waiting = false
				case <-tick.C:
					waiting = false
				}
			}
		}
	}
}

// result is the end of a run as an investigation of the pipeline, its return
// checked again: it has lain in a file.
func (d *Desk) result(x *run.Exit) (*run.Result, error) {
	res := &run.Result{
		RunID: x.RunID, Kind: run.Investigate, Key: x.Key, StartedAt: x.StartedAt, EndedAt: x.EndedAt,
		Status: x.Status, Error: x.Error, Failure: x.Failure, SessionID: x.SessionID, Usage: x.Usage,
	}
	if x.Status != run.Done {
		return res, nil
	}
	ret := new(draft.Return)
	err := d.read(folder(x.RunID)+"/return.json", ret)
	if err == nil {
		err = check(ret)
	}
	if err == nil {
		res.Value, err = d.Home.ReadFile(folder(x.RunID) + "/return.json")
	}
	if err != nil {
		res.Status, res.Error = run.Failed, fmt.Sprintf("return of the long run: %v", err)
		res.Failure = &run.Failure{Kind: agent.Abort, Message: res.Error}
	}
	return res, nil
}

// bury writes down the end of a run that died too often, or that nobody starts
// again.
func (d *Desk) bury(id string) error {
	r, err := d.request(id)
	if err != nil {
		return err
	}
	w, err := d.worker(id)
	if err != nil {
		return err
	}
	x := run.Exit{
		RunID: id, Key: r.Thread.Key, By: r.By, StartedAt: r.At, EndedAt: text.Timestamp(d.Now()), Status: run.Failed, Starts: w.Starts,
		Failure: &run.Failure{Kind: agent.Killed, Message: "its runner ended without a word"},
	}
	state, err := supervise.Watchdog(d.Home.Path(folder(id)), d.Now())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	x.Usage = state.Usage
	if state.Failure != nil {
		x.Failure = state.Failure
	}
	if d.givenUp(id) {
		x.Failure = &run.Failure{Kind: agent.Killed, Message: supervise.ErrAbandon.Error()}
	}
	x.Error = x.Failure.Message
	if err := d.write(folder(id)+"/exit.json", x); err != nil {
		return err
	}
	return d.account(&x)
}
