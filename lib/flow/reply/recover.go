package reply

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// LogName is the log of replies below the home.
const LogName = "replies.ndjson"

// recover finds out from the disk what is left to do.
func (p *poster) recover() error {
	if err := p.readLines(); err != nil {
		return err
	}
	if err := p.hear(); err != nil {
		return err
	}
	p.caught = true
	entries, err := outbox.Open(p.Home)
	if err != nil {
		return err
	}
	orphans := map[string][]*outbox.Entry{}
	for _, e := range entries {
		id := decision.ID(e.Key, e.Cycle, e.DraftSHA256)
		if j := p.byID[id]; j != nil && j.claimed {
			if err := p.attach(j, e); err != nil {
				return err
			}
			continue
		}
		orphans[id] = append(orphans[id], e)
	}
	for id, es := range orphans {
		if err := p.orphaned(id, es); err != nil {
			return err
		}
	}
	for _, j := range p.jobs {
		if err := p.finished(j); err != nil {
			return err
		}
	}
	return nil
}

// orphaned deals with entries that no open claim stands behind: those of a reply
// whose line is written go where they belong, others should not be.
func (p *poster) orphaned(id string, es []*outbox.Entry) error {
	for _, e := range es {
		if !p.lines[id] {
			p.Say("%s: a post without a claim, left alone", e.ID)
			continue
		}
		if err := e.Finish(p.Home); err != nil {
			return err
		}
		if err := p.fault("file"); err != nil {
			return err
		}
	}
	return nil
}

// attach puts an entry of an earlier process where it belongs, if it says what its
// claim and offer say.
func (p *poster) attach(j *job, e *outbox.Entry) error {
	if j.offer().Target == nil || p.sink(j) == nil {
		return nil // not posted, for now, and so not looked at
	}
	if err := e.Agrees(j.text(), j.offer().Target, p.sink(j).Limit()); err != nil {
		return err
	}
	if j.parts == nil {
		j.parts = make([]*outbox.Entry, e.Parts)
	}
	if e.Parts == len(j.parts) {
		j.parts[e.Part-1] = e
		return nil
	}
	// Two ways to cut one text: the limit changed while intents were written, of
	// which then none was ever tried. write makes them anew.
	j.stale = append(j.stale, e)
	for _, e := range append(j.stale, j.parts...) {
		if e != nil && !fresh(e) {
			return sysexit.With(sysexit.Data, fmt.Errorf("post %q: it was tried, and the text is also cut in another way", e.ID))
		}
	}
	return nil
}

// fresh reports whether no post of an entry was ever begun, by its own word.
func fresh(e *outbox.Entry) bool { return e.State == outbox.Intent && e.Tries == 0 }

// finished finds parts of a claim without a line that are in done already: the line
// was written once, and got lost.
func (p *poster) finished(j *job) error {
	if !j.claimed || j.line || j.offer().Target == nil || p.sink(j) == nil {
		return nil
	}
	for part := 1; part == 1 || part <= len(j.parts); part++ {
		if part <= len(j.parts) && j.parts[part-1] != nil {
			continue
		}
		e, err := outbox.Read(p.Home, outbox.Done, outbox.ID(j.st.Key, j.st.Cycle, j.text().DraftSHA256, part))
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := p.attach(j, e); err != nil {
			return err
		}
		// What was moved there had its line. A later part that was never sent is no reason
		// to send it now.
		j.sure[part] = e.State != outbox.Intent
	}
	return nil
}

// readLines reads which drafts have their line in replies.ndjson.
func (p *poster) readLines() error {
	f, err := p.Home.Root().Open(LogName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", LogName, err))
	}
	defer f.Close()
	if err := durable.Settle(f); err != nil { // a post whose line is there is never looked for again
		return err
	}
	for in := bufio.NewReaderSize(f, 64<<10); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a torn tail is no line: it will be written again
		}
		if err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", LogName, err))
		}
		var r struct {
			Key         string `json:"key"`
			Cycle       int    `json:"cycle"`
			DraftSHA256 string `json:"draft_sha256"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", LogName, err))
		}
		p.lines[decision.ID(r.Key, r.Cycle, r.DraftSHA256)] = true
	}
}

// hear takes in what the decision log has got since it was heard last.
func (p *poster) hear() error {
	began := p.Now()
	err := p.tail.Next(p.fold)
	p.heard = began
	return err
}

// reread asks again who may decide, and whether that has changed.
func (p *poster) reread() (changed bool, err error) {
	policy, err := p.Policy()
	if err != nil || reflect.DeepEqual(policy, p.policy) {
		return false, err
	}
	p.policy = policy
	return true, nil
}

// again takes the whole log in anew, by the policy as it is now: a yes of a person who
// was taken off the list counts no longer, unless it is being posted.
func (p *poster) again() error {
	p.Say("the list of approvers, the quorum or the policy has changed; the decisions are read again by it")
	was := p.byID
	p.tail, p.state = decision.NewTail(p.Home), decision.NewState(p.policy)
	p.jobs, p.byID, p.settles, p.caught = nil, map[string]*job{}, map[string][]decision.Record{}, false
	if err := p.hear(); err != nil {
		return err
	}
	p.caught = true
	for i, j := range p.jobs {
		old := was[j.id]
		if old == nil || old.claimed != j.claimed {
			continue
		}
		old.st = j.st
		p.jobs[i], p.byID[j.id] = old, old
	}
	return nil
}

// setForward is how far the clock was set forward between two of its times; what a
// machine has slept counts as that.
func setForward(from, to time.Time) time.Duration {
	return max(0, to.Round(0).Sub(from.Round(0))-to.Sub(from))
}

// fold takes the log's next record in.
func (p *poster) fold(r decision.Record) error {
	counts, why := p.state.Add(r)
	if !counts {
		if p.caught && r.Kind != decision.Withdraw {
			p.Say("decision %d (%s by %q for %s) does not count: %s", r.N, r.Kind, r.By, r.Key, why)
		}
		return nil
	}
	switch r.Kind {
	case decision.Approve, decision.Edit, decision.Auto:
		st := p.state.Standing(r.Key)
		if st.Decision == nil || st.Decision.N != r.N {
			return nil // somebody else must say yes too
		}
		p.add(r.ID(), st).due = p.graceEnds(&r)
	case decision.Claim:
		j := p.add(r.ID(), p.state.Claim(r.ID()))
		j.claimed, j.own, j.claimedAt = true, r.Nonce == p.nonce, instant(r.At)
		if p.lines[r.ID()] {
			p.drop(j)
		}
		if p.caught && !j.own {
			err := fmt.Errorf("another tri-reply posts for this home: it has claimed %s", r.Key)
			return sysexit.Hint(sysexit.With(sysexit.TempFail, err), "its lock file may have been deleted; stop one of the two")
		}
	case decision.Settle:
		p.settles[r.Post] = append(p.settles[r.Post], r)
	}
	return nil
}

// graceEnds is until when a yes can be taken back before anything is posted. What
// is left of it runs by the clock that nobody sets: one that is set forward ends it
// no sooner, neither then nor between the yes and this look at it.
func (p *poster) graceEnds(r *decision.Record) time.Time {
	now := p.Now()
	at, err := time.Parse(time.RFC3339, r.At)
	if !p.heard.IsZero() {
		at = at.Add(setForward(p.heard, now))
	}
	if err != nil || at.After(now) {
		at = now // another machine's clock must not hold a post back for longer
	}
	return now.Add(p.Grace - now.Sub(at))
}

// add returns the job of a draft, made where there is none.
func (p *poster) add(id string, st *decision.Standing) *job {
	j := p.byID[id]
	if j == nil {
		j = &job{id: id, st: st, sure: map[int]bool{}}
		p.byID[id] = j
		p.jobs = append(p.jobs, j)
	}
	j.st = st
	return j
}
