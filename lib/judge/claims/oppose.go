package claims

import (
	"fmt"
	"strings"

	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
)

// Opposed lists what text says that its sources deny: the cited lines, and the
// claims that its own references are to support. name tells which text it is.
func Opposed(name, body string, s safety.Sources, found []evidence.Finding) []string {
	var lines, claims []*evidence.Evidence
	for i, f := range found {
		lines = append(lines, f.Taken...)
		if i < len(s.Refs) && f.Result != evidence.Contradicts && f.Result != evidence.Fabricated {
			claims = append(claims, evidence.Said(fmt.Sprintf("the claim of reference %d", i+1), s.Refs[i].SupportsClaim))
		}
	}
	var out []string
	add := func(why string) {
		if why = name + " " + why; len(out) == 0 {
			out = append(out, text.Visible(why))
		}
	}
	own := safety.OwnWords(body, s, true)
	if why := evidence.Contrary(own, lines...); why != "" {
		add(why)
	}
	if why := evidence.Contrary(own, claims...); why != "" {
		add(why)
	}
	return out
}

// Drifted returns a sentence of text that speaks of nothing that was asked and of
// nothing that is cited; "" when there is none.
func Drifted(text string, s safety.Sources, found []evidence.Finding) string {
	about := strings.Builder{}
	for _, t := range s.Texts {
		about.WriteString(t + "\n")
	}
	for i, f := range found {
		about.WriteString(f.Path + "\n" + f.Near() + "\n")
		if i < len(s.Refs) {
			about.WriteString(s.Refs[i].SupportsClaim + "\n" + s.Refs[i].Quote + "\n")
		}
	}
	if why := strayed(safety.OwnWords(text, s, false), folded(about.String())); why != "" {
		return why
	}
	return evidence.Stranger(safety.OwnWords(text, s, true), about.String())
}

// strayed returns the phrase by which text leaves what was asked, as "while we are
// at it"; one that is in what was asked or cited leaves nothing.
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
