package draft

import (
	"slices"
	"strings"

	"tri/lib/evidence"
)

// What a draft says of itself, and not of the matter, is told by the company that its
// words keep: "it may be lost" is about a file, "I may be wrong" about the draft. A
// remark is a sentence that shares no word with what was asked and cited, so that
// there a word is enough which elsewhere would be a description.

// judging are the sections of the lexicon that a remark is told by.
var judging = []section{doubt, knowing, self, denial, chance, astray, assured, dispute}

// doubts reports whether a sentence of a language that has is asked of doubts itself.
func doubts(has func(section) bool) bool {
	return has(doubt) || has(knowing) && has(denial) && has(self) || has(chance) && has(astray)
}

// assures reports whether one is surer of itself than anybody can be.
func assures(has func(section) bool) bool {
	if has(denial) {
		return has(dispute)
	}
	return has(assured)
}

// remarks lists the remarks of a text that judge it in a way, each short enough for a
// note.
func (r *reading) remarks(s Sources, judges func(has func(section) bool) bool) (found []string) {
	about := ""
	for i, from := range r.starts {
		to := len(r.text)
		if i+1 < len(r.starts) {
			to = r.starts[i+1]
		}
		said := false
		for lang := range r.langs {
			has := func(sec section) bool {
				return slices.ContainsFunc(r.spans[sec.of(lang)], func(at span) bool { return at.sentence == i })
			}
			said = said || judges(has)
		}
		if !said {
			continue
		}
		if about == "" {
			about = subject(s)
		}
		if q := r.quote(from, to); len(evidence.Shared(r.without(from, to), about)) == 0 && !slices.Contains(found, q) {
			found = append(found, q)
		}
	}
	return found
}

// without is a stretch of the text without the words that judge.
func (r *reading) without(from, to int) string {
	out := []byte(r.text[from:to])
	for _, sec := range judging {
		for lang := range r.langs {
			for _, at := range r.spans[sec.of(lang)] {
				for k := max(at.from, from); k < min(at.to, to); k++ {
					out[k-from] = ' '
				}
			}
		}
	}
	return string(out)
}

// subject is the text of what a draft rests on.
func subject(s Sources) string {
	texts := slices.Clone(s.Texts)
	for _, ref := range s.Refs {
		texts = append(texts, ref.SupportsClaim, ref.Quote, ref.Ref)
	}
	return strings.Join(texts, "\n")
}
