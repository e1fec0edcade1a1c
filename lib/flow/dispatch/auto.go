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

// Ages beyond which nothing is approved automatically: of an offer that a dispatcher finds at its start,
// and of a question asked while no dispatcher was running.
const (
	maxOfferAge = 5 * time.Minute
	maxAskedAge = time.Hour
)

// lookBack is how far back the automatic gate reads the journal: the weeks of its record, and the
// questions that may have been asked before.
const lookBack = (autoreply.Weeks + 2) * 7 * 24 * time.Hour

// auto approves drafts that were just offered, if the policy allows it and the record has earned it. Each
// offer is considered once: an approval that was taken back is not repeated. The card that announces the
// reply is requested before the approval is written, so no automatic reply goes unannounced.
type auto struct {
	quiet
	Options
	store  *store
	gate   *gate
	judged map[string]string // the latest offer considered, by key
	worded map[string]int64  // the latest record that is not an offer, by key
	lapsed map[string]int64  // the automatic approval that was taken back, by key
}

func newAuto(d *Dispatcher) *auto {
	return &auto{
		Options: d.Options, store: d.store, gate: d.gate,
		judged: map[string]string{}, worded: map[string]int64{}, lapsed: map[string]int64{},
	}
}

func (a *auto) recorded(r *decision.Record, counts bool) {
	if r.Kind != decision.Offer {
		a.worded[r.Key] = r.N
	}
}

func (a *auto) offered(t *thread.Thread, offer *decision.Record) error {
	id := offerID(offer)
	if !a.Config.AutoReply.Enabled || a.judged[t.Key] == id {
		return nil
	}
	if err := a.gate.follow(); err != nil || !a.gate.policy.Auto {
		return err // they were turned off meanwhile: an approval would not count, and the card not be true
	}
	a.judged[t.Key] = id
	now := a.Now()
	if old(offer.At, now, maxOfferAge) || a.worded[t.Key] > offer.N || !a.fresh(t, now) {
		return nil
	}
	grounds, err := a.earned(t, now)
	if err != nil {
		a.Say("%s: no automatic reply: %v", t.Key, err) // it waits for a person
		return nil
	}
	if grounds == nil {
		return nil
	}
	if err := a.announce(t, offer); err != nil {
		return err
	}
	if err := a.fault("told"); err != nil {
		return err
	}
	_, err = decision.Append(a.Home, decision.Record{
		Kind: decision.Auto, By: decision.Dispatcher, Via: decision.ViaPolicy, At: text.Timestamp(now),
		Key: t.Key, Cycle: t.Cycle, DraftSHA256: offer.DraftSHA256, Text: offer.Text, Cuts: offer.Cuts,
		Grounds: grounds,
	})
	if err != nil {
		return err
	}
	a.Say("%s: answered automatically in %v, unless it is undone", t.Key, a.Config.Gate.Grace())
	return a.fault("auto")
}

// old reports whether an instant lies more than age back. An instant that cannot be parsed counts as old.
func old(at string, now time.Time, age time.Duration) bool {
	t, err := time.Parse(time.RFC3339, at)
	return err != nil || now.Sub(t) > age
}

// fresh reports whether a thread may be answered without review: the question is at most maxAskedAge old,
// no person has answered it, and the draft was validated for it and leaves none out.
func (a *auto) fresh(t *thread.Thread, now time.Time) bool {
	ret := t.InvestigatorReturn
	if ret == nil || t.ValidatorReturn == nil || ret.Drill != nil || ret.Before != nil || len(t.Ends) > 0 ||
		len(t.HumanReplies)+len(t.NotAnswered) > 0 || len(t.Messages) == 0 {
		return false
	}
	return !old(t.Messages[len(t.Messages)-1].At, now, maxAskedAge)
}

// earned returns the grounds for an automatic approval, or nil if there are none. It reads the logs only
// when everything in the thread itself is in favor.
func (a *auto) earned(t *thread.Thread, now time.Time) ([]string, error) {
	policy, err := autoreply.New(a.Config)
	if err != nil {
		return nil, err
	}
	ret, v := t.InvestigatorReturn, t.ValidatorReturn
	judged := autoreply.Judged{Confidence: ret.Confidence, Round: t.InvestigatorRound, Verdict: v.Verdict,
		Risk: v.RiskGateCheck}
	seen := autoreply.Asked{Mention: t.Messages[len(t.Messages)-1].Mention, Type: t.QuestionType}
	if !autoreply.Hold(policy.Preconditions(seen, judged, now)) {
		return nil, nil
	}
	book, err := autoreply.Read(a.Home, policy, decision.PolicyOf(a.Config), now.Add(-lookBack))
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

// Bounds on the question and the answer in a card, in bytes.
const (
	maxCardQuestion = 400
	maxCardAnswer   = 1600
)

// announce requests the card that announces an automatic reply. The button that takes it back is on the
// draft's own card, if tri-approve chat runs.
func (a *auto) announce(t *thread.Thread, offer *decision.Record) error {
	id := decision.ID(t.Key, t.Cycle, offer.DraftSHA256)
	question := t.Messages[len(t.Messages)-1]
	return a.show(notify.Signal{
		ID: notify.OfAuto(id), Key: t.Key, Cycle: t.Cycle, DraftSHA256: offer.DraftSHA256,
		Title: fmt.Sprintf("Automatic reply in %s, posted in %v", t.ChatName, a.Config.Gate.Grace()),
		Text: fmt.Sprintf("%s: %s\n\n%s\n\nUndo it until then with: tri-approve undo %s",
			question.SenderName, prompt.Cut(question.Content, maxCardQuestion),
			prompt.Cut(offer.Text, maxCardAnswer), t.Key),
	})
}

// tick takes back automatic approvals that were not posted and no longer apply: they are too old, or a
// person has answered in the meantime.
func (a *auto) tick(now time.Time) ([]thread.Input, error) {
	for _, t := range a.store.open {
		st := a.gate.Standing(t.Key)
		if t.UserApprovedAt == nil || st == nil || !st.Automatic() || st.Claimed ||
			a.lapsed[t.Key] == st.Decision.N {
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
		a.lapsed[t.Key] = st.Decision.N
		_, err := decision.Append(a.Home, decision.Record{
			Kind: decision.Undo, By: decision.Dispatcher, Via: decision.ViaPolicy, At: text.Timestamp(now),
			Key: t.Key, Cycle: st.Cycle, DraftSHA256: st.Decision.DraftSHA256, Note: why,
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}
