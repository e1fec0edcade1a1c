// Package draft is the return of an investigation: its fields, limits and form.
package draft

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of a return.
const (
	MaxSummarySentences = 2
	MaxDraftWords       = 300
	MaxNotesWords       = 500
	MaxRefs             = 8
)

// Return is the result of an investigation.
type Return struct {
	Confidence             string      `json:"confidence"` // high, medium, low
	ConfidenceReason       string      `json:"confidence_reason"`
	SummaryForOrchestrator string      `json:"summary_for_orchestrator"`
	DraftReply             string      `json:"draft_reply"`
	DraftLanguage          string      `json:"draft_language"`
	EvidenceRefs           []Ref       `json:"evidence_refs"`
	ProposedTriageFile     *TriageFile `json:"proposed_triage_file"`
	OpenQuestions          []string    `json:"open_questions"`
	EscalationRequested    bool        `json:"escalation_requested"`
	EscalationReason       *string     `json:"escalation_reason"`
	InvestigatorRound      int         `json:"investigator_round"`
	ResearchNotes          string      `json:"research_notes"`

	// QuestionGloss is the question in the operator's language.
	QuestionGloss string `json:"question_gloss,omitempty"`
	// Question and Rubric are the investigator's input, so that a return can be validated by
	// itself. Written by code.
	Question string `json:"question,omitempty"`
	Rubric   string `json:"rubric,omitempty"`
	// Drill marks a return that tri-drill wrote. It is copied into the verdict and does not affect
	// it.
	Drill *Drill `json:"drill,omitempty"`
	// Before says that this is the approved answer to the same question, asked earlier, and that
	// no agent was run. Written by code.
	Before *Before `json:"before,omitempty"`
	// AskedAt is when the last message of Question was written, RFC 3339. Written by code.
	AskedAt string `json:"asked_at,omitempty"`
	// Cuts are the byte offsets in DraftReply at which it is cut into messages. Voice says what
	// tri-voice did to the draft. Both are written by code.
	Cuts  []int  `json:"cuts,omitempty"`
	Voice *Voice `json:"voice,omitempty"`
	// Usage is written by code.
	Usage *Usage `json:"usage,omitempty"`
}

// Voice is what tri-voice did to a draft.
type Voice struct {
	Original string `json:"original,omitempty"` // the draft before, if its bytes were changed
	Named    bool   `json:"named,omitempty"`    // the question is named first
	Moved    bool   `json:"moved,omitempty"`    // the paragraph that the summary repeats is last
	Plain    bool   `json:"plain,omitempty"`    // marks, courtesies or repeated sentences were removed
	// Rephrased says that the words are those of the model By. If it was asked and they are not, Why
	// says why.
	Rephrased bool   `json:"rephrased,omitempty"`
	By        string `json:"by,omitempty"`
	Why       string `json:"why,omitempty"`
}

// Cut returns the parts of a text that is cut at the byte offsets cuts. It is an error if a part would be
// blank, or a character cut.
func Cut(text string, cuts []int) ([]string, error) {
	var parts []string
	last := 0
	for _, at := range append(slices.Clone(cuts), len(text)) {
		if at < last || at > len(text) || at < len(text) && !utf8.RuneStart(text[at]) ||
			len(cuts) > 0 && strings.TrimSpace(text[last:at]) == "" {
			return nil, fmt.Errorf("cuts: %d is not a place to cut a text of %d bytes", at, len(text))
		}
		parts = append(parts, text[last:at])
		last = at
	}
	return parts, nil
}

// Before is an earlier answer that a person approved and that was posted.
type Before struct {
	At    string `json:"at"`  // time of posting, RFC 3339
	By    string `json:"by"`  // who approved it
	Key   string `json:"key"` // thread
	Cycle int    `json:"cycle"`
}

// TriageFile is a note worth keeping, saved under triage/ once approved.
type TriageFile struct {
	Filename string `json:"filename"`
	Content  string `json:"content"`
}

// Drill says which fault was planted into the good return Of, and where. Only the score reads it,
// never a validator.
type Drill struct {
	Fault string `json:"fault"` // one of drill.Faults; "none" for the good return itself
	Of    string `json:"of"`
	Where string `json:"where,omitempty"` // the fields that were changed
	What  string `json:"what,omitempty"`  // the text before and after; a secret is named by its kind
	// Decidable says that the return and the lines it cites are enough to show the fault: a
	// changed claim may be one on which its lines are silent.
	Decidable bool  `json:"decidable,omitempty"`
	Seed      int64 `json:"seed,omitempty"`
	Planted   int   `json:"planted,omitempty"` // of a good return: how many copies with faults follow it
	Alone     bool  `json:"alone,omitempty"`   // of a verdict: code did not check the return
}

// Usage is the usage of a run. CostUSD is nil if the agent does not report it.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// TokensUnknown says that the program does not report its tokens: they are not 0.
	TokensUnknown bool     `json:"tokens_unknown,omitempty"`
	CostUSD       *float64 `json:"cost_usd"`
	// CostAtLeast says that part of the run did not report its cost.
	CostAtLeast bool  `json:"cost_at_least,omitempty"`
	DurationMS  int64 `json:"duration_ms"`
	Turns       int   `json:"turns"`
}

// Plus returns the usage of two runs. A figure that one of them did not report, or reported as negative, is
// unknown in the sum, except the cost, which is then a lower bound.
func (u Usage) Plus(b Usage) Usage {
	u, b = u.Known(), b.Known()
	sum := Usage{
		InputTokens: u.InputTokens + b.InputTokens, OutputTokens: u.OutputTokens + b.OutputTokens,
		TokensUnknown: u.TokensUnknown || b.TokensUnknown, DurationMS: u.DurationMS + b.DurationMS,
		Turns:       u.Turns + b.Turns,
		CostAtLeast: u.CostAtLeast || b.CostAtLeast || (u.CostUSD == nil) != (b.CostUSD == nil),
	}
	for _, cost := range []*float64{u.CostUSD, b.CostUSD} {
		if cost == nil {
			continue
		}
		if sum.CostUSD == nil {
			sum.CostUSD = new(float64)
		}
		*sum.CostUSD += *cost
	}
	return sum
}

// Known returns u without what cannot be: programs and workers report what they like.
func (u Usage) Known() Usage {
	const most = 1 << 50
	if !(0 <= u.InputTokens && u.InputTokens < most && 0 <= u.OutputTokens && u.OutputTokens < most) {
		u.InputTokens, u.OutputTokens, u.TokensUnknown = 0, 0, true
	}
	if u.CostUSD != nil && !(0 <= *u.CostUSD && *u.CostUSD < most) {
		u.CostUSD = nil
	}
	u.DurationMS, u.Turns = max(u.DurationMS, 0), max(u.Turns, 0)
	return u
}
