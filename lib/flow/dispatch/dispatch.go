// Package dispatch is the orchestrator: it journals inputs, moves threads, starts runs
// within the budget and offers drafts. It reads classified events, decisions and
// replies, writes each input that moves a thread into its journal before anything else,
// folds it with thread.Apply, and does what is due. It never opens code, logs or diffs.
// What is left to do is a function of what is on disk, so it may be killed at any
// instant.
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

// Options are what a dispatcher is made of. The program wires it.
type Options struct {
	Home   *durable.Home
	Config *config.Config
	// Codebase is read where the configuration names none for a chat.
	Codebase string
	Prompts  *prompt.Set // for the rubrics
	// Input is where classified events come from. What has been applied is skipped.
	Input stream.Input
	// Investigate and Validate do the work of a run.
	Investigate func(ctx context.Context, t *thread.Thread, hints []Hint, r *run.Run) (*draft.Return, error)
	Validate    func(ctx context.Context, t *thread.Thread, others []Hint, r *run.Run) (*verdict.Verdict, error)

	// Stands is Validate by code alone, for an answer that was given before. Nil:
	// every question is investigated.
	Stands func(ctx context.Context, t *thread.Thread) (*verdict.Verdict, error)

	// Long takes the investigations of tier 2; nil: they are done here too.
	Long Long

	Once   bool // end when the input has ended and every thread is at rest
	Shadow bool // offer nothing for posting

	Out io.Writer // a record for each move of a thread
	Say func(format string, args ...any)
	Now func() time.Time

	// fault is called behind durable steps; tests end the program there.
	fault func(at string) error
}

// Hint is what an investigator or validator is told of other work.
type Hint = thread.Hint

// Dispatcher is one process's hold on the threads of a home.
type Dispatcher struct {
	Options
	rules       *rules
	journal     *journal.Journal
	subscribers []subscriber
	book        *budget.Book
	mark        mark
	saved       mark // as it stands on disk
	since       int  // inputs journalled since then
	decisions   *decision.State
	chain       decision.Chain // of the decision log, as far as it is read
	// offered is what this process has put into the decision log, by key, whether
	// or not it has read it back yet.
	offered map[string]string
	// judged are the offers, by key, for which an automatic yes was thought of;
	// worded are the keys on whose offer something was said; lapsed are the
	// automatic yeses that were taken back, by their numbers.
	judged  map[string]string
	worded  map[string]bool
	lapsed  map[string]int64
	threads map[string]*thread.Thread // the open ones
	shards  int                       // folders of closed/ at the last look
	replied map[audience][]Hint       // the latest approved replies
	// audiences are those of what was offered, by key.
	audiences map[string]audience
	waiting   *decision.Waiting
	answers   answers

	broke  []string        // keys of threads that wait for budget, as they came
	broken map[string]bool // the same
	looked string          // day on which none of them could go on
	said   map[string]bool // limits of which the operator was told, by day
	poor   []thread.Input  // refused for want of budget, and not yet taken in

	running map[string]bool // run ids
	queue   []job
	active  int               // short runs under way
	long    int               // long ones
	away    map[string]string // long runs under way elsewhere: the keys of their threads
	results chan result
	begun   chan thread.Input // of long runs, where they can be watched
	lost    chan error        // an error that ends the program
}

// result is the end of a run, nil when it is to be tried again later.
type result struct {
	job job
	run *run.Result
}

const lockName = "locks/dispatch"

// Run dispatches until the context ends, or with Once until all is done.
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
		broken: map[string]bool{}, said: map[string]bool{}, running: map[string]bool{}, away: map[string]string{}, results: make(chan result), begun: make(chan thread.Input), lost: make(chan error, 1),
		decisions: decision.NewState(decision.PolicyOf(o.Config)),
	}
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

// drain waits for the runs that the end of the context has cut short.
func (d *Dispatcher) drain() {
	for d.active+d.long > 0 {
		d.ended((<-d.results).job)
	}
}

type classified struct {
	event *event.Classified
	seq   int64
}

// loop takes inputs as they come, in batches where they wait already.
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
	// In a pipe nothing shows that a seq is of the log that the mark speaks of: all
	// is read, and what has been applied is known by its identity.
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

// done reports whether, with the input at its end, nothing is left that could
// move by itself.
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
	d.callBack()
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

// expired reports whether a draft has waited for too long, by what was counted.
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
