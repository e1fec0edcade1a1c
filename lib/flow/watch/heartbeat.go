package watch

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/text"
)

// BeatName is the heartbeat's file below the home.
const BeatName = "watch.json"

// beatEvery is how often the heartbeat is written when there are no events.
const beatEvery = 10 * time.Second

// Heartbeat is a watcher's heartbeat, for tri-health. It is not durable.
type Heartbeat struct {
	PID            int     `json:"pid"`
	Source         string  `json:"source"`
	StartedAt      string  `json:"started_at"`
	ConnectedSince *string `json:"connected_since"` // null: at least one platform is not connected
	LastEventAt    *string `json:"last_event_at"`   // of the last new event; null: none since the start
	BeatAt         string  `json:"beat_at"`         // when this was written
	// Platforms gives connected_since for each platform.
	Platforms map[string]*string `json:"platforms,omitempty"`
}

// heartbeat writes the heartbeat at most once a second.
type heartbeat struct {
	home *durable.Home
	now  func() time.Time
	mu   sync.Mutex
	is   Heartbeat
	news chan struct{}
}

func newBeat(o Options) *heartbeat {
	return &heartbeat{
		home: o.Home, now: o.Now, news: make(chan struct{}, 1),
		is: Heartbeat{PID: os.Getpid(), Source: o.Name, StartedAt: text.Timestamp(o.Now()),
			Platforms: map[string]*string{}},
	}
}

func (b *heartbeat) change(f func(*Heartbeat, *string)) {
	at := text.Timestamp(b.now())
	b.mu.Lock()
	f(&b.is, &at)
	b.mu.Unlock()
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// linkOf returns the function that a platform calls when its connection goes up or down.
func (b *heartbeat) linkOf(platform string) func(up bool) {
	b.change(func(is *Heartbeat, _ *string) { is.Platforms[platform] = nil })
	return func(up bool) {
		b.change(func(is *Heartbeat, at *string) {
			if up == (is.Platforms[platform] != nil) {
				return
			}
			is.Platforms[platform] = nil
			if up {
				is.Platforms[platform] = at
			}
			is.setConnected()
		})
	}
}

// setConnected sets ConnectedSince: null if any platform is not connected, otherwise the latest of
// their times.
func (is *Heartbeat) setConnected() {
	is.ConnectedSince = nil
	for _, at := range is.Platforms {
		if at == nil {
			is.ConnectedSince = nil
			return
		}
		if is.ConnectedSince == nil || *at > *is.ConnectedSince {
			is.ConnectedSince = at
		}
	}
}

// setLastEvent records that new events were appended to the log.
func (b *heartbeat) setLastEvent() { b.change(func(is *Heartbeat, at *string) { is.LastEventAt = at }) }

// during writes the heartbeat while fn runs, and at the end once more as not connected.
func (b *heartbeat) during(fn func() error) error {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { b.run(ctx) })
	err := fn()
	stop()
	wg.Wait()
	b.change(func(is *Heartbeat, _ *string) { clear(is.Platforms); is.setConnected() })
	b.write()
	return err
}

// run writes the heartbeat until ctx ends.
func (b *heartbeat) run(ctx context.Context) {
	idle := time.NewTicker(beatEvery)
	defer idle.Stop()
	for {
		b.write()
		select { // at most once a second
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		select {
		case <-ctx.Done():
			return
		case <-b.news:
		case <-idle.C:
		}
	}
}

// write replaces the file. A failure does not stop the watcher: an old heartbeat shows it as well.
func (b *heartbeat) write() {
	b.mu.Lock()
	is := b.is
	is.Platforms = maps.Clone(is.Platforms)
	b.mu.Unlock()
	is.BeatAt = text.Timestamp(b.now())
	text, err := json.Marshal(is)
	if err == nil {
		err = b.home.Swap(BeatName, append(text, '\n'))
	}
	if err != nil {
		slog.Warn("heartbeat", "err", err)
	}
}
