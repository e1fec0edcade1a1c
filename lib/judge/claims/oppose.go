package claims

import (
	"strings"

	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
)

// Contradicted lists what a text says that contradicts the cited lines, as far as code can show.
func Contradicted(own *evidence.Text, found []evidence.Finding) []string {
	for _, f := range found {
		if why := own.Contrary(f.Places...); why != "" {
			return []string{text.Visible(own.Place() + " " + why)}
		}
	}
	return nil
}

// Minimum number of words of a sentence on another subject, and the maximum share of them that the
// question and citations may contain.
const (
	leastStrange = 4
	leastTelling = 3 // of these, that tell of a subject
	mostKnown    = 0.2
)

// OffTopic returns a sentence of a draft that has nothing to do with the question or the citations; "" if
// there is none.
func OffTopic(body string, own *evidence.Text, s safety.Sources, found []evidence.Finding) string {
	all := ""
	for _, t := range s.Texts {
		all += t + "\n"
	}
	for i, f := range found {
		all += f.Path + "\n"
		if i < len(s.Refs) {
			all += s.Refs[i].SupportsClaim + "\n" + s.Refs[i].Quote + "\n"
		}
	}
	if why := strayed(safety.OwnWords(body, s, false), folded(all)); why != "" {
		return why
	}
	about := evidence.Finding{Stands: true,
		Places: []*evidence.Text{evidence.FromText("what was asked and cited", all)}}
	for _, f := range found {
		about.Around = append(about.Around, f.Around...)
	}
	for _, p := range own.Account([]evidence.Finding{about}) {
		if len(p.Missing) >= leastStrange && p.Strange >= leastTelling && p.Share <= mostKnown && p.English {
			return p.Text
		}
	}
	return ""
}

// strayed returns a phrase by which text changes the subject, such as "while we are at it", unless the
// phrase is in about.
func strayed(text, about string) string {
	r := read(text)
	for lang := range r.langs {
		for _, at := range r.spans[drift.of(lang)] {
			if phrase := r.text[at.from:at.to]; !strings.Contains(about, phrase) {
				return phrase
			}
		}
	}
	return ""
}
