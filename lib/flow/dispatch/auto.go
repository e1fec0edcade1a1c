package dispatch

import (
	"fmt"
	"time"

	"tri/lib/base/prompt"
	"tri/lib/base/text"
	"tri/lib/judge/autoreply"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
	"tri/lib/record/thread"
)

// What is too old to be answered by itself: an offer that a dispatcher finds at
// its start, and a question that was put while nobody listened.
const (
	maxOfferAge = 5 * time.Minute
	maxAskedAge = time.Hour
)

// lookBack is how much of the journal the gate needs: its weeks, and what may have
// been asked before.
const lookBack = (autoreply.Weeks + 2) * 7 * 24 * time.Hour

// auto says the automatic yes to a draft that was just offered, where the policy
// has it and the record has earned it (triage §7). Each offer is looked at once:
// a yes that was taken back is not said again. The card that tells of it is asked
// for first, so that none goes untold.
func (d *Dispatcher) auto(t *thread.Thread, offer *decision.Record) error {
	id := offerID(offer)
	if !d.Config.AutoReply.Enabled || d.Shadow || d.judged[t.Key] == id {
		return nil
	}
	d.judged[t.Key] = id
	now := d.Now()
	if old(offer.At, now, maxOfferAge) || d.worded[t.Key] || !d.fresh(t, now) {
		return nil
	}
	grounds, err := d.earned(t, now)
	if err != nil {
		d.Say("%s: no automatic reply: %v", t.Key, err) // it waits for a person
		return nil
	}
	if grounds == nil {
		return nil
	}
	if err := d.tellAuto(t, offer); err != nil {
		return err
	}
	if err := d.fault("told"); err != nil {
		return err
	}
	_, err = decision.Append(d.Home, decision.Record{
		Kind: decision.Auto, By: decision.Dispatcher, Via: decision.ViaPolicy, At: text.Timestamp(now),
		Key: t.Key, Cycle: t.Cycle, DraftSHA256: offer.DraftSHA256, Text: offer.Text, Grounds: grounds,
	})
	if err != nil {
		return err
	}
	d.Say("%s: answered automatically in %v, unless somebody takes it back", t.Key, d.Config.Gate.Grace())
	return d.fault("auto")
}

// old reports whether an instant lies more than age back; what cannot be read does.
func old(at string, now time.Time, age time.Duration) bool {
	t, err := time.Parse(time.RFC3339, at)
	return err != nil || now.Sub(t) > age
}

// fresh reports whether a thread is one that may be answered without a look: a
// question of this hour that nobody else has answered, and a draft that was
// validated for it.
func (d *Dispatcher) fresh(t *thread.Thread, now time.Time) bool {
	ret := t.InvestigatorReturn
	if ret == nil || t.ValidatorReturn == nil || ret.Drill != nil || ret.Before != nil || len(t.HumanReplies) > 0 || len(t.Messages) == 0 {
		return false
	}
	return !old(t.Messages[len(t.Messages)-1].At, now, maxAskedAge)
}

// earned gives the grounds of an automatic yes, nil where there is none. The logs
// are read only when all that the thread itself tells speaks for it.
func (d *Dispatcher) earned(t *thread.Thread, now time.Time) ([]string, error) {
	policy, err := autoreply.New(d.Config)
	if err != nil {
		return nil, err
	}
	ret, v := t.InvestigatorReturn, t.ValidatorReturn
	judged := autoreply.Judged{Confidence: ret.Confidence, Round: t.InvestigatorRound, Verdict: v.Verdict, Risk: v.RiskGateCheck}
	seen := autoreply.Asked{Mention: t.Messages[len(t.Messages)-1].Mention, Type: t.QuestionType}
	if !autoreply.Hold(policy.Preconditions(seen, judged, now)) {
		return nil, nil
	}
	book, err := autoreply.Read(d.Home, policy, decision.PolicyOf(d.Config), now.Add(-lookBack))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range t.Messages {
		ids = append(ids, m.MessageID)
	}
	asked, ok := book.Asks(t.Key, ids)
	if !ok {
		return nil, nil
	}
	asked.Type = t.QuestionType
	conditions, report := policy.Preconditions(asked, judged, now), book.Report(now)
	if !autoreply.Hold(conditions) || !report.Open {
		return nil, nil
	}
	var grounds []string
	for _, c := range conditions {
		grounds = append(grounds, c.Why)
	}
	return append(grounds, report.Earned()), nil
}

// What a card holds of a question and its answer, in bytes.
const (
	maxCardQuestion = 400
	maxCardAnswer   = 1600
)

// tellAuto asks for the card that tells of an automatic reply. The button that
// takes it back is on the draft's own card, where tri-approve chat runs.
func (d *Dispatcher) tellAuto(t *thread.Thread, offer *decision.Record) error {
	id := decision.ID(t.Key, t.Cycle, offer.DraftSHA256)
	question := t.Messages[len(t.Messages)-1]
	return d.show(notify.Signal{
		ID: notify.OfAuto(id), Key: t.Key, Cycle: t.Cycle, DraftSHA256: offer.DraftSHA256,
		Title: fmt.Sprintf("Automatic reply in %s, posted in %v", t.ChatName, d.Config.Gate.Grace()),
		Text: fmt.Sprintf("%s: %s\n\n%s\n\nTake it back until then with: tri-approve undo %s",
			question.SenderName, prompt.Cut(question.Content, maxCardQuestion), prompt.Cut(offer.Text, maxCardAnswer), t.Key),
	})
}

// lapse takes back the automatic yeses that nobody has posted and that no longer
// fit: they are too old, or somebody has answered meanwhile.
func (d *Dispatcher) lapse(now time.Time) error {
	for _, t := range d.threads {
		st := d.decisions.Standing(t.Key)
		if t.UserApprovedAt == nil || st == nil || !st.Automatic() || st.Claimed || d.lapsed[t.Key] == st.Decision.N {
			continue
		}
		why := ""
		switch {
		case st.Lapsed(now):
			why = "nobody could post it in time"
		case len(t.HumanReplies) > 0:
			why = "somebody has answered meanwhile"
		default:
			continue
		}
		d.lapsed[t.Key] = st.Decision.N
		_, err := decision.Append(d.Home, decision.Record{
			Kind: decision.Undo, By: decision.Dispatcher, Via: decision.ViaPolicy, At: text.Timestamp(now),
			Key: t.Key, Cycle: st.Cycle, DraftSHA256: st.Decision.DraftSHA256, Note: why,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
