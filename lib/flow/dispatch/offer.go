package dispatch

import (
	"fmt"

	"tri/lib/base/prompt"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// maxSource bounds the text of one message in an offer, in bytes, so that every reader accepts the
// record's line.
const (
	maxSource  = 8 << 10
	maxSources = 64 << 10 // of all messages
)

func offerID(r *decision.Record) string { return fmt.Sprint(r.Cycle, " ", r.DraftSHA256) }

// offer builds the record that asks people to decide on a draft.
func (d *Dispatcher) offer(t *thread.Thread) decision.Record {
	chatID, threadID, replyTo := t.Target()
	question := ""
	r := decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: t.Key, Cycle: t.Cycle,
		DraftSHA256: t.DraftSHA256, Text: *t.DraftPending, Codebase: t.Codebase,
		Evidence: t.InvestigatorReturn.EvidenceRefs,
		Meta: &decision.Meta{
			InvestigatorTaskID: *t.InvestigatorTaskID, InvestigatorRounds: t.InvestigatorRound,
			ValidatorVerdict: verdictOf(t), WasEscalated: t.IsEscalated, TriageFile: triageFile(t),
			Badge: t.Badge,
		},
		Sources: []string{t.InvestigatorReturn.SummaryForOrchestrator, t.InvestigatorReturn.ResearchNotes},
	}
	room := maxSources
	for _, m := range t.Messages {
		if room -= len(m.Content); room > 0 || m.MessageID == replyTo {
			r.Sources = append(r.Sources, prompt.Cut(m.Content, maxSource))
		}
		if m.MessageID == replyTo {
			question = m.Content
		}
	}
	r.Target = &decision.Target{Platform: t.Platform, ChatID: chatID, ThreadID: threadID, ReplyToID: replyTo, QuestionSHA256: decision.Sum(question)}
	return r
}

func (d *Dispatcher) putOffer(t *thread.Thread) error {
	r := d.offer(t)
	if d.Shadow {
		return nil
	}
	if d.offered[t.Key] == offerID(&r) {
		// The offer exists already. If a dispatcher was killed just after writing it, its automatic
		// approval may still be due.
		if st := d.decisions.Standing(t.Key); st != nil && st.Open(d.Now()) && offerID(st.Offer) == offerID(&r) {
			return d.auto(t, st.Offer)
		}
		return nil
	}
	r.At = text.Timestamp(d.Now())
	r, err := decision.Append(d.Home, r)
	if err != nil {
		return err
	}
	d.offered[t.Key] = offerID(&r)
	delete(d.worded, t.Key)
	if err := d.fault("offer"); err != nil {
		return err
	}
	return d.auto(t, &r)
}

// retire withdraws an offer that its thread no longer supports. A claimed offer is being posted and is
// left alone: the reply will show the outcome.
func (d *Dispatcher) retire(t *thread.Thread) error {
	id, ok := d.offered[t.Key]
	if !ok {
		return nil
	}
	delete(d.offered, t.Key)
	if s := d.decisions.Standing(t.Key); s != nil && (s.Offer == nil || s.Claimed || s.Void != "" || s.Decision != nil && !s.Approved()) {
		return nil // nothing is offered there, or a person has said no
	}
	if t.PostedMessageID != nil {
		return nil
	}
	r := decision.Record{Kind: decision.Withdraw, By: "tri-dispatch", Via: "code", At: text.Timestamp(d.Now()), Key: t.Key, Note: t.StatusHistory[len(t.StatusHistory)-1].Why}
	if _, err := fmt.Sscan(id, &r.Cycle, &r.DraftSHA256); err != nil {
		return fmt.Errorf("withdraw offer %q: %w", id, err)
	}
	_, err := decision.Append(d.Home, r)
	return err
}

func verdictOf(t *thread.Thread) string {
	switch {
	case t.ValidatorReturn == nil || t.ValidatorReturn.Verdict != verdict.Pass:
		return "escalate-then-user-approved"
	case t.InvestigatorRound > 1:
		return "bounce-then-pass"
	}
	return "pass"
}

func triageFile(t *thread.Thread) *string {
	if f := t.InvestigatorReturn.ProposedTriageFile; f != nil {
		path := "triage/" + thread.FileName(f.Filename, t.Key, t.Cycle)
		return &path
	}
	return nil
}
