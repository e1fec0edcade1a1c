package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/remote"
	"tri/lib/base/broker"
	"tri/lib/base/sysexit"
)

const (
	// refusals is how often a job is handed out before the lack of a codebase or an agent is its result.
	refusals = 12
	retry    = 500 * time.Millisecond // until a refused job is handed out again
	// patience is how long a worker tries to store a result.
	patience = 10 * time.Minute
)

// stored is a result in the queue, with where the parts of its files are.
type stored struct {
	remote.Result
	Try   int      `json:"try"`
	Parts []string `json:"parts,omitempty"` // the name of each part's file
}

// Queue takes jobs from the broker.
type Queue struct {
	Worker *Worker
	Conn   *broker.Conn
	Slots  int // jobs at once
	Say    func(format string, args ...any)

	busy atomic.Int64
}

// Run takes jobs until ctx ends, and finishes those in hand.
func (q *Queue) Run(ctx context.Context, version string) error {
	if q.Slots < 1 {
		return sysexit.With(sysexit.Usage, fmt.Errorf("%d slots: a worker runs at least one job at once", q.Slots))
	}
	stop, err := q.Conn.Answer(func() []byte {
		p := broker.Presence{Worker: q.Worker.Name, Version: version, Slots: q.Slots,
			Running: int(q.busy.Load()), Codebases: []string{}}
		for _, b := range q.Worker.Config.Codebases {
			p.Codebases = append(p.Codebases, b.Name)
		}
		b, _ := json.Marshal(p)
		return b
	})
	if err != nil {
		return err
	}
	defer stop()
	var wg sync.WaitGroup
	for range q.Slots {
		wg.Go(func() { q.slot(ctx) })
	}
	wg.Wait()
	return nil
}

func (q *Queue) slot(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		j, err := q.Conn.Take(ctx)
		if err == nil && j != nil {
			q.busy.Add(1)
			err = q.do(context.WithoutCancel(ctx), j)
			q.busy.Add(-1)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if err.Error() != said {
			said = err.Error()
			q.Say("%v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// do runs a job that was taken.
func (q *Queue) do(ctx context.Context, j *broker.Job) error {
	var o remote.Order
	if err := json.Unmarshal(j.Data, &o); err != nil || o.ID != j.ID {
		return errors.Join(fmt.Errorf("job %s is not an order", j.ID), j.Done(ctx))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &queued{ctx: ctx, job: j, down: make(chan remote.Message, 1024)}
	stop, err := j.Told(l.told)
	if err != nil {
		return err
	}
	defer stop()
	go l.renew(q.Conn.Lease / 3)
	err = q.Worker.Do(ctx, &o, l)
	refused := new(remote.Refused)
	switch {
	case err == nil, errors.Is(err, broker.ErrDone):
		return j.Done(ctx)
	case errors.Is(err, broker.ErrTwice):
		return errors.Join(q.fail(ctx, l, agent.Fail(agent.Killed, err)), j.Done(ctx))
	case errors.As(err, &refused) && j.Deliveries() < refusals:
		return j.Release(retry)
	case errors.As(err, &refused):
		err = sysexit.Hint(err, "tri-nats status shows the workers and their codebases")
		_ = l.say(remote.Message{Result: q.result(j.ID, err)}) // not kept: the next try may find one that can
		return j.Done(ctx)
	}
	return errors.Join(err, j.Release(retry))
}

func (q *Queue) result(id string, err error) *remote.Result {
	r := &remote.Result{ID: id, Worker: q.Worker.Name,
		Error: remote.FaultOf(sysexit.With(sysexit.Unavailable, err))}
	r.Usage.TokensUnknown = true
	r.SHA256 = r.Sum()
	return r
}

func (q *Queue) fail(ctx context.Context, l *queued, err error) error {
	return l.finish(ctx, q.result(l.job.ID, err))
}

// queued is the link to the hub of a job from the queue.
type queued struct {
	ctx  context.Context
	job  *broker.Job
	down chan remote.Message

	mu       sync.Mutex
	taken    *remote.Taken
	canceled bool
	words    map[string]bool
	parts    []string
}

// told queues what the hub says, which may come twice.
func (l *queued) told(data []byte) {
	var m remote.Message
	if m.Read(data) != nil {
		return
	}
	l.mu.Lock()
	if m.Word != nil {
		if l.words[m.Word.ID] {
			l.mu.Unlock()
			return
		}
		if l.words == nil {
			l.words = map[string]bool{}
		}
		l.words[m.Word.ID] = true
	}
	l.canceled = l.canceled || m.Cancel
	l.mu.Unlock()
	select {
	case l.down <- m:
	default:
	}
}

func (l *queued) Next() (remote.Message, error) {
	select {
	case <-l.ctx.Done():
		return remote.Message{}, io.EOF
	case m := <-l.down:
		return m, nil
	}
}

// renew keeps the lease and says that the worker lives.
func (l *queued) renew(every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-t.C:
		}
		_ = l.job.Renew() // a lease that is lost costs a second run, whose result does not count
		l.mu.Lock()
		taken := l.taken
		l.mu.Unlock()
		if taken != nil {
			_ = l.say(remote.Message{Taken: taken})
		}
	}
}

func (l *queued) say(m remote.Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return l.job.Say(b)
}

// Send stores files and the result, and says the rest to the hub.
func (l *queued) Send(m remote.Message) error {
	switch {
	case m.Taken != nil:
		if err := l.job.Begin(l.ctx); err != nil {
			return err
		}
		taken := *m.Taken
		taken.Try = l.job.Try
		l.mu.Lock()
		l.taken = &taken
		l.mu.Unlock()
		return l.say(remote.Message{Taken: &taken})
	case m.File != nil:
		ctx, cancel := context.WithTimeout(l.ctx, patience)
		defer cancel()
		l.parts = append(l.parts, m.File.Name)
		return l.job.Put(ctx, m.File.Data)
	case m.Result != nil:
		l.mu.Lock()
		canceled := l.canceled
		l.mu.Unlock()
		if f := m.Result.Error; f != nil && (canceled || f.Status == sysexit.TempFail) {
			ctx, cancel := context.WithTimeout(l.ctx, patience)
			defer cancel()
			m.Result.Files = nil // not kept, nor the result: the hub may ask again
			return errors.Join(l.say(m), l.job.Cancel(ctx))
		}
		return l.finish(l.ctx, m.Result)
	}
	return l.say(m)
}

// finish stores the result. The first one of a job counts.
func (l *queued) finish(ctx context.Context, r *remote.Result) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := json.Marshal(stored{Result: *r, Try: l.job.Try, Parts: l.parts})
	if err != nil {
		return err
	}
	if err := l.job.Finish(ctx, b); err != nil {
		return err
	}
	return l.say(remote.Message{Result: &remote.Result{ID: r.ID}}) // news: it is there
}
