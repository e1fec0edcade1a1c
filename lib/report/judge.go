package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tri/lib/judge/relation"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// judge determines the outcome of the message and its reason.
func (t *teller) judge() {
	s := t.story
	for i := range s.Cycles {
		if slices.Contains(s.Cycles[i].Question, s.MessageID) {
			s.In = append(s.In, s.Cycles[i].Cycle)
		}
	}
	last := &s.Events[len(s.Events)-1]
	switch ours := t.ours(); {
	case ours != nil:
		s.Outcome, s.Reason = Ours, fmt.Sprintf("our own reply in cycle %d, %s", ours.Cycle, approvedBy(ours))
	case len(s.In) > 0:
		s.Outcome, s.Reason = t.asked(t.cycle(s.In[len(s.In)-1]))
	case last.What == "deleted":
		s.Outcome, s.Reason = Gone, "it was deleted in the chat"
	case slices.Contains(t.state.PendingMessageIDs, s.MessageID):
		s.Outcome, s.Reason = Queued, "it came during a round; the next cycle answers it"
	case t.refused != "":
		s.Outcome, s.Reason = Dropped, t.refused
	case t.taken && t.closed != "":
		s.Outcome, s.Reason = Context, "said when this was closed ("+t.closed+
			"), and taken for no question: kept for when it is asked again"
	case t.taken:
		s.Outcome, s.Reason = Context, fmt.Sprintf("kept beside what %s asked: the investigator sees it",
			t.state.OriginalSenderName)
		if t.state.OriginalSenderName == "" {
			s.Reason = "kept beside what was asked: the investigator sees it"
		}
	case last.Classification == "":
		s.Outcome, s.Reason = Unread, "the classifier has not read it"
	case last.Classification != event.Actionable:
		s.Outcome, s.Reason = Dropped, join(last.Words)
	case t.passed(last) && relation.Withdraws(s.Content, relation.Names{}):
		s.Outcome, s.Reason = Dropped, "it takes a question back, and its sender asks none here"
	case t.passed(last):
		s.Outcome, s.Reason = Dropped,
			"the dispatcher has read it, and it opens no thread: it is tri's own, thanks, or older than an edit of it"
	default:
		s.Outcome, s.Reason = Undispatch, "the dispatcher has not read it"
	}
}

// ours returns the cycle whose reply the message is, or nil.
func (t *teller) ours() *Cycle {
	for i := range t.story.Cycles {
		c := &t.story.Cycles[i]
		if c.Reply != nil && (c.Reply.PostedMessageID == t.story.MessageID ||
			slices.Contains(c.Reply.PostedMessageIDs, t.story.MessageID)) {
			return c
		}
	}
	return nil
}

func approvedBy(c *Cycle) string {
	if c.Reply == nil {
		return "no approver is in the log"
	}
	return c.Reply.Approval()
}

// asked returns the outcome of a message that a cycle answers.
func (t *teller) asked(c *Cycle) (outcome, reason string) {
	if r := c.Reply; r != nil {
		i := slices.IndexFunc(c.asked, func(m thread.Message) bool {
			return m.MessageID == t.story.MessageID
		})
		left := relation.Uncovered(thread.Texts(c.asked), r.ReplyText)
		if r.Outcome == outbox.Posted && slices.Contains(left, i) {
			return Open, fmt.Sprintf("not answered: %s was posted for %d messages together, and names nothing of what this one asks", r.PostedMessageID, len(c.asked))
		}
		if r.Outcome == outbox.Posted {
			return Answered, fmt.Sprintf("posted as %s at %s, %s", r.PostedMessageID, clock(r.PostedAt),
				approvedBy(c))
		}
		return Closed, fmt.Sprintf("approved and not posted: %s: %s", r.Outcome, r.Why)
	}
	for _, p := range c.Posts {
		if p.State == outbox.Parked {
			return Parked, "it is not known whether it was posted: " + p.Why
		}
	}
	if c.Cycle < t.state.Cycle {
		return Closed, fmt.Sprintf("cycle %d ended without an answer, and cycle %d asks something else",
			c.Cycle, t.state.Cycle)
	}
	switch t.state.Status {
	case thread.Closed:
		return Closed, t.state.CloseReason
	case thread.PendingUser:
		return t.pending()
	}
	return Working, t.state.StatusHistory[len(t.state.StatusHistory)-1].Why
}

// pending returns the outcome of a thread that waits for a person. The decision log may be ahead of
// the thread.
func (t *teller) pending() (outcome, reason string) {
	if st := t.standing; st != nil && st.Cycle == t.state.Cycle && st.Decision != nil && st.Void == "" {
		d := st.Decision
		switch {
		case !d.Posts():
			return Working, fmt.Sprintf("%s said %s; the dispatcher has not read it", d.By, d.Kind)
		case st.Claimed:
			return Approved, fmt.Sprintf("%s at %s, and being posted", d.Approval(), clock(d.At))
		}
		return Approved, fmt.Sprintf("%s at %s; tri-reply has not posted it", d.Approval(), clock(d.At))
	}
	reason = "for a person: " + t.state.Badge
	switch {
	case t.state.Asked != "":
		reason += ": " + t.state.Asked
	case t.state.InvestigatorError != "":
		reason += ": " + t.state.InvestigatorError
	}
	return Waiting, reason
}

// passed reports whether the dispatcher has processed an event, by its low-water mark.
func (t *teller) passed(e *Seen) bool {
	b, err := t.home.ReadFile("dispatch.json")
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.trouble(fmt.Errorf("read dispatch.json: %w", err))
		}
		return false
	}
	mark := struct {
		Seq int64 `json:"seq"`
	}{-1}
	if err := json.Unmarshal(b, &mark); err != nil {
		t.trouble(fmt.Errorf("read dispatch.json: %w", err))
		return false
	}
	return e.Seq != nil && *e.Seq <= mark.Seq
}
