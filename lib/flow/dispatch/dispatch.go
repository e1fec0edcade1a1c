// Package dispatch is the orchestrator: it journals inputs, moves threads, starts runs within the budget
// and offers drafts. It reads classified events, decisions and replies. It writes each input that moves a
// thread into its journal first, folds it with thread.Apply, and then carries out the effects that are
// due. What else it does subscribes to these moves: see subscriber. It never opens code, logs or diffs. The
// remaining work is a function of the files on disk, so the process may be killed at any instant.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/notify"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// Options configure a Dispatcher.
type Options struct {
	Home   *durable.Home
	Config *config.Config
	// Policy returns who may decide, again before each decision of a person. If it is nil, Config says it.
	Policy func() (decision.Policy, error)
	// Codebase is used for chats for which the configuration names no codebase.
	Codebase string
	Prompts  *prompt.Set // for the rubrics
	// Input is the source of classified events. Events already applied are skipped.
	Input stream.Input
	// Investigate and Validate carry out a run.
	Investigate func(ctx context.Context, t *thread.Thread, hints []Hint, r *run.Run) (*draft.Return, error)
	Validate    func(ctx context.Context, t *thread.Thread, others []Hint,
		r *run.Run) (*verdict.Verdict, error)

	// Stands validates an earlier answer again by code alone. If it is nil, every question is
	// investigated.
	Stands func(ctx context.Context, t *thread.Thread) (*verdict.Verdict, error)

	// Second chooses between the two best intents of a message of an inbox, with inbox.model. If it is nil,
	// the rules do.
	Second agent.Agent

	// Long runs the investigations of tier 2. If it is nil, they run in this process.
	Long Long

	Once   bool // return when the input has ended and every thread is at rest
	Shadow bool // make no offers, so nothing is posted

	Waiting func(n int) // with Once, gets the number of threads that wait for a person at the end

	Out io.Writer // a record for each move of a thread
	Say func(format string, args ...any)
	Now func() time.Time

	// fault is called after durable steps; tests crash the program there.
	fault func(at string) error
}

// Hint is a finding of other work that an investigator or validator is given.
type Hint = thread.Hint

// Dispatcher is a fold loop: it takes inputs, journals them, folds them into threads, and carries out what is
// due. Subscribers follow its moves. One process at a time runs one for a home.
type Dispatcher struct {
	Options
	rules       *rules
	turns       *turns
	store       *store
	gate        *gate
	pool        *pool
	subscribers []subscriber
	wake        *time.Timer // has runs looked at that may start now
	refused     bool        // a message that was refused has been reported
	began       int64       // seq of the last event taken before this process
}

// inHome reports whether the home itself would be the codebase, as in a pipeline, whose stages run there.
func (o *Options) inHome() bool {
	if len(o.Config.Codebases) > 0 {
		return false
	}
	at, err := filepath.Abs(o.Codebase)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	home, err2 := filepath.EvalSymlinks(o.Home.Dir())
	return err == nil && err2 == nil && (at == home || strings.HasPrefix(at, home+"/"))
}

const lockName = "locks/dispatch"

// Run dispatches until the context ends, or with Once until no work is left.
func Run(ctx context.Context, o Options) error {
	if o.inHome() {
		return sysexit.Hint(sysexit.With(sysexit.Config, errors.New("no codebase is configured")),
			"name one under codebases, or start in its folder: that of the home holds other people's questions")
	}
	lock, err := o.Home.TryLock(lockName)
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(fmt.Errorf("another tri-dispatch works for this home: %w", err),
			"tri-health says which process it is")
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	d, err := newDispatcher(o)
	if err != nil {
		return err
	}
	return d.run(ctx)
}

func (d *Dispatcher) run(ctx context.Context) error {
	ends := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ends)) // not by a signal, as Cause says
	end := func() { cancel(agent.ErrLater) }
	defer end()
	defer context.AfterFunc(ends, end)()
	if err := d.each(subscriber.open); err != nil {
		return err
	}
	defer d.close()
	if err := d.recover(ctx); err != nil {
		return err
	}
	d.taken(func(e *event.Classified) { // the beginning of a turn whose end comes now
		if !d.turns.outdated(e) {
			d.turns.see(e)
		}
	})
	err := d.loop(ctx)
	end()
	d.pool.drain()
	if d.Once && err == nil && d.Waiting != nil {
		d.Waiting(d.store.waiting())
	}
	return errors.Join(err, d.store.saveMark())
}

func newDispatcher(o Options) (*Dispatcher, error) {
	if o.fault == nil {
		o.fault = func(string) error { return nil }
	}
	rules, err := newRules(o.Config, o.Prompts)
	if err != nil {
		return nil, sysexit.With(sysexit.Config, err)
	}
	store, err := openStore(&o)
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		Options: o, rules: rules, turns: newTurns(), store: store, gate: newGate(o), pool: newPool(o),
		wake: time.NewTimer(time.Hour),
	}
	d.attach()
	return d, nil
}

func (d *Dispatcher) close() {
	for _, s := range d.subscribers {
		if err := s.close(); err != nil {
			d.Say("close: %v", err)
		}
	}
	if err := d.store.journal.Close(); err != nil {
		d.Say("close: %v", err)
	}
}

// show requests a card in the operators' channel, if there is one.
func (o *Options) show(s notify.Signal) error {
	g := o.Config.Gate.Chat
	if g.ChatID == "" {
		return nil
	}
	s.At, s.Kind, s.By, s.Platform, s.ChatID = text.Timestamp(o.Now()), notify.Card, "tri-dispatch",
		g.Platform, g.ChatID
	return notify.Ask(o.Home, s)
}

type classified struct {
	event  *event.Classified
	seq    int64
	second string // the intent that a model prefers
}

// loop takes inputs as they arrive, in batches if several are waiting.
func (d *Dispatcher) loop(ctx context.Context) error {
	d.began = d.store.mark.Seq
	events := make(chan classified, 64)
	ended := make(chan error, 1)
	go func() {
		err := d.read(ctx, events)
		if err != nil && !d.Once && ctx.Err() == nil && !errors.As(err, new(stream.Refusals)) {
			d.pool.fail(err) // it would read no further message
		}
		ended <- err
		close(events)
	}()
	decisions := d.follow(ctx, "decisions.ndjson", d.store.mark.Decisions)
	replies := d.follow(ctx, "replies.ndjson", d.store.mark.Replies)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	source := events
	for {
		if source == nil && d.Once && d.done() {
			return <-ended
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case err = <-d.pool.lost:
		case c, ok := <-source:
			if !ok {
				source = nil
				continue
			}
			err = d.takeEvents(c, source)
		case l := <-decisions:
			err = d.takeDecision(l)
		case l := <-replies:
			err = d.takeReply(l)
		case r := <-d.pool.results:
			err = d.takeResult(r)
		case in := <-d.pool.begun:
			err = d.take(in)
		case <-tick.C:
			err = d.tick(d.Now())
		case <-d.wake.C:
		}
		if err == nil {
			err = d.startRuns(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// read parses events into the channel.
func (d *Dispatcher) read(ctx context.Context, to chan<- classified) error {
	model, err := openSecond(d.Options)
	if err != nil {
		return err
	}
	defer model.close()
	in := d.Input
	in.Durable = true
	// In a pipe nothing shows that a seq belongs to the log that the mark refers to. So everything is
	// read, and events already applied are recognized by identity.
	if in.After = -1; len(in.Files) > 0 {
		in.After = d.store.mark.Seq
	}
	_, err = stream.Each(ctx, in, func(rec ndjson.Record) error {
		e, err := event.Parse(rec.Bytes)
		if err != nil {
			return stream.Refuse("%w", err)
		}
		c := classified{event: e, seq: -1}
		if e.Seq != nil {
			c.seq = *e.Seq
		}
		if c.second, err = model.ask(ctx, e); err != nil {
			return err
		}
		select {
		case to <- c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return err
}

// done reports whether, with the input at its end, nothing is left that could change without a person.
func (d *Dispatcher) done() bool {
	if d.pool.busy() || d.behind("decisions.ndjson", d.store.mark.Decisions) ||
		d.behind("replies.ndjson", d.store.mark.Replies) {
		return false
	}
	for _, t := range d.store.open {
		if !t.AtRest() {
			return false
		}
	}
	return true
}

func (d *Dispatcher) behind(name string, off int64) bool {
	size, err := wholeSize(d.Home, name)
	return err == nil && off < size
}

func (d *Dispatcher) tick(now time.Time) error {
	if err := d.store.look(); err != nil {
		return err
	}
	err := d.each(func(s subscriber) error {
		ins, err := s.tick(now)
		return errors.Join(err, d.take(ins...))
	})
	return errors.Join(err, d.store.saveMark())
}
