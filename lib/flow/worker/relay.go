package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tri/lib/agent/remote"
	"tri/lib/base/broker"
	"tri/lib/base/sysexit"
)

const (
	look   = 500 * time.Millisecond // how often the result is looked for without news
	submit = 2 * time.Second        // how often a job of which no worker is heard is submitted again
	endure = 5 * time.Second        // how long a cancelled job is waited for
)

// Relay has one job of this hub done by the workers of the queue. It speaks the lines of package remote.
type Relay struct {
	Conn *broker.Conn

	hub   *broker.Hub
	order *remote.Order
	out   *lines
	news  chan struct{}

	mu    sync.Mutex
	try   int       // of the worker that is listened to
	key   string    // its own
	alive time.Time // when it was heard
	final *remote.Result
}

// Run takes the order from the first line of in, and writes what the worker says to out. Without the end
// of in before a result, the job runs on: an order that is sent again finds its result.
func (r *Relay) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	l := &lines{in: remote.NewReader(in), out: out}
	order, err := l.order()
	if err != nil || order == nil {
		return err
	}
	r.order, r.out, r.news = order, l, make(chan struct{}, 1)
	data, err := json.Marshal(r.order)
	if err != nil {
		return err
	}
	if r.hub, err = r.Conn.Hub(ctx); err != nil {
		return err
	}
	stop, err := r.hub.Hear(r.order.ID, r.heard)
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	canceled := make(chan struct{})
	go func() {
		defer cancel()
		r.speak(ctx, canceled)
	}()
	return r.wait(ctx, data, canceled)
}

// wait submits the job until its result is there.
func (r *Relay) wait(ctx context.Context, data []byte, canceled <-chan struct{}) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	var submitted, ended time.Time
	for {
		if done, err := r.deliver(ctx); done || err != nil {
			return err
		}
		if ended.IsZero() && time.Since(submitted) > submit && !r.lives() {
			if r.hub.Submit(ctx, r.order.ID, data) == nil { // else it is tried again
				submitted = time.Now()
			} else { // the server may have lost the queue with its disk
				_, _ = r.Conn.Hub(ctx)
			}
		}
		if !ended.IsZero() && (!r.lives() || time.Since(ended) > endure) {
			return r.give(&remote.Result{Error: &remote.Fault{Message: "cancelled", Is: remote.Canceled}})
		}
		select {
		case <-ctx.Done():
			return nil // the hub is gone
		case <-tick.C:
		case <-r.news:
		case <-canceled:
			canceled, ended = nil, time.Now()
			// a job that stays in the queue has a result later, which is not read
			_ = r.hub.Withdraw(ctx, r.order.ID)
		}
	}
}

// deliver gives the result to the hub, if there is one.
func (r *Relay) deliver(ctx context.Context) (bool, error) {
	r.mu.Lock()
	final := r.final
	r.mu.Unlock()
	if final != nil {
		return true, r.give(final)
	}
	b, err := r.hub.Result(ctx, r.order.ID)
	if err != nil {
		_, _ = r.Conn.Hub(ctx) // as in wait
	}
	if err != nil || b == nil {
		return false, nil // looked for again
	}
	var s stored
	if err := json.Unmarshal(b, &s); err != nil {
		return true, sysexit.With(sysexit.Data, fmt.Errorf("read the result: %w", err))
	}
	for i, name := range s.Parts {
		data, err := r.hub.Part(ctx, r.order.ID, s.Try, i+1)
		if err != nil {
			return true, sysexit.With(sysexit.TempFail, fmt.Errorf("read %s: %w", name, err))
		}
		if data == nil { // lost with the server's disk, before the result came
			s.Files = slices.DeleteFunc(s.Files, func(f remote.Sum) bool { return f.Name == name })
			continue
		}
		if err := r.out.Send(remote.Message{File: &remote.Part{Name: name, Data: data}}); err != nil {
			return true, err
		}
	}
	return true, r.give(&s.Result)
}

func (r *Relay) give(res *remote.Result) error {
	if res.ID = r.order.ID; res.SHA256 == "" {
		res.SHA256 = res.Sum()
	}
	return r.out.Send(remote.Message{Result: res})
}

// lives reports whether a worker was heard within two leases.
func (r *Relay) lives() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.alive) < 2*r.Conn.Lease
}

// heard passes on what the last worker of the job says. A try is of the worker that was heard first in it,
// and only Taken, which it repeats, begins the next.
func (r *Relay) heard(key string, try int, data []byte) {
	var m remote.Message
	if m.Read(data) != nil {
		return
	}
	r.mu.Lock()
	if try < r.try || r.try > 0 && (try == r.try && key != r.key || try > r.try && m.Taken == nil) {
		r.mu.Unlock()
		return
	}
	again := m.Taken != nil && try == r.try
	r.try, r.key, r.alive = try, key, time.Now()
	switch {
	case m.Result != nil && m.Result.SHA256 != "": // one that is not stored
		r.final = m.Result
		m.Result = nil
		fallthrough
	case m.Result != nil:
		m.Result = nil
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
	r.mu.Unlock()
	if !again && m != (remote.Message{}) {
		_ = r.out.Send(m) // a hub that is gone ends our input
	}
}

// speak passes on what the hub says until it is gone. Words are repeated until a worker has them, also the
// next one.
func (r *Relay) speak(ctx context.Context, canceled chan<- struct{}) {
	var words []remote.Message
	told := map[int]int{} // words that each try has received
	in := make(chan remote.Message)
	go func() {
		defer close(in)
		for {
			m, err := r.out.Next()
			if err != nil {
				return
			}
			select {
			case in <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(look)
	defer tick.Stop()
	cancelling := false
	for {
		select {
		case <-ctx.Done():
			return
		case m, more := <-in:
			switch {
			case !more:
				return
			case m.Word != nil:
				words = append(words, m)
			case m.Cancel && !cancelling:
				cancelling = true
				close(canceled)
			case m.Checked != nil:
				r.tell(ctx, m)
			}
		case <-tick.C:
		}
		r.mu.Lock()
		try := r.try
		r.mu.Unlock()
		if cancelling {
			r.tell(ctx, remote.Message{Cancel: true})
		}
		for try > 0 && told[try] < len(words) && r.tell(ctx, words[told[try]]) {
			told[try]++
		}
	}
}

func (r *Relay) tell(ctx context.Context, m remote.Message) bool {
	r.mu.Lock()
	key := r.key
	r.mu.Unlock()
	b, err := json.Marshal(m)
	return err == nil && key != "" && r.hub.Tell(ctx, key, r.order.ID, b)
}
