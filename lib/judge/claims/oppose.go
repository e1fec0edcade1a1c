package claims

import (
	"strings"

	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
)

// Opposed lists what a text says that the cited lines deny, as far as code can show.
func Opposed(own *evidence.Text, found []evidence.Finding) []string {
	for _, f := range found {
		if why := own.Contrary(f.Places...); why != "" {
			return []string{text.Visible(own.Place() + " " + why)}
		}
	}
	return nil
}

// Least words of a sentence that is about something else, and the most of them that
// what was asked and cited may have.
const (
	leastStrange = 4
	mostKnown    = 0.25
)

// Drifted returns a sentence of a draft that speaks of nothing that was asked and of
// nothing that is cited; "" when there is none.
func Drifted(body string, own *evidence.Text, s safety.Sources, found []evidence.Finding) string {
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
	about := evidence.Finding{Stands: true, Places: []*evidence.Text{evidence.FromText("what was asked and cited", all)}}
	for _, f := range found {
		about.Around = append(about.Around, f.Around...)
	}
	for _, p := range own.Account([]evidence.Finding{about}) {
		if len(p.Missing) >= leastStrange && p.Share <= mostKnown && p.English {
			return p.Text
		}
	}
	return ""
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
