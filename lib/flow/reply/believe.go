package reply

import (
	"context"
	"errors"
	"slices"

	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// knows reports whether this process knows the state of a part without relying on its file.
func (j *job) knows(i int) bool { return j.own || j.sure[i+1] }

// doubted returns the first part of another process's claim whose file says that it is settled, or -1 if
// there is none. A parked part waits for a person anyway, and an unsettled one is looked for in the chat
// before it is tried.
func (j *job) doubted() int {
	if !j.claimed || j.line {
		return -1
	}
	for i, e := range j.parts {
		if e != nil && !j.knows(i) && (e.State == outbox.Posted || e.State == outbox.Refused ||
			e.State == outbox.Dropped) {
			return i
		}
	}
	return -1
}

// believe checks whether a part is settled as its file says: in the log if a person settled it, by the
// rules if they refuse the text, otherwise in the chat.
func (p *poster) believe(ctx context.Context, j *job, i int) error {
	e := j.parts[i]
	switch {
	case e.State == outbox.Posted && p.settledAs(j, e, decision.SettlePosted),
		e.State == outbox.Dropped && p.settledAs(j, e, decision.SettleDrop),
		e.State == outbox.Refused && p.unsafe(j) != "":
		j.sure[e.Part] = true
		return nil
	case e.State == outbox.Dropped:
		return p.park(j, e, "its file says dropped, and no decision in the log does")
	}
	found, proof, err := p.find(ctx, j, i)
	if err := p.fault("find"); err != nil {
		return err
	}
	switch {
	case err == nil && proof == chat.Found:
		return p.posted(j, e, found)
	case err == nil && proof == chat.Absent && e.State == outbox.Refused:
		e.State, e.Why = outbox.Intent, "" // if the platform refuses, it will refuse again
		return p.save(e, "intent")
	case err == nil && proof == chat.Absent:
		return p.park(j, e, "its file says "+e.State+", and it is not there")
	case err == nil:
		j.unproven++
		err = errors.New("the platform cannot tell whether it was posted")
	}
	if j.unproven >= maxUnproven || j.fails >= maxFails {
		return p.park(j, e, "its file says "+e.State+"; "+err.Error())
	}
	p.Say("%s: %v; asking again", e.ID, err)
	p.later(j)
	return nil
}

// settledAs reports whether a person settled a part with this outcome.
func (p *poster) settledAs(j *job, e *outbox.Entry, outcome string) bool {
	return slices.ContainsFunc(p.settles[e.ID], func(r decision.Record) bool {
		return r.Outcome == outcome && r.ID() == j.id
	})
}

// find looks for a part on the platform. The time of the try also comes from a file: if nothing was found
// since then, find looks again from the time of the claim, before which nothing was posted.
func (p *poster) find(ctx context.Context, j *job, i int) (chat.Posted, chat.Proof, error) {
	m, err := p.message(j, i)
	if err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	found, proof, err := p.sink(j).Find(ctx, m)
	if err != nil || proof != chat.Absent || j.knows(i) || !j.claimedAt.Before(m.Tried) {
		return found, proof, err
	}
	m.Tried = j.claimedAt
	return p.sink(j).Find(ctx, m)
}
