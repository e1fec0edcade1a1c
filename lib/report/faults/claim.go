package faults

import (
	"fmt"
	"slices"
)

// turn changes a sentence into one that says the opposite in some way. ok is
// false where it has nothing that could be turned so. A turn that was made by the
// same words before is given as made, so that claim and draft agree.
type turn func(s *subject, sentence string, made *edit) (out string, e edit, ok bool)

// edit is what a turn changed.
type edit struct {
	from, to string
	proof    func(cited string) bool // whether cited lines decide between the two
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
		return text[:at.from] + out + text[at.to:], e, true
	}
	return "", edit{}, false
}
