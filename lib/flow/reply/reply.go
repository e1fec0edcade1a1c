// Package reply posts what was approved, once. It reads decisions.ndjson and outbox/
// only, never a thread: what is approved is posted byte for byte, or not at all. The
// legal states, and what follows from each, are lib/record/outbox's table; this package
// takes the steps.
package reply

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
)

// Options are what a poster is made of. The program wires it.
type Options struct {
	Home *durable.Home
	// Policy says who may decide, and is asked again before each claim.
	Policy func() (decision.Policy, error)
	Grace  time.Duration        // between a yes and its post, for second thoughts
	Sinks  map[string]chat.Sink // by platform
	// Recheck says why the ground of an approved offer has shifted, "" while it
	// stands.
	Recheck func(offer decision.Record) (why string, err error)
	Secrets []string // of this installation: never posted
	// Allowed says why a card or a reaction may not be shown. Nil: none may.
	Allowed func(*notify.Signal) error
	// Once ends when nothing is left to do that time alone could bring about.
	Once bool
	Out  io.Writer // a line of replies.ndjson each
	Say  func(format string, args ...any)
	Now  func() time.Time

	// fault is called behind every durable step and every post; tests end the
	// program there.
	fault func(at string) error
	// pause waits until it is time or something was appended.
	pause func(ctx context.Context, wake <-chan struct{}, until time.Time) error
}

// How long what is not clear is tried again.
const (
	postTimeout = time.Minute
	firstWait   = time.Second
	longestWait = 5 * time.Minute
	maxFails    = 12              // failed looks in a row before a post is parked: about half an hour
	maxUnproven = 3               // clear answers that nothing can be proven
	maxTries    = 5               // posts of a part that were each absent afterwards
	askAgain    = 5 * time.Second // after which a post looks at its question again
	onceFails   = 4               // failures in a row after which --once leaves a post for later
)

// job is one approved draft on its way.
type job struct {
	id      string // decision.ID of what is posted
	st      *decision.Standing
	parts   []*outbox.Entry // a place for each; nil: not written yet
	stale   []*outbox.Entry // of another number of parts
	claimed bool
	line    bool

	claimedAt time.Time
	own       bool         // this process wrote the claim
	sure      map[int]bool // parts, from 1, of which this process knows how far they are

	asked    time.Time // when the question was looked at
	due      time.Time // not before
	fails    int       // in a row
	unproven int
	cleared  int // the part, from 1, that may be posted without a look
}

func (j *job) offer() *decision.Record { return j.st.Offer }
func (j *job) text() *decision.Record  { return j.st.Decision }

// parked is the part that waits for a person, nil when none does.
func (j *job) parked() *outbox.Entry {
	for _, e := range j.parts {
		if e != nil && e.State == outbox.Parked {
			return e
		}
	}
	return nil
}

// poster is one process's hold on the outbox of a home.
type poster struct {
	Options
	tail    *decision.Tail
	policy  decision.Policy
	state   *decision.State
	nonce   string // in the claims of this process
	jobs    []*job // in the order of their approvals
	byID    map[string]*job
	settles map[string][]decision.Record // by entry
	lines   map[string]bool              // ids with a line in replies.ndjson
	left    bool                         // something is left for the next run
	caught  bool                         // with the log as it was at the start
	heard   time.Time                    // all that the log had then
	unknown map[string]bool              // platforms that nobody configured, said once
}

const lockName = "locks/reply"

// Run posts until ctx ends, or with Once until nothing is left.
func Run(ctx context.Context, o Options) error {
	lock, err := o.Home.TryLock(lockName)
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(fmt.Errorf("another tri-reply posts for this home: %w", err), "tri-health says which process it is")
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	p, err := newPoster(o)
	if err != nil {
		return err
	}
	if err := p.recover(); err != nil {
		return err
	}
	show, err := newShower(&p.Options)
	if err != nil {
		return err
	}
	if o.Once {
		return p.once(ctx, show)
	}
	return p.stay(ctx, show)
}

func newPoster(o Options) (*poster, error) {
	if o.fault == nil {
		o.fault = func(string) error { return nil }
	}
	if o.pause == nil {
		o.pause = pause
	}
	policy, err := o.Policy()
	return &poster{
		Options: o, tail: decision.NewTail(o.Home), policy: policy, state: decision.NewState(policy), nonce: rand.Text(),
		byID: map[string]*job{}, settles: map[string][]decision.Record{}, lines: map[string]bool{}, unknown: map[string]bool{},
	}, err
}

// once posts until nothing is left to do that time alone could bring about.
func (p *poster) once(ctx context.Context, show *shower) error {
	// Who is to be told of a reply is told first.
	if err := show.all(ctx); err != nil {
		return err
	}
	if err := errors.Join(p.loop(ctx, nil), show.all(ctx)); err != nil {
		return err
	}
	if err := lost(ctx); err != nil {
		return err
	}
	if p.left {
		return sysexit.With(sysexit.TempFail, errors.New("some approved replies wait; run it again"))
	}
	return nil
}

// stay posts until ctx ends.
func (p *poster) stay(ctx context.Context, show *shower) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wake := make(chan struct{}, 1)
	go p.listen(ctx, wake, cancel)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		if err := show.run(ctx); err != nil {
			cancel(err)
		}
	}()
	err := p.loop(ctx, wake)
	cancel(nil)
	<-shown
	if err != nil {
		return err
	}
	return lost(ctx)
}

// lost is what ended the context, nil where somebody has.
func lost(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// listen wakes the loop whenever the decision log grows.
func (p *poster) listen(ctx context.Context, wake chan<- struct{}, cancel context.CancelCauseFunc) {
	err := stream.Follow(ctx, p.Home.Path(decision.LogName), p.tail.Offset(), func([]byte, int64) error {
		select {
		case wake <- struct{}{}:
		default:
		}
		return nil
	})
	if err != nil {
		cancel(err)
	}
}

func (p *poster) loop(ctx context.Context, wake <-chan struct{}) error {
	for ctx.Err() == nil {
		if err := p.hear(); err != nil {
			return err
		}
		if err := p.settle(); err != nil {
			return err
		}
		j, until := p.next()
		if j == nil && p.Once && until.IsZero() {
			return nil
		}
		var err error
		if j == nil {
			err = p.pause(ctx, wake, until)
		} else {
			err = p.step(ctx, j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next picks the first job that can go on now, or else says when one can: never,
// the zero time, when all wait for a person. Of one thread only the first goes
// on, so that answers come in the order of their approvals; a parked one lets
// the others pass.
func (p *poster) next() (*job, time.Time) {
	now := p.Now()
	p.left = false
	var until time.Time
	busy := map[string]bool{}
	for _, j := range p.jobs {
		if busy[j.st.Key] || j.parked() != nil || p.sink(j) == nil {
			continue
		}
		if p.Once && j.fails >= onceFails {
			p.left, busy[j.st.Key] = true, true
			continue
		}
		if !j.due.After(now) {
			return j, now
		}
		busy[j.st.Key] = true
		if until.IsZero() || j.due.Before(until) {
			until = j.due
		}
	}
	return nil, until
}

// sink is where a job goes; nil, said once, when nobody configured the platform.
func (p *poster) sink(j *job) chat.Sink {
	platform := ""
	if t := j.offer().Target; t != nil {
		platform = t.Platform
	}
	sink := p.Sinks[platform]
	if sink == nil && !p.unknown[platform] {
		p.unknown[platform] = true
		p.Say("%s: approved, and no chat %q is configured to post it to", j.st.Key, platform)
	}
	p.left = p.left || sink == nil
	return sink
}

// later puts a job off, a failure more.
func (p *poster) later(j *job) {
	wait := min(firstWait<<min(j.fails, 10), longestWait)
	j.fails++
	j.due = p.Now().Add(wait)
}

// drop forgets a job; what it has on disk stays.
func (p *poster) drop(j *job) {
	delete(p.byID, j.id)
	for i := range p.jobs {
		if p.jobs[i] == j {
			p.jobs = append(p.jobs[:i], p.jobs[i+1:]...)
			return
		}
	}
}

func pause(ctx context.Context, wake <-chan struct{}, until time.Time) error {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer:
	}
	return nil
}
