package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tri/lib/base/text"
)

// Scales, each from best to worst.
var (
	verdicts = []string{Pass, Bounce, Escalate}
	results  = []string{Supports, Uncheckable, Contradicts, Fabricated}
	schemas  = []string{OK, Fail}
	matching = []string{Match, Mismatch}
	drifts   = []string{None, Minor, Major}
	gates    = []string{Passes, NeedsHigh, Fails}
	tones    = []string{Matches, Off, AISmell}
)

// worse returns the worse of two values of a scale. A value that is not on the scale counts as the
// worst, so that an unknown value never helps.
func worse(scale []string, a, b string) string {
	i, j := slices.Index(scale, a), slices.Index(scale, b)
	switch {
	case i < 0:
		return scale[len(scale)-1]
	case j < 0:
		return scale[len(scale)-1]
	}
	return scale[max(i, j)]
}

// Bounds on an agent's verdict.
const (
	maxReasons = 20
	maxSaid    = 2000 // characters of one text
)

// Check reports all faults of an agent's verdict in one error.
func (v *Verdict) Check() error {
	var faults []string
	for _, f := range []struct {
		name, value string
		scale       []string
	}{
		{"verdict", v.Verdict, verdicts}, {"spot_check_result", v.SpotCheckResult, results},
		{"schema_check", v.SchemaCheck, schemas},
		{"confidence_language_match", v.ConfidenceLanguageMatch, matching},
		{"scope_drift", v.ScopeDrift, drifts},
		{"risk_gate_check", v.RiskGateCheck, gates}, {"tone_assessment", v.ToneAssessment, tones},
	} {
		if !slices.Contains(f.scale, f.value) {
			faults = append(faults, fmt.Sprintf("%s: is %q, want one of %s", f.name, text.Cut(f.value, 40),
				strings.Join(f.scale, " ")))
		}
	}
	if c := v.CrossInvestigationConsistency; c != Consistent && c != NoOverlap &&
		(!strings.HasPrefix(c, contradicts) || len(c) == len(contradicts)) {
		faults = append(faults,
			fmt.Sprintf("cross_investigation_consistency: is %q, want consistent, no_overlap or contradicts_KEY", text.Cut(c, 40)))
	}
	if len(v.Reasons) > maxReasons {
		faults = append(faults, fmt.Sprintf("reasons: has %d, at most %d", len(v.Reasons), maxReasons))
	}
	if v.Verdict != Pass && len(v.Reasons) == 0 {
		faults = append(faults, "reasons: is empty, though the verdict is not pass")
	}
	texts := append(slices.Clone(v.Reasons), v.SpotCheckRef, v.SpotCheckNote, v.CrossInvestigationConsistency)
	if v.BounceFeedback != nil {
		texts = append(texts, *v.BounceFeedback)
	}
	for _, t := range texts {
		if utf8.RuneCountInString(t) > maxSaid {
			faults = append(faults, fmt.Sprintf("a text has more than %d characters", maxSaid))
			break
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New("verdict: " + strings.Join(faults, "; "))
}

// implied returns the least severe verdict that v's own fields allow: a pass beside a fabricated
// reference is not a pass.
func (v *Verdict) implied() string {
	switch {
	case strings.HasPrefix(v.CrossInvestigationConsistency, contradicts):
		return Escalate
	case v.SchemaCheck != OK, worse(results, v.SpotCheckResult, Uncheckable) != Uncheckable,
		v.ConfidenceLanguageMatch != Match,
		v.ScopeDrift == Major, v.RiskGateCheck != Passes, v.ToneAssessment == AISmell:
		return Bounce
	}
	return Pass
}

// Worse merges the verdict of code and that of an agent. Every field is the worse of the two, and
// so is the verdict, which can therefore only get worse. Reasons are those of both; the time and
// the drill mark are code's, the model is the agent's.
func Worse(code, agent Verdict) Verdict {
	v := code
	said := worse(verdicts, agent.Verdict, agent.implied())
	v.Verdict = worse(verdicts, code.Verdict, said)
	if code.Proved == Undecided && said != Pass {
		v.Verdict, v.Proved = said, Nothing // a fault that was found is worse than none that was proved
	}
	v.SchemaCheck = worse(schemas, code.SchemaCheck, agent.SchemaCheck)
	v.ConfidenceLanguageMatch = worse(matching, code.ConfidenceLanguageMatch, agent.ConfidenceLanguageMatch)
	v.ScopeDrift = worse(drifts, code.ScopeDrift, agent.ScopeDrift)
	v.RiskGateCheck = worse(gates, code.RiskGateCheck, agent.RiskGateCheck)
	v.ToneAssessment = worse(tones, code.ToneAssessment, agent.ToneAssessment)
	if !strings.HasPrefix(code.CrossInvestigationConsistency, contradicts) {
		v.CrossInvestigationConsistency = agent.CrossInvestigationConsistency
	}
	if worse(results, code.SpotCheckResult, agent.SpotCheckResult) != code.SpotCheckResult {
		v.SpotCheckRef, v.SpotCheckResult, v.SpotCheckNote = agent.SpotCheckRef, agent.SpotCheckResult,
			agent.SpotCheckNote
	}
	v.ValidatorModel, v.Usage = agent.ValidatorModel, agent.Usage
	v.Checks = append(slices.Clone(code.Checks), agentChecks(agent)...)
	v.Reasons = slices.Clone(code.Reasons)
	if v.Verdict != Pass && code.Verdict == Pass {
		v.Reasons = []string{} // code's reasons in favour no longer count
	}
	for _, reason := range agent.Reasons {
		if !slices.Contains(v.Reasons, reason) {
			v.Reasons = append(v.Reasons, reason)
		}
	}
	if len(v.Reasons) == 0 {
		v.Reasons = append(v.Reasons, "the reviewing agent objects")
	}
	v.BounceFeedback = joined(v.Verdict, code, agent, v.Reasons)
	v.prove(code.Proved == Places)
	return v
}

// Alone returns an agent's verdict that was not merged with one of code. Nothing is proved by it.
func Alone(agent Verdict) Verdict {
	agent.Verdict = worse(verdicts, agent.Verdict, agent.implied())
	agent.Checks, agent.Proved = agentChecks(agent), Nothing
	return agent
}

// joined returns the feedback for round 2.
func joined(verdict string, code, agent Verdict, reasons []string) *string {
	if verdict != Bounce {
		return nil
	}
	var parts []string
	for _, f := range []*string{code.BounceFeedback, agent.BounceFeedback} {
		if f != nil && strings.TrimSpace(*f) != "" {
			parts = append(parts, *f)
		}
	}
	text := strings.Join(parts, "\n")
	if text == "" {
		text = feedback(reasons)
	}
	return &text
}

// spotCheck is the name of the check of the reference that a second agent inspected.
const spotCheck = "spot check"

// agentChecks returns an agent's verdict as checks, field by field.
func agentChecks(a Verdict) []Check {
	by := func(name string, scale []string, value, note string) Check {
		result := OK
		switch slices.Index(scale, value) {
		case 0:
		case len(scale) - 1:
			result = Fail
		default:
			result = "note"
		}
		if note == "" {
			note = value
		}
		return Check{Name: name, Result: result, By: "agent", Note: note}
	}
	out := []Check{
		by("schema", schemas, a.SchemaCheck, ""), by("confidence", matching, a.ConfidenceLanguageMatch, ""),
		by("scope", drifts, a.ScopeDrift, ""),
		by("risk", gates, a.RiskGateCheck, ""), by("tone", tones, a.ToneAssessment, ""),
		{Name: "consistency", Result: OK, By: "agent", Note: a.CrossInvestigationConsistency},
		{Name: spotCheck, Result: a.SpotCheckResult, By: "agent",
			Note: strings.TrimSpace(a.SpotCheckRef + " " + a.SpotCheckNote)},
	}
	if strings.HasPrefix(a.CrossInvestigationConsistency, contradicts) {
		out[5].Result = Fail
	}
	return out
}
