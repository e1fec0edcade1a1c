package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimit: a time limit counts no time that is held; contexts below it end with the same error and cause.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := WithLimit(t.Context(), 5*time.Minute)
		defer stop()
		below, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		began := time.Now()
		time.Sleep(time.Minute) // of the bubble's clock
		one, two := Hold(below), Hold(below)
		time.Sleep(time.Hour)
		one()
		one()
		time.Sleep(time.Hour)
		two()
		<-below.Done()
		if took := time.Since(began); took != 2*time.Hour+5*time.Minute {
			t.Errorf("ended after %v", took)
		}
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(below.Err(), ctx.Err()) ||
			!errors.Is(context.Cause(below), ctx.Err()) {
			t.Errorf("%v, %v, %v", ctx.Err(), below.Err(), context.Cause(below))
		}
		outer, end := context.WithCancel(t.Context())
		ctx, stop = WithLimit(outer, time.Hour)
		defer stop()
		end()
		if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("%v", ctx.Err())
		}
	})
}
