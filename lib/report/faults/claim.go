package faults

import (
	"fmt"
	"slices"
	"strings"
	"tri/lib/record/draft"
)

// turn changes a sentence into one that says the opposite in some way. ok is
// false where it has nothing that could be turned so. A turn that was made by the
// same words before is given as made, so that claim and draft agree.
type turn func(s *subject, sentence string, made *edit) (out string, e edit, ok bool)

// edit is what a turn changed.
type edit struct {
	from, to string
	proof    func(cited string) bool // whether cited lines decide between the two
	denies   bool                    // so that a yes before it becomes a no
}

// inverted turns what the draft says of one reference into its opposite, and most
// often the claim and the summary with it. The sentence of the draft that is
// turned must speak of the claim.
func inverted(t turn) func(*subject) error {
	return func(s *subject) error {
		for _, at := range shuffled(s, s.targets) {
			claim := &s.ret.EvidenceRefs[at.index].SupportsClaim
			text, e, ok := s.turnBest(t, s.ret.DraftReply, *claim)
			if !ok {
				continue
			}
			where := []string{"draft"}
			whole := *claim + "\n" + s.ret.DraftReply
			s.ret.DraftReply = text
			if s.rng.IntN(3) > 0 { // else it is read right and answered wrong
				if out, _, ok := t(s, *claim, &e); ok {
					*claim, where = out, append(where, fmt.Sprintf("claim %d", at.index+1))
				}
				if shared(content(s.ret.SummaryForOrchestrator), content(whole)) >= 2 {
					if out, _, ok := t(s, s.ret.SummaryForOrchestrator, &e); ok {
						s.ret.SummaryForOrchestrator, where = out, append(where, "summary")
					}
				}
			}
			s.did(e.from+" → "+e.to, where...)
			s.mark.Decidable = slices.ContainsFunc(s.targets, func(o target) bool {
				return e.proof(o.cited(0) + "\n" + s.ret.EvidenceRefs[o.index].Quote)
			})
			return nil
		}
		return noPlace("no sentence of the draft can be turned so")
	}
}

// turnBest turns the sentence of text that, of those that can be turned, has most
// in common with a claim.
func (s *subject) turnBest(t turn, text, claim string) (string, edit, bool) {
	about := content(claim)
	type spot struct{ from, to, shared int }
	var spots []spot
	for _, at := range sentences(text) {
		if n := shared(content(text[at[0]:at[1]]), about); n > 0 {
			spots = append(spots, spot{at[0], at[1], n})
		}
	}
	slices.SortStableFunc(spots, func(a, b spot) int { return b.shared - a.shared })
	for _, at := range spots {
		out, e, ok := t(s, text[at.from:at.to], nil)
		if !ok {
			continue
		}
		whole := text[:at.from] + out + text[at.to:]
		if e.denies {
			whole = answered(whole)
		}
		return whole, e, true
	}
	return "", edit{}, false
}

// answers are the words by which a reply begins, and their opposites.
var answers = [][2]string{{"Yes", "No"}, {"Ya", "Tidak"}, {"Sí", "No"}, {"はい", "いいえ"}, {"Boleh", "Tidak boleh"}}

// answered turns a leading yes into a no, or the other way: what follows it was
// turned.
func answered(text string) string {
	for _, a := range answers {
		for _, p := range [][2]string{a, {a[1], a[0]}} {
			rest, ok := strings.CutPrefix(text, p[0])
			if ok && (rest == "" || strings.ContainsAny(rest[:1], ",.: ") || strings.HasPrefix(rest, "。") || strings.HasPrefix(rest, "、")) {
				return p[1] + rest
			}
		}
	}
	return text
}

// contradiction has another open thread conclude the opposite of the summary.
func contradiction(s *subject) error {
	summary := s.ret.SummaryForOrchestrator
	speaks := slices.ContainsFunc(s.ret.EvidenceRefs, func(r draft.Ref) bool {
		return shared(content(summary), content(r.SupportsClaim)) >= 2
	})
	if !speaks {
		return noPlace("its summary concludes nothing that a reference claims")
	}
	for _, t := range shuffled(s, []turn{deny, turnBound, turnOrder, turnNumber, turnDefault, turnUnit}) {
		if out, e, ok := t(s, summary, nil); ok && out != summary {
			s.others = append(s.others, Other{otherKey, out})
			s.did(e.from+" → "+e.to, "another open thread")
			return nil
		}
	}
	return noPlace("its summary cannot be turned")
}
