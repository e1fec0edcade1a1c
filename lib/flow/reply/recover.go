package reply

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// LogName is the log of replies in the home.
const LogName = "replies.ndjson"

// recover determines from the disk what is left to do.
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

// orphaned handles entries without an open claim: those of a reply whose line is written are moved to
// their final folder; others are reported and left alone.
func (p *poster) orphaned(id string, es []*outbox.Entry) error {
	for _, e := range es {
		if !p.lines[id] {
			p.Say("%s: a post without a claim, ignored", e.ID)
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

// attach adds an entry of an earlier process to its job, if it agrees with its claim and offer.
func (p *poster) attach(j *job, e *outbox.Entry) error {
	if j.offer().Target == nil || p.sink(j) == nil {
		return nil // not posted for now, so not checked
	}
	if err := e.Agrees(j.text(), j.offer().Target, p.sink(j).Limit()); err != nil {
		return err
	}
	if j.parts == nil {
		j.parts = make([]*outbox.Entry, e.Parts)
	}
	if e.Parts == len(j.parts) && !slices.ContainsFunc(j.parts, func(o *outbox.Entry) bool {
		return o != nil && o.Limit != e.Limit
	}) {
		j.parts[e.Part-1] = e
		return nil
	}
	// One text is cut in two ways: the limit changed while intents were being written, so none was ever
	// tried. write replaces them.
	j.stale = append(j.stale, e)
	for _, e := range append(j.stale, j.parts...) {
		if e != nil && !fresh(e) {
			return sysexit.With(sysexit.Data,
				fmt.Errorf("post %q: it was tried, and the text is also cut in another way", e.ID))
		}
	}
	return nil
}

// fresh reports whether an entry says that no post was attempted.
func fresh(e *outbox.Entry) bool { return e.State == outbox.Intent && e.Tries == 0 }

// finished finds parts of a claim without a line that are already in done: the line was written once, and
// was lost.
func (p *poster) finished(j *job) error {
	if !j.claimed || j.line || j.offer().Target == nil || p.sink(j) == nil {
		return nil
	}
	for part := 1; part == 1 || part <= len(j.parts); part++ {
		if part <= len(j.parts) && j.parts[part-1] != nil {
			continue
		}
		e, err := outbox.Read(p.Home, outbox.Done,
			outbox.ID(j.st.Key, j.st.Cycle, j.text().DraftSHA256, part))
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := p.attach(j, e); err != nil {
			return err
		}
		// An entry moved to done had its line. A later part that was never sent is not sent now.
		j.sure[part] = e.State != outbox.Intent
	}
	return nil
}

// readLines reads which drafts have a line in replies.ndjson.
func (p *poster) readLines() error {
	f, err := p.Home.Root().Open(LogName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", LogName, err))
	}
	defer f.Close()
	if err := p.Home.Check(LogName, 0); err != nil {
		return err
	}
	if err := durable.Sync(f); err != nil { // a post with a line is never looked for again
		return err
	}
	for in := bufio.NewReaderSize(f, 64<<10); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a torn tail is not a line; it will be written again
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

// hear reads the records appended to the decision log since the last call.
func (p *poster) hear() error {
	began := p.Now()
	err := p.tail.Next(p.fold)
	p.heard = began
	return err
}

// reread reads the policy again, and reports whether it has changed.
func (p *poster) reread() (changed bool, err error) {
	policy, err := p.Policy()
	if err != nil || reflect.DeepEqual(policy, p.policy) {
		return false, err
	}
	p.policy = policy
	return true, nil
}

// again reads the whole log again under the current policy: an approval by a person removed from the list
// no longer counts, unless it is being posted.
func (p *poster) again() error {
	p.Say("the list of approvers, the quorum or the policy has changed; the decisions are evaluated again")
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

// setForward returns how far the clock was set forward between two of its times. Time during which the
// machine slept counts as that.
func setForward(from, to time.Time) time.Duration {
	return max(0, to.Round(0).Sub(from.Round(0))-to.Sub(from))
}

// fold applies the next record of the log.
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
			return nil // another approval is needed
		}
		p.add(r.ID(), st).due = p.graceEnds(&r)
	case decision.Notify:
		if st := p.state.Standing(r.Key); st.Decision != nil {
			p.add(r.ID(), st)
		}
	case decision.Claim:
		j := p.add(r.ID(), p.state.Claim(r.ID()))
		j.claimed, j.own, j.claimedAt = true, r.Nonce == p.nonce, text.ParseTime(r.At)
		if p.lines[r.ID()] {
			p.drop(j)
		}
		if p.caught && !j.own {
			err := fmt.Errorf("another tri-reply posts for this home: it has claimed %s", r.Key)
			return sysexit.Hint(sysexit.With(sysexit.TempFail, err),
				"its lock file may have been deleted; stop one of the two")
		}
	case decision.Settle:
		p.settles[r.Post] = append(p.settles[r.Post], r)
	}
	return nil
}

// graceEnds returns the time until which an approval can be taken back before anything is posted. The rest
// of the period runs on the monotonic clock: setting the wall clock forward does not shorten it.
func (p *poster) graceEnds(r *decision.Record) time.Time {
	now := p.Now()
	at, err := time.Parse(time.RFC3339, r.At)
	if !p.heard.IsZero() {
		at = at.Add(setForward(p.heard, now))
	}
	if err != nil || at.After(now) {
		at = now // a wrong clock on another machine must not delay the post further
	}
	return now.Add(p.Grace - now.Sub(at))
}

// add returns the job of a draft, creating it if needed.
func (p *poster) add(id string, st *decision.Standing) *job {
	j := p.byID[id]
	if j == nil {
		j = &job{id: id, st: st, sure: map[int]bool{}, tried: map[int]time.Time{}}
		p.byID[id] = j
		p.jobs = append(p.jobs, j)
	}
	j.st = st
	return j
}
