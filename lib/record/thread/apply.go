package thread

import (
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/ndjson"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
)

// Bounds of the lists that a thread keeps.
const (
	maxApplied = 256
	maxContext = 20
)

// Effect is work that is due in a thread's current state. Effects name work and are not commands:
// Due returns the same effects for the same thread at every call, and the caller finds out which
// of them are done already.
type Effect struct {
	Kind  string // see below
	RunID string // of EffectInvestigate, EffectTell and EffectValidate
	Long  bool   // tier 2
}

// Kinds of effect.
const (
	EffectInvestigate = "investigate"
	EffectTell        = "tell" // the waiting messages should be passed to the run
	EffectValidate    = "validate"
	EffectOffer       = "offer"  // the pending draft should be offered in the decision log
	EffectRetire      = "retire" // the thread should have no open offer there
)

// Due returns the work that is due, a function of the thread alone.
func Due(t Thread) []Effect {
	switch t.Status {
	case Investigating, BouncedRound1, Escalated:
		id := *t.InvestigatorTaskID
		return []Effect{{Kind: EffectRetire}, {Kind: EffectInvestigate, RunID: id, Long: t.IsEscalated},
			{Kind: EffectTell, RunID: id}}
	case AwaitingValidation:
		return []Effect{{Kind: EffectValidate, RunID: *t.ValidatorTaskID, Long: t.IsEscalated}}
	case PendingUser:
		if t.DraftPending == nil {
			return []Effect{{Kind: EffectRetire}}
		}
		return []Effect{{Kind: EffectOffer}}
	}
	return []Effect{{Kind: EffectRetire}}
}

// Apply is the complete state machine: it applies one input to a thread (the zero Thread if it
// does not exist yet) and returns the new thread and the work that is then due. It is pure. An
// input that was applied before, or that does not concern this thread, changes nothing.
func Apply(t Thread, in Input) (Thread, []Effect) {
	if in.Thread != nil {
		t = clone(*in.Thread)
		return t, Due(t)
	}
	if t.Knows(in) || t.Key == "" && !Opens(in) {
		return t, nil
	}
	t = clone(t)
	t.know(in)
	switch {
	case in.Event != nil:
		t.event(in)
	case in.Run != nil:
		t.run(in)
	case in.Decision != nil:
		t.decision(in)
	case in.Reply != nil:
		t.reply(in)
	case in.Beside != nil:
		t.Beside = append(t.Beside, in.Beside.Key)
	case in.Escalated != nil:
		t.escalated(in.Escalated)
	case in.Spent != nil:
		t.spent(in)
	case in.Resumed != nil:
		t.resumed(in)
	case in.Noted != nil:
		t.noted(in.At, in.Noted)
	case in.Rejected != nil:
		t.rejected(in.At, in.Rejected)
	case in.Expired != nil && t.Status == PendingUser && t.DraftSHA256 == in.Expired.DraftSHA256 &&
		t.UserApprovedAt == nil:
		t.close(in.At, decision.ExpiredNote)
	}
	return t, Due(t)
}

// clone copies what Apply may change in place.
func clone(t Thread) Thread {
	t.Applied = slices.Clone(t.Applied)
	t.StatusHistory = slices.Clone(t.StatusHistory)
	t.Messages = slices.Clone(t.Messages)
	t.Context = slices.Clone(t.Context)
	t.Pending = slices.Clone(t.Pending)
	t.PendingMessageIDs = slices.Clone(t.PendingMessageIDs)
	t.Notes = slices.Clone(t.Notes)
	t.PendingNotes = slices.Clone(t.PendingNotes)
	t.HumanReplies = slices.Clone(t.HumanReplies)
	t.Alerts = slices.Clone(t.Alerts)
	t.Beside = slices.Clone(t.Beside)
	return t
}

func (t *Thread) to(at, status, why string) {
	t.StatusHistory = append(t.StatusHistory, Change{At: at, From: t.Status, To: status, Why: why})
	t.Status = status
}

func (t *Thread) close(at, why string) {
	t.to(at, Closed, why)
	t.ClosedAt, t.CloseReason = &at, why
	if t.PostedMessageID == nil {
		t.DraftPending, t.DraftSHA256 = nil, ""
	}
}

// waits reports whether something was said that the cycle's result may not answer.
func (t *Thread) waits() bool { return len(t.Pending)+len(t.PendingNotes) > 0 }

// begin starts a cycle: the results of an earlier one are void. What waits becomes part of the new cycle.
func (t *Thread) begin(at, why string) {
	t.Messages = append(t.Messages, t.Pending...)
	t.Notes = append(t.Notes, t.PendingNotes...)
	ordered := len(t.PendingNotes) > 0
	t.Pending, t.PendingMessageIDs, t.PendingNotes = nil, []string{}, nil
	t.Cycle++
	t.InvestigatorRound = 1
	t.InvestigatorReturn, t.InvestigatorError, t.ValidatorReturn = nil, "", nil
	t.InvestigatorTaskID, t.ValidatorTaskID = nil, nil
	t.BounceFeedback, t.EarlierDraft, t.Badge, t.ReadyAt, t.Ordered, t.Ends = "", "", "", "", ordered, nil
	t.NotAnswered = nil
	if t.ClarifyMessageID == "" {
		t.ClarifyQuestion = nil // it was not posted
	}
	t.EscalationTmuxSession, t.EscalationTranscriptPath = nil, nil
	t.DraftPending, t.DraftSHA256, t.UserApprovedAt = nil, "", nil
	t.PostedMessageID, t.TriageFilePath, t.ClosedAt, t.CloseReason = nil, nil, nil, ""
	if t.Asked != "" {
		t.Badge = "asks you first"
		t.to(at, PendingUser, "a rule asks the operator first")
		return
	}
	t.investigate(at, why)
}

func (t *Thread) investigate(at, why string) {
	id := run.ID(run.Investigate, t.Key, t.Cycle, t.InvestigatorRound)
	t.InvestigatorTaskID, t.ValidatorTaskID = &id, nil
	switch {
	case t.InvestigatorRound > 1:
		t.to(at, BouncedRound1, why)
	case t.IsEscalated:
		t.to(at, Escalated, why)
	default:
		t.to(at, Investigating, why)
	}
}

// leastOfSweep is how many references must support what is said of the finding of a sweep. Nobody asked, so
// that with fewer nothing is said.
const leastOfSweep = 2

// failed is the badge of an item without a result, which people are notified of in any case.
const failed = "failed"

// rest hands the thread to the operator. If messages arrived meanwhile it starts the next cycle
// instead: a draft that ignores them is stale.
func (t *Thread) rest(at, badge, why string) {
	if t.waits() {
		t.begin(at, "messages came during the round")
		return
	}
	if t.Platform == config.PlatformSweep && !t.Ordered && badge != failed {
		if n := t.ValidatorReturn.Supporting(t.InvestigatorReturn); n < leastOfSweep {
			t.close(at, fmt.Sprintf("%s; %d references support it, and a sweep needs %d", why, n,
				leastOfSweep))
			return
		}
	}
	badge = strings.Join(append([]string{badge}, t.Ends...), ", ")
	t.Badge = badge
	if n := len(t.NotAnswered); n > 0 {
		t.Badge = fmt.Sprintf("%d of %d questions not answered; %s", n, len(t.Questions()), badge)
	}
	t.ready(at, why)
}

// ready has what was found, if anything, wait for the operator.
func (t *Thread) ready(at, why string) {
	t.to(at, PendingUser, why)
	if t.InvestigatorReturn != nil && t.InvestigatorReturn.DraftReply != "" {
		text := t.InvestigatorReturn.DraftReply
		t.DraftPending, t.DraftSHA256, t.ReadyAt = &text, decision.Sum(text), at
	}
}

func (t *Thread) run(in Input) {
	switch r := in.Run; {
	case t.InvestigatorTaskID != nil && r.RunID == *t.InvestigatorTaskID && t.inRound():
		t.investigated(in)
	case t.ValidatorTaskID != nil && r.RunID == *t.ValidatorTaskID && t.Status == AwaitingValidation:
		t.NotAnswered = in.NotAnswered
		t.validated(in.At, r, in.LastRound)
	}
}

// inRound reports whether an investigation is in progress or due.
func (t *Thread) inRound() bool {
	return t.Status == Investigating || t.Status == BouncedRound1 || t.Status == Escalated
}

func (t *Thread) investigated(in Input) {
	at, r, first := in.At, in.Run, t.InvestigatorReturn
	t.InvestigatorReturn, t.InvestigatorError, t.ValidatorReturn, t.Ends = nil, "", nil, in.Ends
	ret := new(draft.Return)
	if err := ndjson.Unmarshal(r.Value, ret); err != nil && r.Status == run.Done {
		t.InvestigatorError = fmt.Sprintf("unreadable return: %v", err)
	} else if r.Status == run.Done {
		t.InvestigatorReturn = ret
		if in.Resumes {
			t.Resume = &Resume{r.RunID, r.SessionID, t.Cycle}
		}
	} else {
		t.InvestigatorError = r.Error
	}
	if r.Status != run.Failed {
		t.heard(r)
	}
	switch {
	case in.Escalate && !t.IsEscalated && t.Intent != CodeChange:
		t.escalate(at)
	case t.InvestigatorReturn != nil && in.Stale && t.waits():
		t.begin(at, "messages came during the round: its draft is stale, and was not validated")
	case t.InvestigatorReturn != nil && t.Intent == CodeChange:
		t.rest(at, patchReady, "a run of tri-box made a patch") // of which a person decides
	case t.InvestigatorReturn != nil:
		t.validate(at, "the investigator returned a draft")
	case t.Status == Escalated && first != nil:
		// The longer investigation gave nothing; the shorter one's result remains valid.
		t.InvestigatorReturn, t.InvestigatorError = first, "the longer look: "+t.InvestigatorError
		t.validate(at, "the longer look gave nothing, the shorter one a draft")
	case r.Status == run.Nothing:
		t.rest(at, "nothing found", "the investigator found nothing to say")
	default:
		t.rest(at, failed, "the investigation failed")
	}
}

// escalate starts a longer investigation of the same round, at most once in a cycle. The draft of
// the shorter one, if any, is kept.
func (t *Thread) escalate(at string) {
	if t.waits() {
		t.begin(at, "messages came during the round")
		return
	}
	why := "the time was up: a longer look"
	if t.InvestigatorReturn != nil {
		why = "the investigator asked for a longer look"
	}
	id := run.ID(run.Escalate, t.Key, t.Cycle, t.InvestigatorRound)
	t.IsEscalated, t.InvestigatorTaskID, t.ValidatorTaskID = true, &id, nil
	t.to(at, Escalated, why)
}

// escalated records where a long run can be watched.
func (t *Thread) escalated(e *Escalation) {
	if t.InvestigatorTaskID != nil && *t.InvestigatorTaskID == e.RunID {
		t.EscalationTmuxSession, t.EscalationTranscriptPath = e.TmuxSession, &e.TranscriptPath
	}
}

func (t *Thread) validate(at, why string) {
	id := run.ID(run.Validate, t.Key, t.Cycle, t.InvestigatorRound)
	t.ValidatorTaskID = &id
	t.to(at, AwaitingValidation, why)
}

func (t *Thread) validated(at string, r *run.Result, last bool) {
	v := new(verdict.Verdict)
	if err := ndjson.Unmarshal(r.Value, v); r.Status != run.Done || err != nil {
		// Fail closed: a draft that could not be validated is not validated.
		t.rest(at, "not validated", "the validation failed: "+r.Error)
		return
	}
	t.ValidatorReturn = v
	switch {
	case v.Verdict == verdict.Pass:
		badge := v.Badge()
		if t.InvestigatorReturn.EscalationRequested {
			badge += ", asks for a longer look"
		}
		if b := t.InvestigatorReturn.Before; b != nil {
			badge = "answered before on " + b.At[:min(len(b.At), len("2006-01-02"))] +
				", evidence still stands"
		}
		t.rest(at, badge, "the draft passed")
	case v.Verdict == verdict.Bounce && t.InvestigatorRound == 1 && !last:
		if v.BounceFeedback != nil {
			t.BounceFeedback = *v.BounceFeedback
		}
		t.InvestigatorRound, t.EarlierDraft = 2, t.InvestigatorReturn.DraftReply
		t.investigate(at, "the draft was bounced")
	case v.Verdict == verdict.Bounce && t.InvestigatorRound == 1:
		t.rest(at, "disagreement", "bounced, and there is one round")
	case v.Verdict == verdict.Bounce:
		t.rest(at, "disagreement", "bounced a second time")
	case v.Proved == verdict.Undecided:
		t.rest(at, v.Badge(), "code could not decide the draft")
	default:
		t.rest(at, "disagreement", "the validator escalated")
	}
}
