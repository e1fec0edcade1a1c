// Package worker runs agents for another machine's hub, one job at a time for each link: over ssh's standard
// input and output, or from the queue of the broker.
//
// The hub's order names an agent, a codebase and a commit. Which program that is, its keys, its sandbox and
// where the code lies are this machine's configuration.
package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/remote"
	"tri/lib/agent/supervise"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/git"
	"tri/lib/base/lazyregexp"
)

// Worker runs jobs.
type Worker struct {
	Name   string // shown on the hub
	Config *config.Config
	Home   *durable.Home // jobs keep their files below its folder work, until they have ended
	New    func(cfg config.Agent, sandbox string) (agent.Agent, error)

	place  func(o *remote.Order) (place, error) // nil: w.prepare
	places sync.Mutex                           // held while folders of jobs come and go
}

// Link is the way to the hub. Send is safe for concurrent use.
type Link interface {
	Send(remote.Message) error
	Next() (remote.Message, error) // io.EOF: the hub is gone
}

// place is where a job runs.
type place struct {
	codebase, dir string
	remove        func() error
}

const (
	folder = "work"
	// recheck is how long the worker waits for the hub's opinion of a value. Without one it sends the
	// value, which the hub then checks once more.
	recheck = 20 * time.Second
	// beat is how often the processor time of the program is measured. The hub ends a run that shows
	// no sign of life.
	beat = 20 * time.Second
	busy = 0.01 // of one processor, as in lib/agent/supervise
)

var jobID = lazyregexp.New(`^[0-9a-f]{32}$`)

// sweep removes the folders and worktrees of jobs whose worker was killed: their lock is free.
func (w *Worker) sweep(ctx context.Context) error {
	names, err := w.Home.List(folder)
	for _, name := range names {
		lock, e := w.Home.TryLock(folder + "/" + name + "/lock")
		if errors.Is(e, durable.ErrLocked) {
			continue
		}
		dir := w.Home.Path(folder + "/" + name)
		for _, b := range w.Config.Codebases {
			if repo, no := git.Open(ctx, b.Path, ""); e == nil && no == nil {
				e = repo.Remove(filepath.Join(dir, "code"))
			}
		}
		if e == nil {
			e = durable.RemoveAll(w.Home.Root(), folder+"/"+name)
		}
		if lock != nil {
			e = errors.Join(e, lock.Unlock())
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("remove the rest of job %s: %w", name, e))
		}
	}
	return err
}

// Do runs a job and sends its result. The error is a *remote.Refused if nothing was started; any other
// says that the result could not be sent.
func (w *Worker) Do(ctx context.Context, o *remote.Order, link Link) error {
	refuse := func(err error) error { return &remote.Refused{Worker: w.Name, Reason: err.Error()} }
	if o.V != remote.Version || !jobID.MatchString(o.ID) {
		return refuse(fmt.Errorf("the hub speaks version %d, this is %d", o.V, remote.Version))
	}
	a, err := w.agent(o)
	if err != nil {
		return refuse(err)
	}
	find := w.prepare
	if w.place != nil {
		find = func(_ context.Context, o *remote.Order) (place, error) { return w.place(o) }
	}
	at, err := find(ctx, o)
	if err != nil {
		return refuse(err)
	}
	j := &job{w: w, order: o, link: link, at: at, checked: make(chan *remote.Checked, 1)}
	if err := link.Send(remote.Message{Taken: &remote.Taken{Worker: w.Name}}); err != nil {
		return errors.Join(err, at.remove())
	}
	r := j.run(ctx, a)
	return errors.Join(j.give(r), at.remove())
}

// agent makes the agent that the order names, with the settings of this machine. The sandbox is off only
// where both sides say so.
func (w *Worker) agent(o *remote.Order) (agent.Agent, error) {
	sandbox := w.Config.Sandbox
	if o.Sandbox != "off" {
		sandbox = o.Sandbox
	}
	for _, cfg := range []config.Agent{w.Config.Investigator, w.Config.Validator, w.Config.Box.Agent,
		{Agent: "search"}} {
		if cfg.Agent != o.Agent || cfg.On != "" {
			continue
		}
		if o.Model != "" {
			cfg.Model = o.Model
		}
		if cfg.Home == "" && w.Home != nil {
			cfg.Home = w.Home.Dir()
		}
		return w.New(cfg, sandbox)
	}
	return nil, fmt.Errorf("its configuration has no agent %q", o.Agent)
}

// prepare makes a worktree at the order's commit, in a folder of the job.
func (w *Worker) prepare(ctx context.Context, o *remote.Order) (at place, err error) {
	path := ""
	for _, b := range w.Config.Codebases {
		if b.Name == o.Codebase {
			path = b.Path
		}
	}
	switch {
	case path == "":
		return at, fmt.Errorf("its configuration has no codebase %q", o.Codebase)
	case o.Commit == "":
		return at, fmt.Errorf("codebase %q has no commit on the hub: commit the files", o.Codebase)
	}
	repo, err := git.Open(ctx, path, "")
	if err != nil {
		return at, err
	}
	if have, err := repo.Resolve(ctx, o.Commit); err != nil || have != o.Commit {
		return at, fmt.Errorf("codebase %q lacks commit %.12s: git fetch there", o.Codebase, o.Commit)
	}
	dir, tree := w.Home.Path(folder+"/"+o.ID), w.Home.Path(folder+"/"+o.ID+"/code")
	w.places.Lock()
	err = w.sweep(ctx)
	lock, e := w.Home.TryLock(folder + "/" + o.ID + "/lock") // makes the folder
	w.places.Unlock()
	if e != nil {
		return at, errors.Join(err, e)
	}
	at.remove = func() error {
		w.places.Lock()
		defer w.places.Unlock()
		return errors.Join(repo.Remove(tree), durable.RemoveAll(w.Home.Root(), folder+"/"+o.ID), lock.Unlock())
	}
	err = errors.Join(err, w.Home.MkdirAll(folder+"/"+o.ID+"/run"), repo.Remove(tree))
	if err := errors.Join(err, repo.Create(ctx, tree, o.Commit)); err != nil {
		return at, errors.Join(err, at.remove())
	}
	at.dir, at.codebase = filepath.Join(dir, "run"), filepath.Join(tree, repo.Prefix)
	return at, nil
}

// job is one job in hand.
type job struct {
	w       *Worker
	order   *remote.Order
	link    Link
	at      place
	checks  int
	checked chan *remote.Checked

	mu  sync.Mutex
	pid int
}

// run runs the agent until it ends, the hub cancels or is gone.
func (j *job) run(ctx context.Context, a agent.Agent) *remote.Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := j.order
	t := agent.Task{
		Prompt: o.Prompt, Question: o.Question, Messages: o.Messages, Schema: o.Schema, Tools: o.Tools,
		Hidden:    o.Hidden,
		SessionID: o.SessionID, MaxTurns: o.MaxTurns, MaxCostUSD: o.MaxCostUSD,
		Codebase: j.at.codebase, Dir: j.at.dir, Watch: j.see,
		Heard: func(id, how string) {
			_ = j.link.Send(remote.Message{Heard: &remote.Heard{ID: id, How: how}})
		},
	}
	if o.Check {
		t.Check = func(value []byte) error { return j.check(ctx, value) }
		t.Repair = func(fault error) string {
			if f := new(unfit); errors.As(fault, &f) {
				return f.Repair
			}
			return fault.Error()
		}
	}
	words := make(chan agent.Word, 1024)
	if o.Words {
		t.Words = words
	}
	go j.listen(words, cancel)
	go j.alive(ctx)
	res, err := a.Run(ctx, t)
	r := &remote.Result{
		ID: o.ID, Worker: j.w.Name, Value: res.Value, Text: res.Text, Model: res.Model,
		SessionID: res.SessionID,
		Usage:     res.Usage, Error: remote.FaultOf(err),
	}
	if ctx.Err() != nil && err != nil {
		r.Error.Is = remote.Canceled
	}
	r.SHA256 = r.Sum()
	return r
}

// listen handles what the hub says until it is gone.
func (j *job) listen(words chan<- agent.Word, cancel func()) {
	defer cancel()
	for {
		m, err := j.link.Next()
		switch {
		case err != nil, m.Cancel:
			return
		case m.Word != nil:
			select {
			case words <- agent.Word{ID: m.Word.ID, Kind: m.Word.Kind, Text: m.Word.Text}:
			default: // the hub keeps a word that was not heard
			}
		case m.Checked != nil:
			select {
			case j.checked <- m.Checked:
			default:
			}
		}
	}
}

// see passes on an event. Started has the process that alive measures.
func (j *job) see(e agent.Event) {
	if e.PID > 0 {
		j.mu.Lock()
		j.pid = e.PID
		j.mu.Unlock()
	}
	_ = j.link.Send(remote.Message{Event: &e}) // the result says how it ended
}

// alive reports processor time that the program uses while it says nothing.
func (j *job) alive(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	var used time.Duration
	of := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		j.mu.Lock()
		pid := j.pid
		j.mu.Unlock()
		if pid == 0 {
			pid = os.Getpid() // an agent in this process
		}
		now := supervise.CPUTime(pid)
		if pid == of && (now-used).Seconds() >= busy*beat.Seconds() {
			j.see(agent.Event{Kind: agent.Milestone, Text: "works on " + j.w.Name})
		}
		used, of = now, pid
	}
}

// unfit is the hub's opinion of a value.
type unfit struct{ remote.Checked }

func (f *unfit) Error() string { return f.Fault }

// check asks the hub what is wrong with a value.
func (j *job) check(ctx context.Context, value []byte) error {
	j.checks++
	if err := j.link.Send(remote.Message{Check: &remote.Check{N: j.checks, Value: value}}); err != nil {
		return nil //nolint:nilerr // the hub checks the result too
	}
	end := time.NewTimer(recheck)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case c := <-j.checked:
			if c.N != j.checks {
				continue
			}
			if c.Fault != "" {
				return &unfit{*c}
			}
			return nil
		}
	}
}

// give sends the run's files and its result.
func (j *job) give(r *remote.Result) error {
	for _, name := range remote.Files {
		sum, err := j.file(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if sum.Bytes > 0 {
			r.Files = append(r.Files, sum)
		}
	}
	if b, err := json.Marshal(r); err != nil || len(b) > remote.MaxOrder {
		// The queue would refuse it, and have the run paid again.
		r.Value, r.Text, r.Error = nil, "", remote.FaultOf(agent.Fail(agent.ToolError,
			fmt.Errorf("its result has %d bytes, more than %d", len(b), remote.MaxOrder)))
		r.SHA256 = r.Sum()
	}
	return j.link.Send(remote.Message{Result: r})
}

func (j *job) file(name string) (remote.Sum, error) {
	sum := remote.Sum{Name: name}
	root, err := os.OpenRoot(j.at.dir)
	if err != nil {
		return sum, err
	}
	defer root.Close()
	f, err := durable.OpenFile(root, name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	for buf := make([]byte, remote.MaxPart); ; {
		n, err := io.ReadFull(f, buf)
		n = int(min(int64(n), remote.MaxFile-sum.Bytes))
		if sum.Bytes += int64(n); n > 0 {
			h.Write(buf[:n])
			if err := j.link.Send(remote.Message{File: &remote.Part{Name: name, Data: buf[:n]}}); err != nil {
				return sum, err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			sum.SHA256 = hex.EncodeToString(h.Sum(nil))
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
	}
}
