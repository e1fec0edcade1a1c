package search

import (
	"fmt"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codesearch"
)

// The first place of a search answers a question for a place if it has enough of the question and the next
// one is behind. Of 37 such questions of scripts/bench/judgement, 23 are answered by the first place; with
// these limits, 20 of 28.
const (
	leastCover = 0.4 // share of the question's weight
	farBehind  = 0.9 // score of the next declaration, as a share of the first
)

// composePlace answers a question for a place with the declaration that the best lines found are in.
func composePlace(x *codesearch.Index, question string, found codesearch.Found) *composed {
	hits := shown(question, found.Hits)
	if len(hits) == 0 || hits[0].Cover < leastCover || len(found.Missing) > 0 {
		return nil
	}
	h := hits[0]
	d := x.Around(h)
	if d.Name == "" || d.Aside || strings.Contains(question, d.Name) && done.MatchString(question) {
		return nil // where do we make X: not where X is
	}
	for _, next := range hits[1:] {
		if of := x.Around(next); of.Path == d.Path && of.Line == d.Line {
			continue
		}
		if next.Score >= farBehind*h.Score {
			return nil
		}
		break
	}
	say := fmt.Sprintf("That is `%s` in %s", named(d), at(d))
	p := shows(d, here(d))
	if d.Doc != "" {
		say += ": \"" + strings.TrimSuffix(d.Doc, ".") + "\""
		p.claim = say
	}
	c := &composed{say: say + ".", proofs: []proof{p}}
	if h.BestStart < p.start || h.BestEnd > p.end {
		c.proofs = append(c.proofs, proof{path: d.Path, start: h.BestStart, end: h.BestEnd, lines: d.Lines,
			claim: reference(h, nil).SupportsClaim})
	}
	return c
}

// done matches a question for where something happens.
var done = lazyregexp.New(`(?i)\bwhere (?:do|does|did)\b`)
