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
}
