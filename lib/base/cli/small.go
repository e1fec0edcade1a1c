package cli

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// When a program that is still there gives back memory: once it is past its
// beginning, and whenever it has rested after work, which is that it has made little
// anew for as long as look; and every now and then if it never rests.
const (
	look   = 5 * time.Second
	little = 1 << 20 // bytes
	often  = 5 * time.Minute
)

// beSmall keeps a program small that waits for most of its life: what reading the
// configuration and catching up took is not needed again, nor what a busy hour did.
func beSmall(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	r := rester{worked: true}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if r.rests(now, allocated()) {
				debug.SetGCPercent(50)
				debug.FreeOSMemory()
			}
		}
	}
}

// rester tells rest from work by what is allocated.
type rester struct {
	had    uint64    // bytes, when it looked last
	worked bool      // since memory was given back
	gave   time.Time // when that was
}

// rests reports whether it is time to give back memory.
func (r *rester) rests(now time.Time, has uint64) bool {
	busy := has-r.had > little
	r.had = has
	r.worked = r.worked || busy
	if r.gave.IsZero() {
		r.gave = now
	}
	if !r.worked || busy && now.Sub(r.gave) < often {
		return false
	}
	r.worked, r.gave = false, now
	return true
}

// allocated is how many bytes the program has made in its life.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
