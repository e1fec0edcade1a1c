// Package dispatch is the orchestrator: it journals inputs, moves threads, starts runs within the budget
// and offers drafts. It reads classified events, decisions and replies. It writes each input that moves a
// thread into its journal first, folds it with thread.Apply, and then carries out the effects that are
// due. It never opens code, logs or diffs. The remaining work is a function of the files on disk, so the
// process may be killed at any instant.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// Options configure a Dispatcher.
type Options struct {
	Home   *durable.Home
	Config *config.Config
	// Codebase is used for chats for which the configuration names no codebase.
	Codebase string
	Prompts  *prompt.Set // for the rubrics
	// Input is the source of classified events. Events already applied are skipped.
	Input stream.Input
	// Investigate and Validate carry out a run.
	Investigate func(ctx context.Context, t *thread.Thread, hints []Hint, r *run.Run) (*draft.Return, error)
	Validate    func(ctx context.Context, t *thread.Thread, others []Hint, r *run.Run) (*verdict.Verdict, error)

	// Stands validates an earlier answer again by code alone. If it is nil, every question is
	// investigated.
	Stands func(ctx context.Context, t *thread.Thread) (*verdict.Verdict, error)

	// Long runs the investigations of tier 2. If it is nil, they run in this process.
	Long Long

	Once   bool // return when the input has ended and every thread is at rest
	Shadow bool // make no offers, so nothing is posted

	Out io.Writer // a record for each move of a thread
	Say func(format string, args ...any)
	Now func() time.Time

	// fault is called after durable steps; tests crash the program there.
	fault func(at string) error
}

// Hint is a finding of other work that an investigator or validator is given.
type Hint = thread.Hint

// Dispatcher owns the threads of a home. One process at a time runs one.
type Dispatcher struct {
	Options
	rules       *rules
	turns       *turns
	journal     *journal.Journal
	subscribers []subscriber
	book        *budget.Book
	mark        mark
	saved       mark // the mark on disk
	since       int  // inputs journalled since saved
	decisions   *decision.State
	chain       decision.Chain // of the decision log, as far as it has been read
	// offered holds the offers that this process has appended to the decision log, by key, whether or not
	// it has read them back yet.
	offered map[string]string
	// judged holds the offers already considered for automatic approval, by key; worded the keys whose
	// latest offer has a later record; lapsed the automatic approvals that were taken back, by record
	// number.
	judged  map[string]string
	worded  map[string]bool
	lapsed  map[string]int64
	threads map[string]*thread.Thread // the open ones
	shards  int                       // folders in closed/ at the last look
	replied map[audience][]Hint       // the latest approved replies
	// audiences holds the audience of each offer, by key.
	audiences map[string]audience
	waiting   *decision.Waiting
	answers   answers

	broke  []string        // keys of threads waiting for budget, in order of arrival
	broken map[string]bool // the same keys, as a set
	looked string          // day on which none of them could be resumed
	said   map[string]bool // limits reported to the operator, by day; also the keys of sayOnce
	poor   []thread.Input  // inputs for runs refused for lack of budget, not yet applied

	running map[string]bool // run ids
	queue   []job
	hold    hold
	active  int             // short runs in progress
	long    int             // long runs in progress
	live    map[string]live // runs in progress, by id
	results chan result
	begun   chan thread.Input // starts of long runs, with where to watch them
	lost    chan error        // a fatal error
}

// result is the end of a run. run is nil if the run is to be retried later.
type result struct {
	job job
	run *run.Result
}

const lockName = "locks/dispatch"

// Run dispatches until the context ends, or with Once until no work is left.
func Run(ctx context.Context, o Options) error {
	lock, err := o.Home.TryLock(lockName)
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(fmt.Errorf("another tri-dispatch works for this home: %w", err), "tri-health says which process it is")
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	d := &Dispatcher{
		Options: o, offered: map[string]string{}, judged: map[string]string{}, worded: map[string]bool{}, answers: newAnswers(o), lapsed: map[string]int64{}, threads: map[string]*thread.Thread{},
		broken: map[string]bool{}, said: map[string]bool{}, running: map[string]bool{}, hold: newHold(&o.Config.Turn), live: map[string]live{}, results: make(chan result), begun: make(chan thread.Input), lost: make(chan error, 1),
		decisions: decision.NewState(decision.PolicyOf(o.Config)),
	}
	d.turns = newTurns()
	d.replied, d.audiences = map[audience][]Hint{}, map[string]audience{}
	if d.fault == nil {
		d.fault = func(string) error { return nil }
	}
	if err := d.open(); err != nil {
		return err
	}
	defer d.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := d.recover(ctx); err != nil {
		return err
	}
	if len(d.Input.Files) > 0 {
		d.turns.remember(d.Input.Files[len(d.Input.Files)-1], d.mark.Seq)
	}
	err = d.loop(ctx)
	cancel()
	d.drain()
	return errors.Join(err, d.saveMark())
}

func (d *Dispatcher) open() (err error) {
	if d.journal, err = journal.Open(d.Home); err != nil {
		return err
	}
	if d.waiting, err = decision.OpenWaiting(d.Home); err != nil {
		return err
	}
	if d.book, err = budget.Open(d.Home, d.Config.Budget); err != nil {
		return err
	}
	if err = d.subscribeReactor(); err != nil {
		return err
	}
	d.rules, err = newRules(d.Config, d.Prompts)
	return sysexit.With(sysexit.Config, err)
}

func (d *Dispatcher) close() {
	if err := errors.Join(d.journal.Close(), d.book.Close()); err != nil {
		d.Say("close: %v", err)
	}
}

// drain waits for runs that the end of the context interrupted.
func (d *Dispatcher) drain() {
	for d.active+d.long > 0 {
		d.ended((<-d.results).job)
	}
}

type classified struct {
	event *event.Classified
	seq   int64
}

// loop takes inputs as they arrive, in batches if several are waiting.
func (d *Dispatcher) loop(ctx context.Context) error {
	events := make(chan classified, 64)
	ended := make(chan error, 1)
	go func() {
		ended <- d.read(ctx, events)
		close(events)
	}()
	decisions := d.follow(ctx, "decisions.ndjson", d.mark.Decisions)
	replies := d.follow(ctx, "replies.ndjson", d.mark.Replies)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	source := events
	for {
		if source == nil && d.Once && d.done() {
			return <-ended
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case err = <-d.lost:
		case c, ok := <-source:
			if !ok {
				source = nil
				continue
			}
			err = d.takeEvents(c, source)
		case l := <-decisions:
			err = d.takeDecision(l)
		case l := <-replies:
			err = d.takeReply(l)
		case r := <-d.results:
			err = d.takeResult(r)
		case in := <-d.begun:
			err = d.take(in)
		case <-tick.C:
			err = d.tick(d.Now())
		case <-d.hold.over.C: // a held run may start
		}
		if err == nil {
			err = d.startRuns(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// read parses events into the channel.
func (d *Dispatcher) read(ctx context.Context, to chan<- classified) error {
	in := d.Input
	in.Durable = true
	// In a pipe nothing shows that a seq belongs to the log that the mark refers to. So everything is
	// read, and events already applied are recognized by identity.
	if in.After = -1; len(in.Files) > 0 {
		in.After = d.mark.Seq
	}
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		e, err := event.Parse(rec.Bytes)
		if err != nil {
			return stream.Refuse("%w", err)
		}
		c := classified{event: e, seq: -1}
		if e.Seq != nil {
			c.seq = *e.Seq
		}
		select {
		case to <- c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return err
}

// done reports whether, with the input at its end, nothing is left that could change without a person.
func (d *Dispatcher) done() bool {
	if len(d.queue)+d.active+d.long > 0 || d.behind("decisions.ndjson", d.mark.Decisions) || d.behind("replies.ndjson", d.mark.Replies) {
		return false
	}
	for _, t := range d.threads {
		if !t.AtRest() {
			return false
		}
	}
	return true
}

func (d *Dispatcher) behind(name string, off int64) bool {
	size, err := wholeSize(d.Home, name)
	return err == nil && off < size
}

func (d *Dispatcher) tick(now time.Time) error {
	if err := d.lookForThreads(); err != nil {
		return err
	}
	if err := d.lapse(now); err != nil {
		return err
	}
	var ids []string
	for _, t := range d.threads {
		if t.Status == thread.PendingUser && t.UserApprovedAt == nil && t.DraftPending != nil {
			ids = append(ids, waitingID(t))
		}
	}
	if err := d.waiting.Tick(now, ids); err != nil {
		return err
	}
	var ins []thread.Input
	for _, t := range d.threads {
		if d.expired(t) {
			ins = append(ins, thread.Input{At: text.Timestamp(now), Key: t.Key, Expired: &thread.Expired{DraftSHA256: t.DraftSHA256}})
		}
	}
	if err := d.take(ins...); err != nil {
		return err
	}
	return d.saveMark()
}

// expired reports whether a draft has waited too long, by the waiting time counted.
func (d *Dispatcher) expired(t *thread.Thread) bool {
	most := time.Duration(d.Config.Dispatch.OfferExpiresH * float64(time.Hour))
	return most > 0 && t.Status == thread.PendingUser && t.UserApprovedAt == nil && d.waiting.Of(waitingID(t)) > most
}

func waitingID(t *thread.Thread) string { return decision.ID(t.Key, t.Cycle, t.DraftSHA256) }

func (d *Dispatcher) fail(err error) {
	select {
	case d.lost <- err:
	default:
	}
}
