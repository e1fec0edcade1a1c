package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tri/lib/decision"
	"tri/lib/outbox"
	"tri/lib/stream"
	"tri/lib/sysexit"
	"tri/lib/thread"
)

// maxBatch is how many inputs that wait already share one fsync.
const maxBatch = 64

// maxSince is how many inputs may stand behind the saved mark: fewer than a thread
// remembers, so that those read again at the next start are known to it.
const maxSince = 128

// recover brings memory and threads to where the journal stands: whatever was
// written down and not yet applied when the last dispatcher ended is applied now.
func (d *Dispatcher) recover(ctx context.Context) error {
	saved, err := loadMark(d.Home)
	if err != nil {
		return err
	}
	d.mark, d.saved = saved, saved
	for t, err := range thread.Open(d.Home) {
		if err != nil {
			return err
		}
		d.threads[t.Key] = t
	}
	if d.mark.Journal, err = d.journal.read(d.mark.Journal, d.replay); err != nil {
		return err
	}
	for _, t := range d.threads { // a move that was cut between its two steps
		if err := d.Home.Remove(thread.ClosedPath(t.Key)); err != nil {
			return err
		}
	}
	if err := d.readDecisions(); err != nil {
		return err
	}
	if _, err := readLines(d.Home, "replies.ndjson", 0, func(line []byte) error { return d.noteReply(line) }); err != nil {
		return err
	}
	if err := d.retireClosed(); err != nil {
		return err
	}
	for _, t := range d.sorted() {
		if err := d.do(t); err != nil {
			return err
		}
	}
	if err := d.settleLost(); err != nil {
		return err
	}
	if err := d.reactAtStart(); err != nil {
		return err
	}
	for _, t := range d.sorted() {
		d.noteBroke(t)
	}
	return d.startRuns(ctx)
}

// retireClosed withdraws what a dispatcher that was killed between closing a
// thread and telling the decision log has left standing.
func (d *Dispatcher) retireClosed() error {
	for key := range d.offered {
		s := d.decisions.Standing(key)
		if d.threads[key] != nil || s == nil || s.Offer == nil || s.Void != "" || s.Claimed {
			continue
		}
		t, err := d.load(key)
		if err != nil {
			return err
		}
		if err := d.do(t); err != nil {
			return err
		}
	}
	return nil
}

// replay applies a journalled input to the threads on disk.
func (d *Dispatcher) replay(in thread.Input) error {
	t, err := d.load(in.Key)
	if err != nil {
		return err
	}
	next, _ := thread.Apply(*t, in)
	if in.Event != nil && in.Event.Seq != nil {
		d.mark.Seq = max(d.mark.Seq, *in.Event.Seq)
	}
	if err := d.file(t, in); err != nil {
		return err
	}
	return d.store(&next)
}

// sorted gives the open threads, the oldest first.
func (d *Dispatcher) sorted() []*thread.Thread {
	var ts []*thread.Thread
	for _, t := range d.threads {
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b *thread.Thread) int {
		if a.StartedAt != b.StartedAt {
			if a.StartedAt < b.StartedAt {
				return -1
			}
			return 1
		}
		return len(a.Key) - len(b.Key)
	})
	return ts
}

// load gives the thread of a key, the zero thread where there is none.
func (d *Dispatcher) load(key string) (*thread.Thread, error) {
	if t, ok := d.threads[key]; ok {
		return t, nil
	}
	t, err := thread.LoadFile(d.Home, thread.ClosedPath(key))
	if err != nil || t != nil {
		return t, err
	}
	return new(thread.Thread), nil
}

// store makes a thread durable and keeps the open ones at hand.
func (d *Dispatcher) store(t *thread.Thread) error {
	if t.Key == "" {
		return nil
	}
	if err := t.Save(d.Home); err != nil {
		return err
	}
	d.keep(t)
	return nil
}

func (d *Dispatcher) keep(t *thread.Thread) {
	if t.Status == thread.Closed {
		delete(d.threads, t.Key)
	} else {
		d.threads[t.Key] = t
	}
}

// atOnce is how many threads are made durable at a time: a disk syncs many at
// about the price of one.
const atOnce = 16

// storeAll is store for the threads of a batch.
func (d *Dispatcher) storeAll(order []string, moved map[string]*thread.Thread) error {
	if len(order) == 1 {
		return d.store(moved[order[0]])
	}
	errs := make([]error, len(order))
	room := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, key := range order {
		room <- struct{}{}
		wg.Go(func() {
			errs[i] = moved[key].Save(d.Home)
			<-room
		})
	}
	wg.Wait()
	for _, key := range order {
		d.keep(moved[key])
	}
	return errors.Join(errs...)
}

// file saves the triage file that in makes due.
func (d *Dispatcher) file(t *thread.Thread, in thread.Input) error {
	path, content, due := t.File(in)
	if !due {
		return nil
	}
	return d.Home.Replace(path, []byte(content))
}

// take applies inputs: the journal first, then the threads, then what is due.
func (d *Dispatcher) take(ins ...thread.Input) error {
	var journalled []thread.Input
	moved := map[string]*thread.Thread{}
	var order []string
	var moves []thread.Move
	for _, in := range ins {
		t := moved[in.Key]
		if t == nil {
			var err error
			if t, err = d.load(in.Key); err != nil {
				return err
			}
		}
		next, _ := thread.Apply(*t, in)
		if len(next.Applied) == 0 || slices.Equal(next.Applied, t.Applied) {
			continue // nothing new to this thread
		}
		if err := d.file(t, in); err != nil {
			return err
		}
		journalled = append(journalled, in)
		moves = append(moves, next.Moves(t)...)
		if moved[in.Key] == nil {
			order = append(order, in.Key)
		}
		moved[in.Key] = &next
	}
	if len(journalled) == 0 {
		return nil
	}
	size, err := d.journal.append(journalled)
	if err != nil {
		return err
	}
	if err := d.storeAll(order, moved); err != nil {
		return err
	}
	d.mark.Journal = size
	d.since += len(journalled)
	if err := d.tell(moves); err != nil {
		return err
	}
	var ts []*thread.Thread
	for _, key := range order {
		if err := d.do(moved[key]); err != nil {
			return err
		}
		ts = append(ts, moved[key])
	}
	if err := d.react(ts...); err != nil {
		return err
	}
	if d.since >= maxSince {
		return d.saveMark()
	}
	return nil
}

func (d *Dispatcher) tell(moves []thread.Move) error {
	var buf []byte
	for _, m := range moves {
		b, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("write move: %w", err)
		}
		buf = append(append(buf, b...), '\n')
	}
	if len(buf) == 0 {
		return nil
	}
	if _, err := d.Out.Write(buf); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write moves: %w", err))
	}
	return nil
}

// takeEvents takes an event and those that wait behind it.
func (d *Dispatcher) takeEvents(first classified, more <-chan classified) error {
	batch := []classified{first}
	for waiting := true; waiting && len(batch) < maxBatch; {
		select {
		case c, ok := <-more:
			if waiting = ok; ok {
				batch = append(batch, c)
			}
		default:
			waiting = false
		}
	}
	var ins []thread.Input
	seq := d.mark.Seq
	for _, c := range batch {
		if seq = max(seq, c.seq); d.rules.operators(c.event) {
			continue
		}
		facts, err := d.rules.facts(c.event, d.Options)
		if err != nil {
			return err
		}
		ins = append(ins, thread.Input{At: stamp(d.Now()), Key: c.event.Key(), Event: c.event, Facts: facts})
	}
	if err := d.take(ins...); err != nil {
		return err
	}
	d.mark.Seq = seq
	return nil
}

// line is a whole line of a log and where the next one begins.
type line struct {
	bytes []byte
	next  int64
}

// follow brings the lines of a log of the home, for as long as ctx lives.
func (d *Dispatcher) follow(ctx context.Context, name string, from int64) <-chan line {
	lines := make(chan line)
	go func() {
		err := stream.Follow(ctx, d.Home.Path(name), from, func(b []byte, off int64) error {
			select {
			case lines <- line{slices.Clone(b), off + int64(len(b)) + 1}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			d.fail(err)
		}
	}()
	return lines
}

// readDecisions folds the whole log; what stands behind the mark is applied too.
func (d *Dispatcher) readDecisions() error {
	off := int64(0)
	_, err := readLines(d.Home, "decisions.ndjson", 0, func(b []byte) error {
		next := off + int64(len(b)) + 1
		err := d.decide(b, off >= d.mark.Decisions)
		off = next
		return err
	})
	d.mark.Decisions = max(d.mark.Decisions, off)
	return err
}

func (d *Dispatcher) takeDecision(l line) error {
	if err := d.decide(l.bytes, true); err != nil {
		return err
	}
	d.mark.Decisions = l.next
	return nil
}

// decide folds a record; one that counts and that a person or tri-reply wrote
// moves the thread when apply is set.
func (d *Dispatcher) decide(b []byte, apply bool) error {
	r, err := d.chain.Next(b)
	if err != nil {
		return sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("read decisions.ndjson: %w", err)),
			"somebody has changed the log of decisions: put its last good copy back")
	}
	counts, why := d.decisions.Add(r)
	d.worded[r.Key] = r.Kind != decision.Offer || !counts && d.worded[r.Key]
	if !counts {
		d.Say("decision %d (%s by %q) does not count: %s", r.N, r.Kind, r.By, why)
		return nil
	}
	switch r.Kind {
	case decision.Offer:
		d.offered[r.Key] = offerID(&r)
		d.answers.offered(&r)
		return nil
	case decision.Withdraw:
		if d.offered[r.Key] == offerID(&r) {
			delete(d.offered, r.Key)
		}
		return nil
	case decision.Claim, decision.Settle:
		return nil
	}
	if st := d.decisions.Standing(r.Key); r.Posts() && (st.Decision == nil || st.Decision.N != r.N) {
		return nil // somebody else must say yes too
	}
	if !apply {
		return nil
	}
	r.Evidence, r.Sources, r.Meta = nil, nil, nil // the journal needs the word alone
	return d.take(thread.Input{At: r.At, Key: r.Key, Decision: &r})
}

func (d *Dispatcher) takeReply(l line) error {
	var r outbox.Reply
	if err := json.Unmarshal(l.bytes, &r); err != nil {
		return fmt.Errorf("read replies.ndjson: %w", err)
	}
	if err := d.noteReply(l.bytes); err != nil {
		return err
	}
	if err := d.take(thread.Input{At: stamp(d.Now()), Key: r.Key, Reply: &r}); err != nil {
		return err
	}
	d.mark.Replies = l.next
	return nil
}

// noteReply keeps the latest approved replies as hints.
func (d *Dispatcher) noteReply(b []byte) error {
	var r outbox.Reply
	if err := json.Unmarshal(b, &r); err != nil {
		return fmt.Errorf("read replies.ndjson: %w", err)
	}
	if r.Outcome != outbox.Posted {
		return nil
	}
	d.answers.posted(&r)
	d.replied = append(d.replied, Hint{Source: "approved reply " + r.PostedAt, Text: r.ReplyText})
	d.replied = d.replied[max(0, len(d.replied)-10):]
	return nil
}
