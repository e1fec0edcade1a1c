package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"tri/lib/chat"
)

// batch is how many events are made durable together.
const batch = 500

// Delivery is one thing that a platform has sent, or the end of the connection.
type Delivery[T any] struct {
	What T
	Done func(error) error // acknowledges What (nil), or refuses it
	End  error             // not nil: the connection ended, and there is no What
}

// Receiver takes what a connection delivers.
type Receiver[T any] struct {
	CatchUp func(context.Context) error            // emits what was missed
	Parse   func(context.Context, T, *Batch) error // adds what T holds
	Commit  func(*Batch) error                     // emits it and tells the platform
	Sweep   time.Duration                          // from one CatchUp to the next
}

// Receive catches up, reports the connection, and then takes what comes until it or
// ctx ends.
func (r *Receiver[T]) Receive(ctx context.Context, to chat.Handler, in <-chan Delivery[T]) error {
	if err := r.CatchUp(ctx); err != nil {
		return err
	}
	to.OnConnect(true)
	sweep := time.NewTicker(r.Sweep)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sweep.C:
			if err := r.CatchUp(ctx); err != nil {
				return err
			}
		case d := <-in:
			if err := r.take(ctx, d, in); err != nil {
				return err
			}
		}
	}
}

// take commits d and what has come behind it meanwhile. What cannot be parsed now is
// refused, and will be in the history.
func (r *Receiver[T]) take(ctx context.Context, d Delivery[T], more <-chan Delivery[T]) error {
	var g Batch
	for {
		if d.End != nil {
			return errors.Join(r.Commit(&g), d.End)
		}
		if err := r.Parse(ctx, d.What, &g); err != nil {
			_ = d.Done(err)
			return errors.Join(r.Commit(&g), err)
		}
		g.Done = append(g.Done, d.Done)
		if len(g.Done) == batch {
			return r.Commit(&g)
		}
		select {
		case d = <-more:
			continue
		default:
		}
		return r.Commit(&g)
	}
}

// Recover commits what histories have, in its order and part by part. add adds a
// message to a batch, unless it was emitted already.
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

// Recovered counts what was recovered. The zero value is ready for use.
type Recovered struct {
	messages int
	chats    map[string]bool
}

// Add counts a message or a change of a chat.
func (n *Recovered) Add(chatID string) {
	if n.chats == nil {
		n.chats = map[string]bool{}
	}
	n.messages++
	n.chats[chatID] = true
}

// Report says how much it was, if anything.
func (n *Recovered) Report(platform string, to chat.Handler) {
	if n.messages > 0 {
		to.Logf("%s: recovered %d messages and changes of %d chats", platform, n.messages, len(n.chats))
	}
}
