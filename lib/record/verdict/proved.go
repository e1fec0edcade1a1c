package verdict

import "fmt"

// What the checks of a whole draft proved, from least to most.
const (
	Nothing   = "nothing"   // the draft did not pass
	Quotes    = "quotes"    // path, lines and quotes are there; some sentence is not covered by them
	Places    = "places"    // the same of a search, which claims no more than that names are there
	Covered   = "covered"   // every sentence is about what is cited; no second agent looked
	Attacked  = "attacked"  // a second agent could not break it; some sentence is not covered
	Validated = "validated" // every sentence is covered, and a second agent could not break the draft
)

// ByCode is ValidatorModel where no second agent was asked.
const ByCode = "code"

// attacker is the second agent that tried to break the draft and could not; "" none.
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

// sentences counts the sentences that say something, and those of them that are
// covered.
func (v *Verdict) sentences() (covered, all int) {
	for _, s := range v.Sentences {
		switch s.State {
		case About:
			covered, all = covered+1, all+1
		case Unbacked, Contradicted:
			all++
		}
	}
	return covered, all
}

// prove sets Proved from the rest of the verdict. places tells a draft that claims
// no more than that names are there.
func (v *Verdict) prove(places bool) {
	covered, all := v.sentences()
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

// Badge is what a person sees first of a verdict, wherever it is shown. A draft that
// did not pass is a disagreement.
func (v *Verdict) Badge() string {
	badge := ""
	switch v.Proved {
	case Validated:
		return "✓ validated, attacked by " + v.ValidatorModel
	case Places:
		return "places found, quotes checked"
	case Covered:
		return "quotes checked, covers every sentence"
	case Attacked:
		badge = "attacked by " + v.ValidatorModel
	case Nothing:
		return "disagreement"
	default: // also of a verdict from before drafts were accounted for
		badge = "quotes checked"
	}
	if covered, all := v.sentences(); all > covered {
		badge += fmt.Sprintf(", %d of %d sentences not covered", all-covered, all)
	}
	return badge
}

// Label names a state of a sentence for a person.
func (s Sentence) Label() string {
	label := map[string]string{
		About: "about", Unbacked: "backed by nothing cited", Unstated: "nothing to check", Contradicted: "contradicted",
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
