package reply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/judge/safety"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// step advances a job from its state to the next.
func (p *poster) step(ctx context.Context, j *job) error {
	if i := j.doubted(); i >= 0 {
		return p.believe(ctx, j, i)
	}
	step, i, err := outbox.Plan(j.claimed, j.line, j.parts)
	if err != nil {
		return fmt.Errorf("post %q: %w", j.id, err)
	}
	switch step {
	case outbox.Recheck:
		return p.begin(ctx, j)
	case outbox.Write:
		return p.write(j)
	case outbox.Try:
		if !j.knows(i) {
			return p.look(ctx, j, i)
		}
		if p.paced(ctx, j, i) {
			return nil
		}
		return p.post(ctx, j, i)
	case outbox.Look:
		return p.look(ctx, j, i)
	case outbox.Line:
		return p.record(j)
	case outbox.File:
		return p.file(j)
	}
	p.drop(j)
	return nil
}

// begin checks that an approved draft may still be posted, and claims it. Whether the claim came before an
// undo is decided by the log.
func (p *poster) begin(ctx context.Context, j *job) error {
	switch changed, err := p.reread(); {
	case err != nil:
		p.Say("%s: who may decide cannot be read: %v; again later", j.st.Key, err)
		p.later(j)
		return nil
	case changed:
		return p.again()
	}
	if !j.st.Approved() || j.text().ID() != j.id {
		p.drop(j) // taken back or void
		return nil
	}
	if wait, err := p.holdAuto(j); wait || err != nil {
		return err
	}
	why, err := p.state.Unfit(j.st, p.Now()), error(nil)
	if why == "" {
		why, err = p.stale(ctx, j)
	}
	if err != nil {
		p.Say("%s: recheck before posting: %v; again later", j.st.Key, err)
		p.later(j)
		return nil
	}
	r := decision.Record{
		Kind: decision.Claim, By: "tri-reply", Via: "code",
		Key: j.st.Key, Cycle: j.st.Cycle, DraftSHA256: j.text().DraftSHA256, Nonce: p.nonce,
	}
	if why != "" {
		r.Kind, r.Note, r.Nonce = decision.Revoke, why, ""
	}
	r.At = text.Timestamp(p.Now())
	if _, err := decision.Append(p.Home, r); err != nil {
		return err
	}
	if err := p.fault(r.Kind); err != nil {
		return err
	}
	if err := p.tail.Next(p.fold); err != nil {
		return err
	}
	j.fails = 0
	if why != "" {
		p.Say("%s: not posted: %s", j.st.Key, why)
	}
	if !j.claimed {
		p.drop(j)
	}
	return nil
}

// stale says why an approved draft must no longer be posted.
func (p *poster) stale(ctx context.Context, j *job) (why string, err error) {
	if why, err := p.Recheck(*j.offer()); why != "" || err != nil {
		return why, err
	}
	return p.questionShifted(ctx, j)
}

// questionShifted says why the question is no longer the one that was answered.
func (p *poster) questionShifted(ctx context.Context, j *job) (why string, err error) {
	t := j.offer().Target
	ctx, cancel := limited(ctx)
	defer cancel()
	began := p.Now()
	text, gone, err := p.sink(j).Message(ctx, t.ChatID, t.ReplyToID)
	switch {
	case errors.Is(err, chat.ErrUnsupported):
		return "", nil // only tri-dispatch learns of its edits, and then withdraws the offer
	case chat.IsRefused(err):
		return fmt.Sprintf("the question cannot be read: %v", err), nil
	case err != nil:
		return "", err
	case gone:
		return "the question was deleted", nil
	case decision.Sum(text) != t.QuestionSHA256:
		return "the question was edited", nil
	}
	j.asked = began
	return "", nil
}

// limited returns the context of one platform call. It ends by timeout and not with the program: a
// stopping program finishes the current post.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), postTimeout)
}

// write makes the intents of all parts durable. Nothing is sent before all of them are.
func (p *poster) write(j *job) error {
	limit := p.sink(j).Limit()
	for _, e := range j.parts {
		if e != nil && !fresh(e) && e.Limit > 0 {
			limit = e.Limit // a file was lost; the text already sent was cut to this limit
		}
	}
	all := outbox.Derive(j.text(), j.offer().Target, limit)
	if err := p.rollback(j, all); err != nil {
		return err
	}
	refused := p.unsafe(j)
	for i, e := range all {
		if j.parts[i] != nil {
			continue
		}
		if e.IntentAt = text.Timestamp(p.Now()); refused != "" {
			e.State, e.Why = outbox.Refused, refused
		}
		if err := p.save(e, "intent"); err != nil {
			return err
		}
		j.parts[i] = e
	}
	return nil
}

// rollback removes entries that an earlier process wrote for another cut of the text. None of them was
// tried, since not all of them were written.
func (p *poster) rollback(j *job, all []*outbox.Entry) error {
	old, had := j.stale, j.parts
	j.parts = make([]*outbox.Entry, len(all))
	for i, e := range had {
		if e != nil && len(had) == len(all) && e.Text == all[i].Text {
			j.parts[i] = e
		} else {
			old = append(old, e)
		}
	}
	j.stale = nil
	for _, e := range old {
		if e == nil {
			continue
		}
		if !fresh(e) {
			return sysexit.With(sysexit.Data, fmt.Errorf("post %q: it was tried, and is cut in another way", e.ID))
		}
		if err := e.Remove(p.Home); err != nil {
			return err
		}
		if err := p.fault("unwrite"); err != nil {
			return err
		}
	}
	return nil
}

// unsafe is the last check of a text before it is posted: even an approved text must not contain a secret
// or a mass mention.
func (p *poster) unsafe(j *job) string {
	s := safety.Sources{Texts: j.offer().Sources, Refs: j.offer().Evidence, Secrets: p.Secrets,
		Approved: true}
	for _, problem := range safety.Check(j.text().Text, s) {
		if problem.Fatal {
			return problem.Note
		}
	}
	return ""
}

func (p *poster) save(e *outbox.Entry, at string) error {
	if err := e.Save(p.Home); err != nil {
		return err
	}
	return p.fault(at)
}

// post counts a try, then posts a part.
func (p *poster) post(ctx context.Context, j *job, i int) error {
	e := j.parts[i]
	if stop, err := p.stopped(ctx, j, i); stop || err != nil {
		return err
	}
	j.cleared = 0
	m, err := p.message(j, i) // Tried is that of the previous try
	if err != nil {
		return err
	}
	p.typing(ctx, j)
	j.sure[e.Part] = true // this process knows its state from now on
	j.tried[e.Part] = p.Now()
	e.Tries, e.TriedAt = e.Tries+1, text.Timestamp(j.tried[e.Part])
	if err := p.save(e, "try"); err != nil {
		return err
	}
	if why, err := p.takenBack(j); why != "" || err != nil {
		if err != nil {
			return err
		}
		e.Tries--
		e.State, e.Why = outbox.Dropped, why
		return p.save(e, "dropped")
	}
	call, cancel := limited(ctx)
	defer cancel()
	posted, err := p.sink(j).Post(call, m)
	if err := p.fault("post"); err != nil {
		return err
	}
	retry := new(chat.RetryError)
	switch {
	case err == nil:
		return p.posted(j, e, posted)
	case chat.IsRefused(err):
		e.State, e.Why = outbox.Refused, err.Error()
		p.Say("%s: %v", e.ID, err)
		return p.save(e, "refused")
	case errors.As(err, &retry):
		e.Tries-- // the platform says that nothing was posted
		p.later(j)
		if due := p.Now().Add(retry.After); due.After(j.due) {
			j.due = due
		}
		if e.Tries > 0 {
			j.cleared = e.Part // if it was known to be absent before this try, it still is
		}
		p.Say("%s: %v; again in %v", e.ID, err, j.due.Sub(p.Now()).Round(time.Millisecond))
		return p.save(e, "untry")
	}
	p.Say("%s: %v; looking whether it was posted", e.ID, err)
	p.later(j)
	return nil
}

// stopped drops a post whose first part was not sent yet, if the question was edited or deleted since the
// claim: a chat can delay a post for long.
func (p *poster) stopped(ctx context.Context, j *job, i int) (bool, error) {
	if i > 0 || p.Now().Sub(j.asked) < askAgain {
		return false, nil
	}
	why, err := p.questionShifted(ctx, j)
	switch {
	case err != nil:
		p.Say("%s: recheck before posting: %v; again later", j.st.Key, err)
		p.later(j)
		return true, nil
	case why == "":
		return false, nil
	}
	e := j.parts[i]
	e.State, e.Why = outbox.Dropped, why+" before it was posted"
	j.sure[e.Part] = true
	p.Say("%s: not posted: %s", j.st.Key, e.Why)
	return true, p.save(e, "dropped")
}

// takenBack says why a claimed notice is not posted. It reads the log right before the post, so that no text
// is posted that no approved form gives at that moment.
func (p *poster) takenBack(j *job) (why string, err error) {
	if j.offer().Kind != decision.Notify {
		return "", nil
	}
	if err := p.hear(); err != nil {
		return "", err
	}
	if !p.state.Covers(j.offer()) {
		return fmt.Sprintf("the form %q was taken back", j.offer().Form), nil
	}
	return "", nil
}

// message returns the post for the platform. Text, chat and key are derived from the approval; an entry
// that disagrees with it is an error.
func (p *poster) message(j *job, i int) (chat.Post, error) {
	e := j.parts[i]
	approved := j.text()
	if err := e.Agrees(approved, j.offer().Target, p.sink(j).Limit()); err != nil {
		return chat.Post{}, err
	}
	if decision.Sum(approved.Text) != approved.DraftSHA256 || approved.ID() != j.id {
		return chat.Post{}, sysexit.With(sysexit.Data,
			fmt.Errorf("post %q: the text is not the approved one", e.ID))
	}
	tried, own := j.tried[e.Part]
	if !own {
		tried = text.ParseTime(e.TriedAt) // zero: not tried, or by a version that did not record it
	}
	if tried.IsZero() && !j.own {
		tried = j.claimedAt
	}
	return chat.Post{ChatID: e.ChatID, ThreadID: e.ThreadID, ReplyToID: e.ReplyTo, Text: e.Text,
		Key: e.PostKey, Tried: tried, Own: own}, nil
}

func (p *poster) posted(j *job, e *outbox.Entry, m chat.Posted) error {
	j.fails, j.unproven = 0, 0
	j.sure[e.Part] = true
	delete(p.typed, e.Platform+" "+e.ChatID)
	e.State, e.PostedMessageID, e.PostedAt, e.Why = outbox.Posted, m.MessageID, text.Timestamp(m.At), ""
	return p.save(e, "posted")
}

// look asks the platform whether an earlier try of a part was posted. Only proof that it was not allows
// another try.
func (p *poster) look(ctx context.Context, j *job, i int) error {
	e := j.parts[i]
	if j.cleared == e.Part {
		return p.post(ctx, j, i)
	}
	found, proof, err := p.find(ctx, j, i)
	if err := p.fault("find"); err != nil {
		return err
	}
	switch {
	case err == nil && proof == chat.Found:
		return p.posted(j, e, found)
	case err == nil && proof == chat.Absent && e.Tries < maxTries:
		return p.post(ctx, j, i)
	case err == nil && proof == chat.Absent:
		return p.park(j, e, fmt.Sprintf("posted %d times, and each time it was not there afterwards",
			e.Tries))
	case err == nil:
		j.unproven++
		err = errors.New("the platform cannot tell whether it was posted")
	}
	if j.unproven >= maxUnproven || j.fails >= maxFails {
		return p.park(j, e, err.Error())
	}
	p.Say("%s: %v; asking again", e.ID, err)
	p.later(j)
	return nil
}

// park leaves a part for a person to settle.
func (p *poster) park(j *job, e *outbox.Entry, why string) error {
	j.sure[e.Part] = true
	e.State, e.Why = outbox.Parked, why
	p.Say("%s: parked: %s", e.ID, why)
	return p.save(e, "parked")
}
