package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// What the checks proved of the whole draft, from least to most.
const (
	Nothing   = "nothing"   // the draft did not pass
	Undecided = "undecided" // code can show neither a fault nor a cover: a person must read the draft
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
	if v.Verdict != Pass && v.Proved != Undecided || v.ValidatorModel == ByCode {
		return ""
	}
	for _, c := range v.Checks {
		if c.By == "agent" && c.Name == spotCheck && c.Result == Supports {
			return v.ValidatorModel
		}
	}
	return ""
}

// count counts the sentences that make a statement, and those of them that are covered.
func count(sentences []Sentence) (covered, all int) {
	for _, s := range sentences {
		if s.State == About {
			covered++
		}
		if s.State != Unstated {
			all++
		}
	}
	return covered, all
}

// Coverage says in all places where a check is shown what it proved of some sentences: how many are
// contradicted, covered, not compared, and of how many covered ones code could not decide a part, such as a
// negation. "" if no sentence makes a statement.
func Coverage(sentences []Sentence) string {
	covered, all := count(sentences)
	if all == 0 {
		return ""
	}
	contradicted, uncompared, open := 0, 0, 0
	var parts []string // that are not decided
	for _, s := range sentences {
		switch {
		case s.State == Contradicted:
			contradicted++
		case s.State == Uncompared:
			uncompared++
		case s.State == About && len(s.Undecided) > 0:
			open++
			parts = append(parts, s.Undecided...)
		}
	}
	said := fmt.Sprintf("%d of %s covered", covered, text.Count(all, "sentence"))
	if contradicted > 0 {
		said = fmt.Sprintf("%d contradicted, %s", contradicted, said)
	}
	if uncompared > 0 {
		said += fmt.Sprintf(", %d not compared", uncompared)
	}
	if open > 0 {
		slices.Sort(parts)
		said += fmt.Sprintf(", %s not decided in %d", strings.Join(slices.Compact(parts), " and "), open)
	}
	return said
}

// prove sets Proved from the rest of the verdict. places marks a draft that claims only that names
// occur.
func (v *Verdict) prove(places bool) {
	covered, all := count(v.Sentences)
	whole := covered == all && all > 0
	switch attacked := v.attacker() != ""; {
	case v.Verdict == Escalate && v.Proved == Undecided:
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

// Badge returns the one-line summary of a verdict that is shown first: what was proved, and no more. What
// distinguishes drafts is at its beginning, since lists cut it. A draft that did not pass is a disagreement.
func (v *Verdict) Badge() string {
	var said []string
	add := func(s string) {
		if s != "" {
			said = append(said, s)
		}
	}
	switch v.Proved {
	case "":
		return Earlier
	case Nothing:
		add("disagreement")
	case Undecided:
		add("not decided")
		add(Coverage(v.Sentences))
	case Validated:
		add("✓ validated")
		add(Coverage(v.Sentences))
	case Places:
		add("places found, quotes checked")
	default:
		add(Coverage(v.Sentences))
		add("quotes checked")
	}
	if by := v.attacker(); by != "" {
		add("attacked by " + by)
	}
	if confirmed, all := v.references(); confirmed < all {
		add(fmt.Sprintf("%d of %s confirmed", confirmed, text.Count(all, "reference")))
	}
	return strings.Join(said, ", ")
}

// Sure reports whether the checks left a person only the wording to compare: every sentence is covered, no
// negation or condition is left open, and every reference is confirmed.
func (v *Verdict) Sure() bool {
	confirmed, refs := v.references()
	return (v.Proved == Covered || v.Proved == Validated) && confirmed == refs &&
		!slices.ContainsFunc(v.Sentences, func(s Sentence) bool {
			return slices.ContainsFunc(s.Undecided, func(u string) bool { return u != Wording })
		})
}

// Objects reports whether a check found a fault.
func (v *Verdict) Objects() bool {
	return v.Proved == Nothing || slices.ContainsFunc(v.Sentences, func(s Sentence) bool {
		return s.State == Contradicted
	})
}

// Earlier is the badge of a verdict from a version that checked no sentences, and earlierReason the reason
// that such a version gave.
const (
	Earlier       = "checked by an earlier version: quotes found"
	earlierReason = "every check of code passed"
)

// Why returns the reasons of a verdict, those of earlier versions in today's words.
func (v *Verdict) Why() []string {
	out := slices.Clone(v.Reasons)
	for i, r := range out {
		if r == earlierReason {
			out[i] = "an earlier version found no fault; it compared quotes and names, not sentences"
		}
	}
	return out
}

// references counts the references, and those of them that cover their claims.
func (v *Verdict) references() (confirmed, all int) {
	for _, c := range v.Checks {
		if strings.HasPrefix(c.Name, refCheck) {
			all++
			if c.Result == Supports {
				confirmed++
			}
		}
	}
	return confirmed, all
}

// Supporting returns how many different references of a return support their claims; 0 unless the verdict is
// pass. A place that a search found supports nothing.
func (v *Verdict) Supporting(r *draft.Return) int {
	if v == nil || v.Verdict != Pass || r == nil {
		return 0
	}
	support := map[string]bool{}
	for _, c := range v.Checks {
		i, err := strconv.Atoi(strings.TrimPrefix(c.Name, refCheck))
		if c.By == "code" && err == nil && i > 0 && i <= len(r.EvidenceRefs) &&
			Label(c.Result, c.Note) == Supports {
			support[r.EvidenceRefs[i-1].Ref] = true
		}
	}
	return len(support)
}

// refCheck begins the name of the check of a reference.
const refCheck = "ref "

// summary says what code found of a draft that it does not refuse.
func (v *Verdict) summary() string {
	confirmed, refs := v.references()
	said := fmt.Sprintf("code found no contradiction: %d of %s confirmed", confirmed,
		text.Count(refs, "reference"))
	if covered := Coverage(v.Sentences); covered != "" {
		said += ", " + covered
	}
	return said
}

// Edited returns the badge of a text that a person wrote in place of a draft. Code alone compares it, with
// what the draft cites.
func Edited(by string, sentences []Sentence) string {
	said := Coverage(sentences)
	if said == "" {
		said = "nothing in it to check"
	}
	return "edited by " + by + ", " + said
}

// Backed reports whether a sentence is covered, or makes no statement.
func (s Sentence) Backed() bool { return s.State == About || s.State == Unstated }

// Label names a state of a sentence for a person.
func (s Sentence) Label() string {
	label := map[string]string{
		About: "about", Unbacked: "backed by nothing cited", Unstated: "nothing to check",
		Contradicted: "contradicted",
		Uncompared:   "not compared",
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
	if (s.State == Contradicted || s.State == About) && s.Note != "" {
		label += " (" + s.Note + ")"
	}
	return label
}
