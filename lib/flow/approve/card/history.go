package card

import (
	"encoding/json"
	"fmt"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// history holds what became of items: the folds of the decision log and of replies.ndjson.
type history struct {
	home      *durable.Home
	tail      *decision.Tail
	state     *decision.State
	words     map[string]decision.Record // the last decision that counts, by draft
	settled   map[string]decision.Record // by post
	refs      map[string]bool            // of decisions, whether they count or not
	replies   map[string]*outbox.Reply   // by draft
	repliesTo int64                      // bytes read of replies.ndjson
}

func newHistory(h *durable.Home, p decision.Policy) *history {
	return &history{
		home: h, tail: decision.NewTail(h), state: decision.NewState(p),
		words: map[string]decision.Record{}, settled: map[string]decision.Record{}, refs: map[string]bool{},
		replies: map[string]*outbox.Reply{},
	}
}

// cycleOf names the one draft of a thread's cycle.
func cycleOf(key string, cycle int) string { return fmt.Sprint(key, " ", cycle) }

// read reads both logs, replies.ndjson only the first time.
func (p *history) read() error {
	if err := p.readWords(); err != nil || p.repliesTo > 0 {
		return err
	}
	return p.home.Tail(repliesName, 0, func(l []byte, next int64) error {
		var r outbox.Reply
		if err := json.Unmarshal(l, &r); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", repliesName, err))
		}
		p.reply(&r)
		p.repliesTo = next
		return nil
	})
}

func (p *history) reply(r *outbox.Reply) {
	p.replies[cycleOf(r.Key, r.Cycle)] = &outbox.Reply{Outcome: r.Outcome, ApprovedBy: r.ApprovedBy,
		EditedBy: r.EditedBy, Badge: r.Badge, Why: r.Why, PostedAt: r.PostedAt}
}

func (p *history) readWords() error {
	return p.tail.Next(func(r decision.Record) error {
		if r.Ref != "" {
			p.refs[r.Ref] = true
		}
		if counts, _ := p.state.Add(r); !counts {
			return nil
		}
		key := cycleOf(r.Key, r.Cycle)
		if !r.Posts() {
			r.Text = ""
		}
		r.Evidence, r.Sources, r.Target = nil, nil, nil
		switch r.Kind {
		case decision.Offer, decision.Undo:
			delete(p.words, key)
		case decision.Claim:
			w := *p.state.Standing(r.Key).Decision // a claim that counts has one
			w.Evidence, w.Sources, w.Target = nil, nil, nil
			w.Outcome = decision.Claim
			p.words[key] = w
		case decision.Settle:
			p.settled[r.Post] = r
		case decision.Branch: // it decides nothing on this draft
		case decision.Approve, decision.Edit:
			if st := p.state.Standing(r.Key); st != nil && st.Decision != nil && st.Decision.N == r.N {
				p.words[key] = r
			}
		default:
			p.words[key] = r
		}
		return nil
	})
}

// end returns the outcome of an item that no longer waits, as a title and a sentence. ok is false while it
// is unknown. A post that is tried again may be parked again, so a retry does not end the card.
func (p *history) end(c *card) (title, said string, end, ok bool) {
	if c.Post != "" {
		return p.endOfParked(c)
	}
	w, reply := p.words[cycleOf(c.Key, c.Cycle)], p.replies[cycleOf(c.Key, c.Cycle)]
	who, note := one(w.By, 60), ""
	if w.Note != "" {
		note = ": " + one(w.Note, 200)
	}
	switch {
	case reply != nil && reply.Outcome == outbox.Posted:
		return "Posted", fmt.Sprintf("Posted; %s.", one(reply.Approval(), 160)), true, true
	case reply != nil:
		return "Not posted", fmt.Sprintf("Approved by %s, and not posted (%s): %s", one(reply.ApprovedBy, 60),
			reply.Outcome, one(reply.Why, 200)), true, true
	case w.Posts() && w.Outcome == decision.Claim:
		return "Approved by " + who, "Approved by " + who + "; it is being posted.", false, true
	case w.Posts():
		return "", "", false, false // it is not posted yet, and can still be taken back
	}
	switch w.Kind {
	case decision.Dismiss:
		return "Dismissed by " + who, "Dismissed by " + who + note, true, true
	case decision.Redo:
		return "Redone for " + who, "Investigated again, as " + who + " asked" + note, true, true
	case decision.Answer:
		return "Answered by " + who, "Investigated with the answer of " + who + note, true, true
	case decision.Escalate:
		return "Investigated in a long run", "Investigated in a long run, as " + who + " asked" + note, true, true
	case decision.Tell, decision.Redirect:
		return "Continued for " + who, "Continued with what " + who + " said" + note, true, true
	case decision.Cancel:
		return "Cancelled by " + who, "Cancelled by " + who + note, true, true
	case decision.Revoke:
		return "Not posted", "What was approved is no longer so" + note, true, true
	case decision.Withdraw:
		return "No longer waits", "Taken back by the pipeline" + note, true, true
	}
	return p.endOfThread(c)
}

func (p *history) endOfParked(c *card) (title, said string, end, ok bool) {
	w, found := p.settled[c.Post]
	if !found {
		return "", "", false, false
	}
	who := one(w.By, 60)
	if w.Outcome == decision.SettleRetry {
		return "Tried again", "Settled by " + who + ": it is posted again.", false, true
	}
	return "Settled by " + who, "Settled by " + who + ": " + w.Outcome + ".", true, true
}

// endOfThread returns the outcome from the thread if no decision gives it: the thread moved on, or was
// closed.
func (p *history) endOfThread(c *card) (title, said string, end, ok bool) {
	t, err := thread.Load(p.home, c.Key)
	switch {
	case err != nil || t == nil:
		return "", "", false, false // it is between two files, or a later look reports the error
	case t.Cycle > c.Cycle || p.newer(c):
		return "Replaced", "A newer draft has taken its place, or will.", true, true
	case t.Status == thread.Closed:
		return "Closed", "Closed: " + one(t.CloseReason, 200), true, true
	}
	return "", "", false, false
}

// newer reports whether another draft of the same cycle has been offered.
func (p *history) newer(c *card) bool {
	st := p.state.Standing(c.Key)
	return st != nil && st.Offer != nil && st.Cycle == c.Cycle && c.DraftSHA256 != "" &&
		st.Offer.DraftSHA256 != c.DraftSHA256
}

// one makes outside text one line of at most most characters.
func one(s string, most int) string { return text.Cut(oneLine(text.Visible(s)), most) }
