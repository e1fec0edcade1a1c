package verdict

import "fmt"

// What the checks proved of the whole draft, from least to most.
const (
	Nothing   = "nothing"   // the draft did not pass
	Quotes    = "quotes"    // path, lines and quotes are correct; some sentence is not covered by them
	Places    = "places"    // the same for a search, which claims only that names occur
	Covered   = "covered"   // the cited lines cover every sentence; no second agent attacked it
	Attacked  = "attacked"  // a second agent could not refute it; some sentence is not covered
	Validated = "validated" // every sentence is covered, and a second agent could not refute the draft
)

// ByCode is ValidatorModel if no second agent was asked.
const ByCode = "code"

// attacker returns the second agent that failed to refute the draft, "" if none.
func (v *Verdict) attacker() string {
	if v.Verdict != Pass || v.ValidatorModel == ByCode {
		return ""
	}
	for _, c := range v.Checks {
		if c.By == "agent" && c.Name == spotCheck && c.Result == Supports {
			return v.ValidatorModel
		}
	}
	return ""
}

// sentences counts the sentences that make a statement, those of them that are covered, and those that
// could not be compared.
func (v *Verdict) sentences() (covered, uncompared, all int) {
	for _, s := range v.Sentences {
		switch s.State {
		case About:
			covered, all = covered+1, all+1
		case Uncompared:
			uncompared, all = uncompared+1, all+1
		case Unbacked, Contradicted:
			all++
		}
	}
	return covered, uncompared, all
}

// prove sets Proved from the rest of the verdict. places marks a draft that claims only that names
// occur.
func (v *Verdict) prove(places bool) {
	covered, _, all := v.sentences()
	whole := covered == all && all > 0
	switch attacked := v.attacker() != ""; {
	case v.Verdict != Pass:
		v.Proved = Nothing
	case attacked && whole:
		v.Proved = Validated
	case places && covered == all:
		v.Proved = Places
	case attacked:
		v.Proved = Attacked
	case whole:
		v.Proved = Covered
	default:
		v.Proved = Quotes
	}
}

// undecided counts the covered sentences whose negation or condition the checks could not decide.
func (v *Verdict) undecided() (n int) {
	for _, s := range v.Sentences {
		if s.State == About && len(s.Undecided) > 0 {
			n++
		}
	}
	return n
}

// Badge returns the one-line summary of a verdict that is shown first. A draft that did not pass
// is a disagreement.
func (v *Verdict) Badge() string {
	badge := ""
	switch v.Proved {
	case Validated:
		return "✓ validated, attacked by " + v.ValidatorModel
	case Places:
		return "places found, quotes checked"
	case Covered:
		badge = "quotes checked, covers every sentence"
		if n := v.undecided(); n > 0 {
			badge += fmt.Sprintf(", %d not decided", n)
		}
		return badge
	case Attacked:
		badge = "attacked by " + v.ValidatorModel
	case Nothing:
		return "disagreement"
	default: // also for verdicts from versions that did not check sentences
		badge = "quotes checked"
	}
	if covered, _, all := v.sentences(); all > covered {
		badge += fmt.Sprintf(", %d of %d sentences not covered", all-covered, all)
	}
	return badge
}

// Label names a state of a sentence for a person.
func (s Sentence) Label() string {
	label := map[string]string{
		About: "about", Unbacked: "backed by nothing cited", Unstated: "nothing to check", Contradicted: "contradicted",
		Uncompared: "not compared",
	}[s.State]
	switch {
	case s.State == About && s.Ref > 0:
		label += fmt.Sprintf(" reference %d, %.0f%% covered", s.Ref, 100*s.Share)
	case s.State == About:
		label += fmt.Sprintf(" several references, %.0f%% covered", 100*s.Share)
	}
	for _, u := range s.Undecided {
		label += ", " + u + " not decided"
	}
	return label
}
