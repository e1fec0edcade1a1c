package webhook

import (
	"context"
	"errors"
	"net"

	"tri/lib/chat/session"
)

// Intake passes the contents of calls to the sessions of a source.
type Intake[T any] struct {
	In   chan session.Delivery[T]
	Over chan struct{} // closed when the sessions have ended
}

// NewIntake returns an empty intake.
func NewIntake[T any]() Intake[T] {
	return Intake[T]{In: make(chan session.Delivery[T]), Over: make(chan struct{})}
}

// Take passes what to the session, and reports whether it has become durable.
func (i Intake[T]) Take(ctx context.Context, what T) bool {
	done := make(chan error, 1)
	select {
	case i.In <- session.Delivery[T]{What: what, Done: func(err error) error { done <- err; return nil }}:
	case <-ctx.Done():
		return false
	case <-i.Over:
		return false
	}
	select {
	case err := <-done:
		return err == nil
	case <-ctx.Done():
	case <-i.Over:
	}
	return false
}

// Run answers calls on l, or at addr if l is nil, while sessions runs. It returns when either ends.
func (i Intake[T]) Run(ctx context.Context, l net.Listener, addr string, plausible Plausible, handle Handler,
	sessions func(context.Context) error) error {
	if l == nil {
		var err error
		if l, err = Listen(addr); err != nil {
			return err
		}
	}
	return While(ctx, l, plausible, handle, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { close(i.Over) })
		return sessions(ctx)
	})
}

// While answers calls on l while sessions runs. It returns when either ends.
func While(ctx context.Context, l net.Listener, plausible Plausible, handle Handler,
	sessions func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, plausible, handle); cancel() }()
	err := sessions(ctx)
	cancel()
	return errors.Join(err, <-served)
}
