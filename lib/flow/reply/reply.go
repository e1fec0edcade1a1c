// Package reply posts what was approved, once. It reads only decisions.ndjson and outbox/, never a thread:
// an approved text is posted byte for byte, or not at all. lib/record/outbox has the table of legal states
// and the step that follows from each; this package carries out the steps.
package reply

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
)

// Options configure a poster.
type Options struct {
	Home *durable.Home
	// Policy returns who may decide. It is called again before each claim.
	Policy func() (decision.Policy, error)
	Grace  time.Duration        // time between an approval and its post, in which it can be taken back
	Sinks  map[string]chat.Sink // by platform
	// Recheck says why an approved offer is out of date, or "" if it is not.
	Recheck func(offer decision.Record) (why string, err error)
	Secrets []string // of this installation; never posted
	// Allowed returns an error if a card or a reaction may not be shown. If it is nil, none may.
	Allowed func(*notify.Signal) error
	Pace    time.Duration // between the parts of an answer; 0: none
	Typing  bool          // show the typing indicator before a post
	// Once makes Run return when no work is left that the passage of time could complete.
	Once bool
	Out  io.Writer // receives the lines of replies.ndjson
	Say  func(format string, args ...any)
	Now  func() time.Time

	// fault is called after every durable step and every post; tests crash the program there.
	fault func(at string) error
	// pause waits until the given time, or until something was appended.
	pause func(ctx context.Context, wake <-chan struct{}, until time.Time) error
}

// Limits on retries while the outcome is unclear.
const (
	postTimeout = time.Minute
	firstWait   = time.Second
	longestWait = 5 * time.Minute
	maxFails    = 12              // consecutive failed lookups before a post is parked: about half an hour
	maxUnproven = 3               // definite answers that nothing can be proven
	maxTries    = 5               // posts of a part, each absent afterwards
	askAgain    = 5 * time.Second // age at which the check of the question is repeated
	onceFails   = 4               // consecutive failures after which --once leaves a post for later
)

// job is one approved draft being posted.
type job struct {
	id      string // decision.ID of the posted text
	st      *decision.Standing
	parts   []*outbox.Entry // one per part; nil: not written yet
	stale   []*outbox.Entry // entries for another cut of the text
	claimed bool
	line    bool

	claimedAt time.Time
	own       bool              // this process wrote the claim
	sure      map[int]bool      // parts, from 1, whose state this process knows
	tried     map[int]time.Time // by part, from 1: the last try of this process

	asked    time.Time // when the question was last checked
	due      time.Time // not before this time
	fails    int       // consecutive
	unproven int
	cleared  int // the part, from 1, that may be posted without a lookup
}

func (j *job) offer() *decision.Record { return j.st.Offer }
func (j *job) text() *decision.Record  { return j.st.Decision }

// parked returns the part that waits for a person, or nil.
func (j *job) parked() *outbox.Entry {
	for _, e := range j.parts {
		if e != nil && e.State == outbox.Parked {
			return e
		}
	}
	return nil
}

// poster owns the outbox of a home, in one process at a time.
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
	left    bool                         // some work is left for the next run
	caught  bool                         // has read the log as it was at the start
	heard   time.Time                    // when the log was last read to its end
	typed   map[string]typed             // by chat
	unknown map[string]bool              // platforms not configured, already reported
}

const lockName = "locks/reply"

// Run posts until ctx ends, or with Once until no work is left.
func Run(ctx context.Context, o Options) error {
	lock, err := o.Home.TryLock(lockName)
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(fmt.Errorf("another tri-reply posts for this home: %w", err),
			"tri-health says which process it is")
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
	show, err := newSignaler(&p.Options)
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
		Options: o, tail: decision.NewTail(o.Home), policy: policy, state: decision.NewState(policy),
		nonce: rand.Text(),
		byID:  map[string]*job{}, settles: map[string][]decision.Record{}, lines: map[string]bool{},
		unknown: map[string]bool{}, typed: map[string]typed{},
	}, err
}

// once posts until no work is left that the passage of time could complete.
func (p *poster) once(ctx context.Context, show *signaler) error {
	// Announcements come before the replies that they announce.
	if err := show.all(ctx); err != nil {
		return err
	}
	if err := errors.Join(p.loop(ctx, nil), show.all(ctx)); err != nil {
		return err
	}
	if err := causeOf(ctx); err != nil {
		return err
	}
	if p.left {
		return sysexit.With(sysexit.TempFail, errors.New("some approved replies wait; run it again"))
	}
	return nil
}

// stay posts until ctx ends.
func (p *poster) stay(ctx context.Context, show *signaler) error {
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
	return causeOf(ctx)
}

// causeOf returns the error that ended the context, or nil if it was canceled.
func causeOf(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// listen wakes the loop when the decision log grows.
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

// next returns the first job that can proceed now, or else the time at which one can: the zero time if all
// wait for a person. Within a thread only the first job proceeds, so that answers are posted in the order
// of their approvals; a parked one does not hold up the others.
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

// sink returns the job's sink, or nil if its platform is not configured, which is reported once.
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

// later counts a failure and postpones the job.
func (p *poster) later(j *job) {
	wait := min(firstWait<<min(j.fails, 10), longestWait)
	j.fails++
	j.due = p.Now().Add(wait)
}

// drop forgets a job; its files on disk stay.
func (p *poster) drop(j *job) {
	delete(p.byID, j.id)
	p.jobs = slices.DeleteFunc(p.jobs, func(other *job) bool { return other == j })
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
