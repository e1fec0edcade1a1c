package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tri/lib/record/draft"
)

// What the checks proved of the whole draft, from least to most.
const (
	Nothing   = "nothing"   // the draft did not pass
	Undecided = "undecided" // code found no fault, and no line that covers the draft: a person must read it
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

func (v *Verdict) sentences() (covered, uncompared, all int) { return count(v.Sentences) }

// count counts the sentences that make a statement, those of them that are covered, and those that could
// not be compared.
func count(sentences []Sentence) (covered, uncompared, all int) {
	for _, s := range sentences {
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

// undecided counts the covered sentences of whose meaning the checks could not decide a part.
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
	case "":
		return Earlier
	case Nothing:
		return "disagreement"
	case Undecided:
		if badge = "not decided"; v.attacker() != "" {
			badge += ", attacked by " + v.ValidatorModel
		}
		badge += uncovered(v.Sentences)
	case Validated:
		badge = "✓ validated, attacked by " + v.ValidatorModel
	case Places:
		badge = "places found, quotes checked"
	case Covered:
		badge = "quotes checked, covers every sentence"
		if n := v.undecided(); n > 0 {
			badge += fmt.Sprintf(", %d not decided", n)
		}
	case Attacked:
		badge = "attacked by " + v.ValidatorModel + uncovered(v.Sentences)
	default:
		badge = "quotes checked" + uncovered(v.Sentences)
	}
	if confirmed, all := v.references(); confirmed < all {
		badge += fmt.Sprintf(", %d of %d references not confirmed", all-confirmed, all)
	}
	return badge
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
	covered, uncompared, all := v.sentences()
	said := fmt.Sprintf("code found no contradiction: %d of %d references cover their claims",
		confirmed, refs)
	if all > 0 {
		said += fmt.Sprintf(", %d of %d sentences are covered", covered, all)
	}
	if uncompared > 0 {
		said += fmt.Sprintf(", %d could not be compared", uncompared)
	}
	if n := v.undecided(); n > 0 {
		said += fmt.Sprintf(", %d in part not decided", n)
	}
	return said
}

// uncovered says how many sentences are not covered, "" if all are.
func uncovered(sentences []Sentence) string {
	covered, _, all := count(sentences)
	if all == covered {
		return ""
	}
	said := fmt.Sprintf(", %d of %d sentences not covered", all-covered, all)
	contradicted := 0
	for _, s := range sentences {
		if s.State == Contradicted {
			contradicted++
		}
	}
	if contradicted > 0 {
		said += fmt.Sprintf(", %d contradicted", contradicted)
	}
	return said
}

// Edited returns the badge of a text that a person wrote in place of a draft. Code alone compares it, with
// what the draft cites.
func Edited(by string, sentences []Sentence) string {
	badge := "edited by " + by
	switch covered, _, all := count(sentences); {
	case all == 0:
		return badge + ", nothing in it to check"
	case covered == all:
		return badge + ", every sentence covered by what the draft cites"
	}
	return badge + uncovered(sentences)
}

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
