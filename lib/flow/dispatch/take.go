package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// maxBatch is how many waiting inputs may share one fsync.
const maxBatch = 64

// maxSince is how many inputs may follow the saved mark. It is smaller than the number that a thread
// remembers, so that inputs read again at the next start are recognized.
const maxSince = 128

// batch is what a group of inputs makes of the threads that they concern.
type batch struct {
	d          *Dispatcher
	threads    map[string]*thread.Thread // as they are after the inputs so far
	order      []string                  // their keys, in the order in which they were first changed
	journalled []thread.Input
	moves      []thread.Move
}

// load returns a thread as it is after the inputs so far.
func (b *batch) load(key string) (*thread.Thread, error) {
	if t := b.threads[key]; t != nil {
		return t, nil
	}
	return b.d.load(key)
}

// apply applies one input, unless its thread knows it already.
func (b *batch) apply(in thread.Input) error {
	d := b.d
	t, err := b.load(in.Key)
	if err != nil || t.Knows(in) {
		return err
	}
	if t.Key == "" && !thread.Opens(in) {
		switch f := in.Facts; {
		case f != nil && f.Unclear != "":
			b.journalled = append(b.journalled, in) // so that its history can be shown
		case f != nil && f.Refuse != "" && in.Event.Classification == event.Actionable:
			b.journalled = append(b.journalled, in)
			d.sayOnce("refused", "%s: %s; tri-report why tells of others like it", in.Event.MessageID, in.Facts.Refuse)
		}
		return nil
	}
	if t.Key != "" || in.Facts != nil && in.Facts.Relation == thread.RelationBranch {
		in.Before = nil // they belong to an item
	}
	in.Stale = t.Stales(in)
	next, _ := thread.Apply(*t, in)
	if err := d.file(t, in); err != nil {
		return err
	}
	if t.Key == "" {
		d.mark.Threads.Add(next.Key)
		in.Threads = new(d.mark.Threads)
	}
	b.journalled = append(b.journalled, in)
	b.moves = append(b.moves, next.Moves(t)...)
	if b.threads[in.Key] == nil {
		b.order = append(b.order, in.Key)
	}
	b.threads[in.Key] = &next
	return nil
}

// take applies inputs: it writes the journal first, then the threads, then carries out what is due.
func (d *Dispatcher) take(ins ...thread.Input) error {
	b := &batch{d: d, threads: map[string]*thread.Thread{}}
	for _, in := range ins {
		routed, err := b.route(in)
		if err != nil {
			return err
		}
		for _, in := range routed {
			if err := b.apply(in); err != nil {
				return err
			}
		}
	}
	if len(b.journalled) == 0 {
		return nil
	}
	size, err := d.journal.Append(b.journalled)
	if err != nil {
		return err
	}
	if err := d.storeAll(b.order, b.threads); err != nil {
		return err
	}
	d.mark.Journal = size
	d.since += len(b.journalled)
	if err := d.print(b.moves); err != nil {
		return err
	}
	var ts []*thread.Thread
	d.stopUndue()
	for _, key := range b.order {
		if err := d.do(b.threads[key]); err != nil {
			return err
		}
		ts = append(ts, b.threads[key])
	}
	if err := d.each(func(s subscriber) error { return s.moved(ts...) }); err != nil {
		return err
	}
	if d.since >= maxSince {
		return d.saveMark()
	}
	return nil
}

// sayOnce prints a message about a frequent condition once per process.
func (d *Dispatcher) sayOnce(what, format string, args ...any) {
	if !d.said[what] {
		d.said[what] = true
		d.Say(format, args...)
	}
}

func (d *Dispatcher) print(moves []thread.Move) error {
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

// takeEvents takes an event and those waiting after it.
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
		if name := d.rules.names[place{c.event.Platform, c.event.ChatID}]; name != "" {
			c.event.ChatName = name
		}
		facts, err := d.rules.facts(c.event, d.Options)
		if err != nil {
			return err
		}
		ins = append(ins, thread.Input{At: text.Timestamp(d.Now()), Key: c.event.Key(), Event: c.event, Facts: facts, Before: d.turns.see(c.event)})
	}
	if err := d.take(ins...); err != nil {
		return err
	}
	d.mark.Seq = seq
	return nil
}

// line is a complete line of a log and the offset of the next one.
type line struct {
	bytes []byte
	next  int64
}

func (l line) begin() int64 { return l.next - int64(len(l.bytes)) - 1 }

// follow sends the lines of a log of the home, as they are appended, until ctx ends.
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

// readDecisions folds the whole log, and applies the records after the mark.
func (d *Dispatcher) readDecisions() error {
	if _, _, err := decision.Verify(d.Home); err != nil { // the whole log, before acting on any of it
		return err
	}
	off := int64(0)
	_, err := readLines(d.Home, "decisions.ndjson", 0, func(b []byte) error {
		next := off + int64(len(b)) + 1
		err := d.decide(b, off, off >= d.mark.Decisions)
		off = next
		return err
	})
	d.mark.Decisions = max(d.mark.Decisions, off)
	return err
}

func (d *Dispatcher) takeDecision(l line) error {
	if err := d.decide(l.bytes, l.begin(), true); err != nil {
		return err
	}
	d.mark.Decisions = l.next
	return nil
}

// decide folds a record. If the record counts and was written by a person or tri-reply, and apply is set,
// it moves the thread.
func (d *Dispatcher) decide(b []byte, off int64, apply bool) error {
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
		d.noteOffer(&r)
		return nil
	case decision.Withdraw:
		if d.offered[r.Key] == offerID(&r) {
			delete(d.offered, r.Key)
		}
		return nil
	case decision.Claim, decision.Settle:
		return nil
	case decision.Undo:
		if st := d.decisions.Standing(r.Key); st.Offer != nil {
			d.offered[r.Key] = offerID(st.Offer) // it may have been withdrawn as expired
		}
	}
	if st := d.decisions.Standing(r.Key); r.Posts() && (st.Decision == nil || st.Decision.N != r.N) {
		return nil // another approval is needed
	}
	if !apply {
		return nil
	}
	r.Evidence, r.Sources, r.Meta = nil, nil, nil // the journal needs only the decision
	return d.take(thread.Input{At: r.At, Key: r.Key, Decision: &r, Source: &off})
}

func (d *Dispatcher) takeReply(l line) error {
	var r outbox.Reply
	if err := json.Unmarshal(l.bytes, &r); err != nil {
		return fmt.Errorf("read replies.ndjson: %w", err)
	}
	if err := d.noteReply(l.bytes); err != nil {
		return err
	}
	if err := d.take(thread.Input{At: text.Timestamp(d.Now()), Key: r.Key, Reply: &r, Source: new(l.begin())}); err != nil {
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
	d.notePosted(&r)
	return nil
}
