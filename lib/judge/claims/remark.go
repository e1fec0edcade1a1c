package claims

import (
	"slices"
	"strings"

	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
)

// A remark is a statement of a draft about itself: "it may be lost" is about a file, "I may be wrong"
// about the draft. It is recognized as a sentence that shares no word with the question and the citations,
// so a word suffices there that elsewhere would be a description.

// judging are the sections of the lexicon that identify a remark.
var judging = []section{doubt, knowing, self, denial, chance, astray, assured, dispute}

// doubts reports whether a sentence expresses doubt in itself. at returns the position of a section's
// words, or -1 if it has none.
func doubts(at func(section) int) bool {
	has := func(s section) bool { return at(s) >= 0 }
	return has(doubt) || has(knowing) && has(denial) && has(self) || has(chance) && has(astray)
}

// assures reports whether a sentence expresses more certainty than is possible.
func assures(at func(section) int) bool {
	no := at(denial)
	// not: it is not sure
	return no >= 0 && at(dispute) >= 0 || at(assured) >= 0 && (no < 0 || no > at(assured))
}

// remarks lists the remarks of a text for which judges holds, each short enough for a note.
func (r *reading) remarks(s safety.Sources, judges func(at func(section) int) bool) (found []string) {
	var about *evidence.Text
	for i, from := range r.starts {
		to := len(r.text)
		if i+1 < len(r.starts) {
			to = r.starts[i+1]
		}
		said := false
		for lang := range r.langs {
			said = said || judges(func(sec section) int {
				all := r.spans[sec.of(lang)]
				if k := slices.IndexFunc(all, func(at span) bool { return at.sentence == i }); k >= 0 {
					return all[k].from
				}
				return -1
			})
		}
		if !said {
			continue
		}
		if about == nil {
			about = evidence.FromText("what was asked and cited", subject(s))
		}
		if q := r.quote(from, to); len(evidence.FromText("a remark",
			r.without(from, to)).Shared(about)) == 0 && !slices.Contains(found, q) {
			found = append(found, q)
		}
	}
	return found
}

// without returns a part of the text without the judging words.
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

// subject returns the text on which a draft is based.
func subject(s safety.Sources) string {
	texts := slices.Clone(s.Texts)
	for _, ref := range s.Refs {
		texts = append(texts, ref.SupportsClaim, ref.Quote, ref.Ref)
	}
	return strings.Join(texts, "\n")
}
