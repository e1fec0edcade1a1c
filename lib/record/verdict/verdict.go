// Package verdict is the outcome of a validation, and the rules that compute it. An
// agent's word can only make it worse.
package verdict

import "tri/lib/record/draft"

// Verdicts, from best to worst.
const (
	Pass     = "pass"
	Bounce   = "bounce"
	Escalate = "escalate"
)

// What a reference was found to be, from best to worst.
const (
	Supports    = "supports"
	Uncheckable = "uncheckable"
	Contradicts = "contradicts"
	Fabricated  = "fabricated"
)

// Verdict is ValidatorReturn of triage §4.4. SpotCheck* name the worst of all
// references, since all are checked.
type Verdict struct {
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons"`

	SpotCheckRef    string `json:"spot_check_ref"`
	SpotCheckResult string `json:"spot_check_result"`
	SpotCheckNote   string `json:"spot_check_note"`

	SchemaCheck                   string `json:"schema_check"`                    // ok, fail
	ConfidenceLanguageMatch       string `json:"confidence_language_match"`       // match, mismatch
	ScopeDrift                    string `json:"scope_drift"`                     // none, minor, major
	CrossInvestigationConsistency string `json:"cross_investigation_consistency"` // consistent, contradicts_<thread key>, no_overlap
	RiskGateCheck                 string `json:"risk_gate_check"`                 // passes, needs_high_confidence, fails
	ToneAssessment                string `json:"tone_assessment"`                 // matches, off, ai_smell

	BounceFeedback *string `json:"bounce_feedback"`

	ValidatorModel string `json:"validator_model"` // "code" where no agent was asked
	ValidatedAt    string `json:"validated_at"`    // RFC 3339

	// Usage is what the agent's attack took; nil where none was asked. Written by
	// code. Ours.
	Usage *draft.Usage `json:"usage,omitempty"`
	// Proved is the most that the checks showed of the whole draft: Nothing to
	// Validated. Written by code. Ours.
	Proved string `json:"proved,omitempty"`
	// Sentences account for each sentence of the draft. Written by code. Ours.
	Sentences []Sentence `json:"sentences,omitempty"`
	// Checks are all that was looked at. Ours.
	Checks []Check `json:"checks"`
	// Drill is that of the return, for tri-drill --score. Ours.
	Drill *draft.Drill `json:"drill,omitempty"`
}

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`   // "ref 1", "secrets", "scope", …
	Result string `json:"result"` // ok, note, fail; for a reference, one of the results above
	By     string `json:"by"`     // code, agent
	Note   string `json:"note,omitempty"`
	// Of a reference: whether its path, lines and quote are there, the share of its
	// claim's words that these cover, and the numbers, units and names of the claim
	// that code found there.
	Stands  bool     `json:"stands,omitempty"`
	Share   float64  `json:"share,omitempty"`
	Decided []string `json:"decided,omitempty"`
}

// States of a sentence of a draft.
const (
	About        = "about"        // its words and names are covered by what a reference cites
	Unbacked     = "none"         // by nothing that is cited
	Unstated     = "nothing"      // it says nothing that could be covered
	Contradicted = "contradicted" // cited lines say otherwise
)

// Sentence is what was found of one sentence of the draft.
type Sentence struct {
	Text  string  `json:"text"`
	State string  `json:"state"`
	Ref   int     `json:"ref,omitempty"`   // the reference that covers it, from 1; 0 several or none
	Share float64 `json:"share,omitempty"` // of its words that are covered
	// Undecided are the parts of its meaning that code does not decide: a negation, a
	// condition.
	Undecided []string `json:"undecided,omitempty"`
	Note      string   `json:"note,omitempty"`
}
