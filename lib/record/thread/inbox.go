package thread

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tri/lib/record/draft"
)

// CodeChange is the intent whose run makes a patch; lib/judge/intent has all intents.
const CodeChange = "code_change"

// Want is what the rules of an inbox found in a message. Intent is "" in other chats, and of what is no
// request.
type Want struct {
	Intent        string   `json:"intent,omitempty"`
	IntentScore   int      `json:"intent_score,omitempty"`
	IntentNext    string   `json:"intent_next,omitempty"`   // the runner-up
	IntentMargin  int      `json:"intent_margin,omitempty"` // score less that of IntentNext
	IntentReasons []string `json:"intent_reasons,omitempty"`
	AutonomyLevel int      `json:"autonomy_level,omitempty"` // always 2
	Large         bool     `json:"large,omitempty"`          // a change of code that is large
	Minutes       float64  `json:"minutes,omitempty"`        // that a run may take
	Due           string   `json:"due,omitempty"`            // of a reminder: RFC 3339
}

// TakenFor says for a person what the rules took a message of an inbox for, "" in other chats.
func (w *Want) TakenFor() string {
	if w.Intent == "" {
		return ""
	}
	said := fmt.Sprintf("taken for %s, score %d", w.Intent, w.IntentScore)
	if w.IntentNext != "" {
		said += fmt.Sprintf(", %d before %s", w.IntentMargin, w.IntentNext)
	}
	if len(w.IntentReasons) == 0 {
		return said
	}
	return said + ": " + strings.Join(w.IntentReasons, ", ")
}

// Noted is what code did for an item of an inbox in place of its run.
type Noted struct {
	RunID string `json:"run_id"`
	// Draft is offered, if there is one. Clarify says that it is a question to the asker.
	Draft   string `json:"draft,omitempty"`
	Clarify bool   `json:"clarify,omitempty"`
	// Badge is that of an item that waits for a person. Without a badge the item is closed.
	Badge string `json:"badge,omitempty"`
	Why   string `json:"why"`
}

// Rejected says that the asker has declined to clarify, marked an answer as wrong, or withdrawn the
// question, by a reaction.
type Rejected struct {
	ID    string `json:"id"` // the platform's id of the reaction
	Emoji string `json:"emoji"`
	// Answer is the answer's message, Question the asker's own; neither is set for a clarifying question.
	Answer   string `json:"answer,omitempty"`
	Question string `json:"question,omitempty"`
}

// RejectedByAsker is the close reason of an item whose asker has declined to clarify.
const RejectedByAsker = "the asker rejected it"

const (
	noted        = "noted: "
	dismissed    = "dismissed"
	asksAsker    = "waits for the asker"
	patchReady   = "patch ready"
	maxSummary   = 80 // characters
	notedAnswers = "code answered it, no agent was run"
)

// IsNoted reports whether t was closed by code, without a run or a reply.
func (t *Thread) IsNoted() bool { return t.Status == Closed && strings.HasPrefix(t.CloseReason, noted) }

// AwaitsAsker reports whether the asker was asked to clarify and has not answered yet.
func (t *Thread) AwaitsAsker() bool {
	return t.Status == PendingUser && t.ClarifyMessageID != "" && t.Badge == asksAsker
}

// rejected applies a reaction of the asker. On an answer it begins nothing; the alert tells the operators.
func (t *Thread) rejected(at string, r *Rejected) {
	wrong := "the asker marked the answer " + r.Answer + " as wrong"
	switch {
	case r.Question != "":
		if r.Question == t.OriginalMessageID && t.Status != Closed {
			t.close(at, withdrew)
		}
	case r.Answer == "" && t.AwaitsAsker():
		t.close(at, RejectedByAsker)
	case r.Answer != "" && !slices.ContainsFunc(t.Alerts, func(n Note) bool { return n.Text == wrong }):
		t.alert(at, wrong)
	}
}

// noted applies what code did in place of a run.
func (t *Thread) noted(at string, n *Noted) {
	if !t.inRound() || *t.InvestigatorTaskID != n.RunID {
		return
	}
	if n.Draft == "" && n.Badge == "" {
		t.close(at, noted+n.Why)
		t.next(at)
		return
	}
	if n.Draft != "" {
		t.InvestigatorReturn = &draft.Return{
			Confidence: draft.Low, ConfidenceReason: notedAnswers, SummaryForOrchestrator: n.Why,
			DraftReply:    n.Draft,
			DraftLanguage: cmp.Or(t.Lang, "en"), EvidenceRefs: []draft.Ref{}, OpenQuestions: []string{},
			InvestigatorRound: 1,
		}
	}
	if n.Clarify {
		t.ClarifyQuestion = &n.Draft
	}
	t.rest(at, n.Badge, n.Why)
}

// askedAsker is called when a reply was posted. It reports whether that was a question to the
// asker, whose answer the item then waits for.
func (t *Thread) askedAsker(at, posted string) bool {
	if t.ClarifyQuestion == nil || t.ClarifyMessageID != "" {
		return false
	}
	t.ClarifyMessageID = posted
	t.DraftPending, t.DraftSHA256, t.UserApprovedAt, t.TriageFilePath = nil, "", nil, nil
	t.Badge = asksAsker
	t.to(at, PendingUser, "the asker was asked to clarify")
	if t.waits() {
		t.begin(at, "the asker has answered")
	}
	return true
}

// summary returns the first words of what an asker wrote.
func summary(said string) string {
	s := strings.Join(strings.Fields(said), " ")
	runes := []rune(s)
	if len(runes) <= maxSummary {
		return s
	}
	cut := string(runes[:maxSummary])
	if i := strings.LastIndexByte(cut, ' '); i > 0 && runes[maxSummary] != ' ' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ") + " …"
}
