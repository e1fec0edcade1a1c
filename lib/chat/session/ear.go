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
	Done func(error) error // tells the platform that What is durable (nil), or why not
	End  error             // not nil: the connection ended, and there is no What
}

// Ear takes what a connection delivers.
type Ear[T any] struct {
	CatchUp    func(context.Context) error                    // emits what was missed
	Understand func(context.Context, T, *chat.Gathered) error // adds what T holds
	Durable    func(*chat.Gathered) error                     // emits it and tells the platform
	Sweep      time.Duration                                  // from one CatchUp to the next
}

// Follow catches up, says that the platform can be heard, and then takes what comes
// until the connection or ctx ends.
func (e *Ear[T]) Follow(ctx context.Context, to chat.Handler, in <-chan Delivery[T]) error {
	if err := e.CatchUp(ctx); err != nil {
		return err
	}
	to.OnConnect(true)
	sweep := time.NewTicker(e.Sweep)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sweep.C:
			if err := e.CatchUp(ctx); err != nil {
				return err
			}
		case d := <-in:
			if err := e.take(ctx, d, in); err != nil {
				return err
			}
		}
	}
}

// take makes d, and what has come behind it meanwhile, durable. What cannot be
// understood now is refused, and is in the history.
func (e *Ear[T]) take(ctx context.Context, d Delivery[T], more <-chan Delivery[T]) error {
	var g chat.Gathered
	for {
		if d.End != nil {
			return errors.Join(e.Durable(&g), d.End)
		}
		if err := e.Understand(ctx, d.What, &g); err != nil {
			_ = d.Done(err)
			return errors.Join(e.Durable(&g), err)
		}
		g.Done = append(g.Done, d.Done)
		if len(g.Done) == batch {
			return e.Durable(&g)
		}
		select {
		case d = <-more:
			continue
		default:
		}
		return e.Durable(&g)
	}
}

// Recover emits what histories have, in its order and part by part. hear adds a
// message to what is gathered, unless it was heard already.
func Recover[M any](missed []M, hear func(*M, *chat.Gathered) error, durable func(*chat.Gathered) error) error {
	for part := range slices.Chunk(missed, batch) {
		var g chat.Gathered
		for i := range part {
			if err := hear(&part[i], &g); err != nil {
				return err
			}
		}
		if err := durable(&g); err != nil {
			return err
		}
	}
	return nil
}

// News counts what was recovered, to be told. The zero value is ready for use.
type News struct {
	messages int
	chats    map[string]bool
}

// Add counts a message or a change of a chat.
func (n *News) Add(chatID string) {
	if n.chats == nil {
		n.chats = map[string]bool{}
	}
	n.messages++
	n.chats[chatID] = true
}

// Tell says how much it was, if anything.
func (n *News) Tell(platform string, to chat.Handler) {
	if n.messages > 0 {
		to.Logf("%s: recovered %d messages and changes of %d chats", platform, n.messages, len(n.chats))
	}
}
