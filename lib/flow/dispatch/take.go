package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"tri/lib/record/budget"
	"tri/lib/record/run"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/text"
	"tri/lib/judge/intent"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
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
	return b.d.store.load(key)
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
			if !d.refused {
				d.refused = true
				d.Say("%s: %s; tri-report why shows others like it", in.Event.MessageID, f.Refuse)
			}
		}
		return nil
	}
	if t.Key != "" || in.Facts != nil && in.Facts.Relation == thread.RelationBranch {
		in.Before = nil // they belong to an item
	}
	in.Stale, in.Shed, in.Told, in.NotAnswered = t.Stales(in), t.Sheds(in), t.Tells(in), notAnswered(t, in)
	next, _ := thread.Apply(*t, in)
	if err := d.store.file(t, in); err != nil {
		return err
	}
	if t.Key == "" {
		d.store.mark.Threads.Add(next.Key)
		in.Threads = new(d.store.mark.Threads)
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
	if err := d.store.append(b); err != nil {
		return err
	}
	if err := ndjson.Write(d.Out, b.moves...); err != nil {
		return err
	}
	var ts []*thread.Thread
	d.pool.stopUndue(d.store.open)
	for _, key := range b.order {
		if err := d.do(b.threads[key]); err != nil {
			return err
		}
		ts = append(ts, b.threads[key])
	}
	if err := d.each(func(s subscriber) error { return s.moved(ts...) }); err != nil {
		return err
	}
	if d.store.since >= maxSince {
		return d.store.saveMark()
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
	seq := d.store.mark.Seq
	for _, c := range batch {
		if seq = max(seq, c.seq); d.rules.operators(c.event) || d.turns.outdated(c.event) {
			continue
		}
		if name := d.rules.names[place{c.event.Platform, c.event.ChatID}]; name != "" {
			c.event.ChatName = name
		}
		facts, err := d.rules.facts(c.event, c.second, d.Options)
		if err != nil {
			return err
		}
		before := d.turns.see(c.event)
		if alone(c.event, facts) {
			before = nil
		}
		ins = append(ins, thread.Input{At: text.Timestamp(d.Now()), Key: c.event.Key(), Event: c.event,
			Facts: facts, Before: before})
	}
	if err := d.take(ins...); err != nil {
		return err
	}
	d.store.mark.Seq = seq
	for _, in := range ins {
		if err := d.each(func(s subscriber) error { return s.taken(in.Event, in.Facts) }); err != nil {
			return err
		}
	}
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
			d.pool.fail(err)
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
		err := d.decide(b, off, off >= d.store.mark.Decisions)
		off = next
		return err
	})
	d.store.mark.Decisions = max(d.store.mark.Decisions, off)
	return err
}

func (d *Dispatcher) takeDecision(l line) error {
	if via := gjson.GetBytes(l.bytes, "via").String(); via != "code" && via != decision.ViaPolicy {
		if err := d.gate.follow(); err != nil { // a person's
			return err
		}
	}
	if err := d.decide(l.bytes, l.begin(), true); err != nil {
		return err
	}
	d.store.mark.Decisions = l.next
	return nil
}

// decide folds a record, and has it move its thread if apply is set, or if the thread's cycle waits for it:
// it did not count when an earlier process read it, under another policy.
func (d *Dispatcher) decide(b []byte, off int64, apply bool) error {
	r, counts, moves, err := d.gate.read(b)
	if err != nil {
		return err
	}
	if t := d.store.open[r.Key]; moves && !apply && t != nil && t.Cycle == r.Cycle {
		apply = r.N > t.AppliedDecision
	}
	for _, s := range d.subscribers {
		s.recorded(&r, counts)
	}
	if !moves || !apply {
		return nil
	}
	r.Evidence, r.Sources, r.Meta = nil, nil, nil // the journal needs only the decision
	return d.take(thread.Input{At: r.At, Key: r.Key, Decision: &r, Source: &off})
}

func (d *Dispatcher) takeReply(l line) error {
	r, err := d.readReply(l.bytes)
	if err != nil {
		return err
	}
	if err := d.take(thread.Input{At: text.Timestamp(d.Now()), Key: r.Key, Reply: r,
		Source: new(l.begin())}); err != nil {
		return err
	}
	d.store.mark.Replies = l.next
	return nil
}

// readReply parses a line of replies.ndjson, and tells the subscribers of a post.
func (d *Dispatcher) readReply(b []byte) (*outbox.Reply, error) {
	r := new(outbox.Reply)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read replies.ndjson: %w", err)
	}
	for _, s := range d.subscribers {
		if r.Outcome == outbox.Posted {
			s.posted(r)
		}
	}
	return r, nil
}

// takeRun applies the end of a run.
func (d *Dispatcher) takeRun(j job, res *run.Result) error {
	if err := d.each(func(s subscriber) error { return s.ended(d.store.open[j.key], res) }); err != nil {
		return err
	}
	return d.take(thread.Input{
		At: res.EndedAt, Key: j.key, Run: res, Escalate: d.pool.longerLook(j, res), LastRound: d.rounds() < 2,
		Resumes: resumes(res),
		Ends:    ends(res),
	})
}

// resumes reports whether the next cycle may continue a run: an agent has made a draft in a session.
func resumes(res *run.Result) bool {
	return res.Kind == run.Investigate && res.Status == run.Done && res.SessionID != "" &&
		!budget.Free(res.Agent)
}

// ends returns the signs that the draft of an investigation is no answer.
func ends(res *run.Result) []string {
	var ret draft.Return
	if res.Kind != run.Investigate && res.Kind != run.Escalate || res.Status != run.Done ||
		json.Unmarshal(res.Value, &ret) != nil {
		return nil
	}
	return intent.Ends(&ret)
}

// rounds returns how many drafts a cycle may have: the first, and one for each time the validator sends it
// back.
func (d *Dispatcher) rounds() int {
	return min(d.Config.Investigator.MaxRounds, 1+d.Config.Validator.MaxRounds)
}
