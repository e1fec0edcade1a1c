package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"tri/lib/chat"
	"tri/lib/record/event"
)

// batch is how many events are made durable together.
const batch = 500

// Delivery is one item that a platform sent, or the end of the connection.
type Delivery[T any] struct {
	What T
	Done func(error) error // acknowledges What (nil), or refuses it
	End  error             // not nil: the connection ended, and What is not set
}

// Feed sends what next reads to in, until a delivery ends the connection or ctx ends. It blocks while in
// is full, so that the platform is slowed down. next returns false if it read nothing to deliver.
func Feed[T any](ctx context.Context, in chan<- Delivery[T], next func(context.Context) (Delivery[T], bool)) {
	for {
		d, ok := next(ctx)
		if !ok {
			continue
		}
		select {
		case in <- d:
		case <-ctx.Done():
			return
		}
		if d.End != nil {
			return
		}
	}
}

// Receiver processes the deliveries of a connection.
type Receiver[T any] struct {
	CatchUp func(context.Context) error            // emits the missed messages
	Parse   func(context.Context, T, *Batch) error // adds the events of T
	Commit  func(*Batch) error                     // emits the batch and acknowledges it
	Sweep   time.Duration                          // interval between two CatchUps; zero: only one
	// Resumed means that the connection continues an earlier one: nothing was missed unless a delivery
	// shows it, and the connection is up when the first delivery arrives.
	Resumed bool
}

// ErrMissed is returned by Parse for a delivery that shows that earlier ones never arrived. The
// events before it are committed, the gap is caught up, and the delivery is parsed again.
var ErrMissed = errors.New("deliveries are missing")

// Receive catches up, reports the connection, and then processes deliveries until the connection or
// ctx ends.
func (r *Receiver[T]) Receive(ctx context.Context, to chat.Handler, in <-chan Delivery[T]) error {
	if !r.Resumed {
		if err := r.CatchUp(ctx); err != nil {
			return err
		}
		to.OnConnect(true)
	}
	var sweep <-chan time.Time
	if r.Sweep > 0 {
		t := time.NewTicker(r.Sweep)
		defer t.Stop()
		sweep = t.C
	}
	for up := !r.Resumed; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sweep:
			if err := r.CatchUp(ctx); err != nil {
				return err
			}
		case d := <-in:
			if !up && d.End == nil {
				up = true
				to.OnConnect(true)
			}
			if err := r.take(ctx, d, in); err != nil {
				return err
			}
		}
	}
}

// take commits d and the deliveries that have queued up behind it. One that cannot be parsed now is
// refused and is found in the history later.
func (r *Receiver[T]) take(ctx context.Context, d Delivery[T], more <-chan Delivery[T]) error {
	var b Batch
	for {
		if d.End != nil {
			return errors.Join(r.Commit(&b), d.End)
		}
		err := r.Parse(ctx, d.What, &b)
		if errors.Is(err, ErrMissed) {
			if err := r.Commit(&b); err != nil {
				return err
			}
			if err := r.CatchUp(ctx); err != nil {
				return err
			}
			b = Batch{}
			err = r.Parse(ctx, d.What, &b)
		}
		if err != nil {
			_ = d.Done(err)
			return errors.Join(r.Commit(&b), err)
		}
		b.Done = append(b.Done, d.Done)
		if len(b.Done) == batch {
			return r.Commit(&b)
		}
		select {
		case d = <-more:
			continue
		default:
		}
		return r.Commit(&b)
	}
}

// Recover commits the messages of histories in their order, batch by batch. add adds a message to a
// batch, unless it was emitted already.
func Recover[M any](missed []M, add func(*M, *Batch) error, commit func(*Batch) error) error {
	for part := range slices.Chunk(missed, batch) {
		var g Batch
		for i := range part {
			if err := add(&part[i], &g); err != nil {
				return err
			}
		}
		if err := commit(&g); err != nil {
			return err
		}
	}
	return nil
}

// Batch holds events that a platform delivered together. They are acknowledged only when all of
// them are durable.
type Batch struct {
	Events  []event.Event
	IDs     map[string]bool // identities of Events
	Actions []event.Action
	Done    []func(error) error // acknowledge to the platform (nil), or refuse
}

// Add appends an event, unless one with the same identity is in the batch.
func (b *Batch) Add(e event.Event, id string) {
	if b.IDs == nil {
		b.IDs = map[string]bool{}
	}
	if !b.IDs[id] {
		b.IDs[id] = true
		b.Events = append(b.Events, e)
	}
}

// Commit stores the events, then the actions, calls kept when all are durable, and then
// acknowledges or refuses the deliveries. failed is the error of storing, told the errors of
// acknowledging.
func (b *Batch) Commit(to chat.Handler, kept func()) (failed, told error) {
	if len(b.Events) > 0 {
		failed = to.OnEvents(b.Events...)
	}
	for _, a := range b.Actions {
		if failed == nil {
			failed = to.OnAction(a)
		}
	}
	if failed == nil {
		kept()
	}
	for _, done := range b.Done {
		told = errors.Join(told, done(failed))
	}
	return failed, told
}
