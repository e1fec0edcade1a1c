// Package verdict is the outcome of a validation, and the rules that compute it. An agent's
// verdict can only make it worse.
package verdict

import (
	"strings"

	"tri/lib/record/draft"
)

// Verdicts, from best to worst.
const (
	Pass     = "pass"
	Bounce   = "bounce"
	Escalate = "escalate"
)

// Results of checking a reference, from best to worst.
const (
	Supports    = "supports"
	Uncheckable = "uncheckable"
	Contradicts = "contradicts"
	Fabricated  = "fabricated"
)

// NotJudged ends the note on a reference that claims only that names occur, as those of a search do.
const NotJudged = "relevance not judged"

// Label is the result of checking a reference as people read it: such a claim supports nothing.
func Label(result, note string) string {
	if result == Supports && strings.HasSuffix(note, NotJudged) {
		return "found"
	}
	return result
}

// Verdict is the result of a validation. All references are checked; SpotCheck* name the worst of
// them.
type Verdict struct {
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons"`

	SpotCheckRef    string `json:"spot_check_ref"`
	SpotCheckResult string `json:"spot_check_result"`
	SpotCheckNote   string `json:"spot_check_note"`

	SchemaCheck             string `json:"schema_check"`              // ok, fail
	ConfidenceLanguageMatch string `json:"confidence_language_match"` // match, mismatch
	ScopeDrift              string `json:"scope_drift"`               // none, minor, major
	// consistent, contradicts_<thread key>, no_overlap
	CrossInvestigationConsistency string `json:"cross_investigation_consistency"`
	// passes, needs_high_confidence, fails
	RiskGateCheck  string `json:"risk_gate_check"`
	ToneAssessment string `json:"tone_assessment"` // matches, off, ai_smell

	BounceFeedback *string `json:"bounce_feedback"`

	ValidatorModel string `json:"validator_model"` // "code" if no agent was asked
	ValidatedAt    string `json:"validated_at"`    // RFC 3339

	// Usage is the usage of the agent's attack, nil if no agent was asked. Written by code.
	Usage *draft.Usage `json:"usage,omitempty"`
	// Proved is the most that the checks proved of the whole draft: Nothing to Validated. Written
	// by code.
	Proved string `json:"proved,omitempty"`
	// Sentences account for each sentence of the draft. Written by code.
	Sentences []Sentence `json:"sentences,omitempty"`
	// Checks are all checks that were made.
	Checks []Check `json:"checks"`
	// Drill is that of the return, for tri-drill --score.
	Drill *draft.Drill `json:"drill,omitempty"`
}

// Check is one check of a return.
type Check struct {
	Name   string `json:"name"`   // "ref 1", "secrets", "scope", …
	Result string `json:"result"` // ok, note, fail; for a reference, one of the results above
	By     string `json:"by"`     // code, agent
	Note   string `json:"note,omitempty"`
	// Of a reference: whether its path, lines and quote are correct, the share of its claim's
	// words that these cover, and the numbers, units and names of the claim that code found there.
	Stands  bool     `json:"stands,omitempty"`
	Share   float64  `json:"share,omitempty"`
	Decided []string `json:"decided,omitempty"`
}

// States of a sentence of a draft.
const (
	About        = "about"        // its words and names are covered by what a reference cites
	Unbacked     = "none"         // nothing cited covers it
	Unstated     = "nothing"      // it makes no statement that could be covered
	Contradicted = "contradicted" // the cited lines say otherwise
	// in a language that the checks do not read: only its names and numbers are compared
	Uncompared = "uncompared"
)

// Values of Undecided: a covered sentence has words that the lines lack; a sentence has a name, a count in
// words or a unit that neither the lines nor the heads of their declarations have, so that no draft with it
// passes by itself.
const (
	Wording = "wording"
	Named   = "a name, count or unit"
)

// Sentence is the finding on one sentence of the draft.
type Sentence struct {
	Text  string  `json:"text"`
	State string  `json:"state"`
	Ref   int     `json:"ref,omitempty"`   // the reference that covers it, from 1; 0: several or none
	Share float64 `json:"share,omitempty"` // of its words that are covered
	// Undecided are the parts of its meaning that code cannot check: a negation of its own or of the
	// lines, a condition, and wording that the lines do not have.
	Undecided []string `json:"undecided,omitempty"`
	Note      string   `json:"note,omitempty"`
}
