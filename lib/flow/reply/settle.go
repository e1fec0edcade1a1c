package reply

import (
	"fmt"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// settle applies people's decisions about parked posts. A decision applies only to the parking that it was
// made about, identified by the number of tries.
func (p *poster) settle() error {
	for _, j := range p.jobs {
		e := j.parked()
		if e == nil {
			continue
		}
		for _, r := range p.settles[e.ID] {
			if r.Tries != e.Tries || r.ID() != j.id {
				continue
			}
			if err := p.settled(j, e, &r); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func (p *poster) settled(j *job, e *outbox.Entry, r *decision.Record) error {
	j.fails, j.unproven, j.due = 0, 0, p.Now()
	e.Why = fmt.Sprintf("%s said %s", r.By, r.Outcome)
	if r.Note != "" {
		e.Why += ": " + r.Note
	}
	switch r.Outcome {
	case decision.SettlePosted:
		e.State, e.PostedAt = outbox.Posted, r.At
	case decision.SettleRetry:
		e.State = outbox.Intent
		j.cleared = e.Part
		p.cut(j, e)
	default:
		e.State = outbox.Dropped
	}
	return p.save(e, "settled")
}

// cut cuts the text of a restored claim into parts that the platform accepts: tri-backup knows no limit, and
// parked the whole text as one part.
func (p *poster) cut(j *job, e *outbox.Entry) {
	limit := p.sink(j).Limit()
	all := outbox.Derive(j.text(), j.offer().Target, limit)
	if e.Limit > 0 || e.Parts > 1 || len(all) == 1 {
		return
	}
	e.Parts, e.Limit, e.Text = len(all), limit, all[0].Text
	j.parts = append(j.parts, make([]*outbox.Entry, len(all)-1)...)
	for i := range all {
		j.sure[i+1] = true // the person said that nothing of it is in the chat
	}
}

// record writes the line of a reply.
func (p *poster) record(j *job) error {
	r := p.reply(j)
	if err := durable.Append(p.Home, LogName, r); err != nil {
		return err
	}
	j.line, p.lines[j.id] = true, true
	if err := p.fault("line"); err != nil {
		return err
	}
	return ndjson.Write(p.Out, r)
}

// reply returns the line of a draft whose parts are all posted, or of which one was refused or dropped.
func (p *poster) reply(j *job) outbox.Reply {
	offer, said := j.offer(), j.text()
	r := outbox.Reply{
		Platform: offer.Target.Platform, ChatID: offer.Target.ChatID,
		ReplyToMessageID: offer.Target.ReplyToID,
		PostedAt:         text.Timestamp(p.Now()), ReplyText: said.Text,
		Key: j.st.Key, Cycle: j.st.Cycle, DraftSHA256: said.DraftSHA256, Outcome: outbox.Posted,
		ApprovedBy: approvedBy(j.st),
		ReadBy:     j.st.Readers(),
	}
	if m := offer.Meta; m != nil {
		r.InvestigatorTaskID, r.ValidatorVerdict = m.InvestigatorTaskID, m.ValidatorVerdict
		r.InvestigatorRounds, r.WasEscalated, r.TriageFile = m.InvestigatorRounds,
			m.WasEscalated, m.TriageFile
		r.Badge = m.Badge
	}
	if said.Kind == decision.Notify {
		r.ValidatorVerdict = outbox.Notice
	}
	if said.Kind == decision.Edit {
		r.ValidatorVerdict, r.EditedBy, r.Badge = outbox.UserEdited, r.ReadBy[0], said.Badge
	}
	if said.NoFile {
		r.TriageFile = nil
	}
	for _, e := range j.parts {
		if e.State != outbox.Posted {
			r.Outcome, r.Why = e.State, e.Why
			if len(j.parts) > 1 {
				r.Why = fmt.Sprintf("part %d of %d: %s", e.Part, e.Parts, e.Why)
			}
			break
		}
		r.PostedAt, r.Why = e.PostedAt, e.Why
		if e.PostedMessageID != "" {
			r.PostedMessageIDs = append(r.PostedMessageIDs, e.PostedMessageID)
		}
	}
	if len(r.PostedMessageIDs) > 0 {
		r.PostedMessageID = r.PostedMessageIDs[0]
	}
	return r
}

// file moves the entries of a reply whose line is written to their final folder.
func (p *poster) file(j *job) error {
	for i, e := range j.parts {
		if e == nil {
			continue
		}
		if err := e.Finish(p.Home); err != nil {
			return err
		}
		if err := p.fault("file"); err != nil {
			return err
		}
		j.parts[i] = nil
	}
	return nil
}

// approvedBy names everyone whose approval of the text counted.
func approvedBy(st *decision.Standing) string {
	if names := st.Readers(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return st.Decision.By
}
