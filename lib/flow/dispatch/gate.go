package dispatch

import (
	"errors"
	"fmt"
	"reflect"

	"tri/lib/base/config"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/judge/voice"
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

// gate is the decision log: what is offered to people, and what they decided.
type gate struct {
	Options
	*decision.State
	policy decision.Policy // of the state
	chain  decision.Chain  // as far as the log has been read
	// latest holds the offers that this process has appended to the log, by key, whether or not it has read
	// them back yet.
	latest map[string]string
}

func newGate(o Options) *gate {
	policy := decision.PolicyOf(o.Config)
	return &gate{Options: o, State: decision.NewState(policy), policy: policy, latest: map[string]string{}}
}

// follow folds the log anew, as far as it has been read, if the policy has changed: the decision of a person
// who was added to the approvers counts, as tri-approve has told them. While the policy cannot be read, the
// last one applies.
func (g *gate) follow() error {
	if g.Policy == nil {
		return nil
	}
	now, err := g.Policy()
	if err != nil || reflect.DeepEqual(now, g.policy) {
		return nil
	}
	last, _ := g.chain.Last()
	g.State, g.policy = decision.NewState(now), now
	enough := errors.New("enough")
	err = decision.NewTail(g.Home).Next(func(r decision.Record) error {
		if r.N > last {
			return enough
		}
		g.Add(r)
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// read folds a line of the log. It reports whether the record counts, and whether it moves its thread.
func (g *gate) read(b []byte) (r decision.Record, counts, moves bool, err error) {
	if r, err = g.chain.Next(b); err != nil {
		return r, false, false,
			sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("read decisions.ndjson: %w", err)),
				"the log of decisions was changed: restore its last good copy")
	}
	counts, why := g.Add(r)
	if !counts {
		g.Say("decision %d (%s by %q) does not count: %s", r.N, r.Kind, r.By, why)
		return r, false, false, nil
	}
	switch st := g.Standing(r.Key); r.Kind {
	case decision.Offer:
		g.latest[r.Key] = offerID(&r)
		return r, true, false, nil
	case decision.Withdraw:
		if g.latest[r.Key] == offerID(&r) {
			delete(g.latest, r.Key)
		}
		return r, true, false, nil
	case decision.Claim, decision.Settle, decision.Notice, decision.Retract, decision.Notify,
		decision.Todo:
		return r, true, false, nil
	case decision.Undo:
		if st.Offer != nil {
			g.latest[r.Key] = offerID(st.Offer) // it may have been withdrawn as expired
		}
		return r, true, true, nil
	default: // another approval may be needed
		return r, true, !r.Posts() || st.Decision != nil && st.Decision.N == r.N, nil
	}
}

// offer appends the offer of a draft, and returns it. If the offer exists already and is open, it
// returns that one: a dispatcher may have been killed just after writing it. It returns nil if
// there is none.
func (g *gate) offer(t *thread.Thread) (*decision.Record, error) {
	if g.Shadow || t.Platform == config.PlatformSweep { // there is no chat to post it to
		return nil, nil
	}
	r := record(t)
	if g.latest[t.Key] == offerID(&r) {
		if st := g.Standing(t.Key); st != nil && st.Open(g.Now()) && offerID(st.Offer) == offerID(&r) {
			return st.Offer, nil
		}
		return nil, nil
	}
	r.At = text.Timestamp(g.Now())
	r, err := decision.Append(g.Home, r)
	if err != nil {
		return nil, err
	}
	g.latest[t.Key] = offerID(&r)
	return &r, g.fault("offer")
}

// record builds the record that asks people to decide on a draft.
func record(t *thread.Thread) decision.Record {
	chatID, threadID, replyTo := t.Target()
	question := ""
	r := decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: t.Key, Cycle: t.Cycle,
		DraftSHA256: t.DraftSHA256, Text: *t.DraftPending, Codebase: t.Codebase,
		Evidence: t.InvestigatorReturn.EvidenceRefs,
		Meta: &decision.Meta{
			InvestigatorTaskID: *t.InvestigatorTaskID, InvestigatorRounds: t.InvestigatorRound,
			ValidatorVerdict: verdictOf(t), WasEscalated: t.IsEscalated, TriageFile: triageFile(t),
			Badge: t.Badge, NotAnswered: t.NotAnswered,
		},
		Sources: []string{t.InvestigatorReturn.SummaryForOrchestrator, t.InvestigatorReturn.ResearchNotes},
	}
	if *t.DraftPending == t.InvestigatorReturn.DraftReply {
		r.Cuts = t.InvestigatorReturn.Cuts
	}
	r.Cuts = voice.Fit(r.Text, r.Cuts, chat.Limits[t.Platform]) // so that people see how it is sent
	room := maxSources
	for _, m := range t.Messages {
		if room -= len(m.Content); room > 0 || m.MessageID == replyTo {
			r.Sources = append(r.Sources, prompt.Cut(m.Content, maxSource))
		}
		if m.MessageID == replyTo {
			question = m.Content
		}
	}
	r.Target = &decision.Target{Platform: t.Platform, ChatID: chatID, ThreadID: threadID, ReplyToID: replyTo,
		QuestionSHA256: decision.Sum(question)}
	return r
}

// retire withdraws an offer that its thread no longer supports. A claimed offer is being posted and is
// left alone: the reply will show the outcome.
func (g *gate) retire(t *thread.Thread) error {
	id, ok := g.latest[t.Key]
	if !ok {
		return nil
	}
	delete(g.latest, t.Key)
	if s := g.Standing(t.Key); s != nil && (s.Offer == nil || s.Claimed || s.Void != "" ||
		s.Decision != nil && !s.Approved()) {
		return nil // nothing is offered there, or a person has said no
	}
	if t.PostedMessageID != nil {
		return nil
	}
	r := decision.Record{Kind: decision.Withdraw, By: "tri-dispatch", Via: "code",
		At: text.Timestamp(g.Now()), Key: t.Key, Note: t.StatusHistory[len(t.StatusHistory)-1].Why}
	if _, err := fmt.Sscan(id, &r.Cycle, &r.DraftSHA256); err != nil {
		return fmt.Errorf("withdraw offer %q: %w", id, err)
	}
	_, err := decision.Append(g.Home, r)
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
