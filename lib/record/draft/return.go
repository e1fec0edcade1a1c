// Package draft is the return of an investigation: its fields, limits and form.
package draft

// The caps of a return (triage §4.3 as design §3 settles it).
const (
	MaxSummarySentences = 2
	MaxDraftWords       = 300
	MaxNotesWords       = 500
	MaxRefs             = 8
)

// Return is InvestigatorReturn of triage §4.3.
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

	// QuestionGloss is the question in the operator's language. Ours.
	QuestionGloss string `json:"question_gloss,omitempty"`
	// Question and Rubric are what the investigator was asked, so that a return is
	// enough to validate it. Written by code. Ours.
	Question string `json:"question,omitempty"`
	Rubric   string `json:"rubric,omitempty"`
	// Drill marks a return that tri-drill wrote; it is carried into the verdict
	// and changes nothing of it. Ours.
	Drill *Drill `json:"drill,omitempty"`
	// Before says that this is the approved answer to the same question, asked
	// earlier, and that no agent was run. Written by code. Ours.
	Before *Before `json:"before,omitempty"`
	// Usage is written by code. Ours.
	Usage *Usage `json:"usage,omitempty"`
}

// Before is an answer that a person approved and that was posted.
type Before struct {
	At    string `json:"at"`  // posted, RFC 3339
	By    string `json:"by"`  // who approved it
	Key   string `json:"key"` // thread
	Cycle int    `json:"cycle"`
}

// TriageFile is a note worth keeping, saved under triage/ once approved.
type TriageFile struct {
	Filename string `json:"filename"`
	Content  string `json:"content"`
}

// Drill says which fault was planted into the good return of the same Of, and
// where. Nobody who judges reads it: it is for the score alone.
type Drill struct {
	Fault string `json:"fault"` // one of drill.Faults; none for the good return itself
	Of    string `json:"of"`
	Where string `json:"where,omitempty"` // the fields that were changed
	What  string `json:"what,omitempty"`  // from what to what; a secret is named by its kind
	// Decidable says that the return with the lines that it cites shows the fault:
	// a claim may be turned into one that its lines say nothing of.
	Decidable bool  `json:"decidable,omitempty"`
	Seed      int64 `json:"seed,omitempty"`
	Planted   int   `json:"planted,omitempty"` // of a good return: how many copies with faults follow it
}

// Usage is what a run took. CostUSD is nil when the agent does not tell.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// TokensUnknown says that the program does not tell its tokens: they are not 0.
	TokensUnknown bool     `json:"tokens_unknown,omitempty"`
	CostUSD       *float64 `json:"cost_usd"`
	// CostAtLeast says that some of the run did not tell what it cost.
	CostAtLeast bool  `json:"cost_at_least,omitempty"`
	DurationMS  int64 `json:"duration_ms"`
	Turns       int   `json:"turns"`
}
