package faults

import (
	"fmt"
	"slices"
)

// turn changes a sentence into its opposite in some way. ok is false if the sentence contains nothing
// that can be changed this way. An earlier change of the same words is passed as made, so that claim
// and draft agree.
type turn func(s *subject, sentence string, made *edit) (out string, e edit, ok bool)

// edit describes what a turn changed.
type edit struct {
	from, to string
	proof    func(cited string) bool // reports whether the cited lines decide between both versions
}

// inverted contradicts what the draft says about one reference, and usually changes the claim and
// the summary too. The changed sentence of the draft must concern the claim.
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
			if s.rng.IntN(3) > 0 { // otherwise only the draft is wrong, not the claim
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

// turnBest changes the sentence of text that has most in common with a claim, among those that can
// be changed.
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
