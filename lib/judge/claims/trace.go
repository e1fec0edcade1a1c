package claims

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

// Traced is something that a text names, and where it was found.
type Traced struct {
	Kind string // name, path, flag, number, place
	Text string
	To   string // "client.go:42", "the question"; "" if not found
}

// Place is the kind of a citation.
const Place = "place"

// Trace finds the source of everything that text names: each path, identifier, option, number and
// citation, but for what it quotes. found are the findings of the references of s, in their order. A number
// must be near the cited lines, in a quote that code has found there, or in the question and its context. A
// name may be anywhere in a cited file, and a path in the codebase.
func Trace(text string, s safety.Sources, found []evidence.Finding) []Traced {
	text = evidence.Fold(text)
	near := nearby(s, found)
	var out []Traced
	for _, t := range evidence.Tokens(withoutRefs(withoutQuotes(text, s, found), s.Refs)) {
		out = append(out, Traced{t.Kind, t.Text, where(t, s, near, found)})
	}
	asked := asked(s)
	for _, c := range evidence.Citations(text) {
		to := citedBy(c, s, found)
		switch {
		case to == "" && slices.Contains(asked, c):
			to = "the question"
		}
		out = append(out, Traced{Place, citation(c), to})
	}
	return append(out, bare(text, s, found)...)
}

// nearby returns the possible sources of numbers: the surroundings of each citation, each quote, the
// question and its context.
func nearby(s safety.Sources, found []evidence.Finding) []*evidence.Text {
	var out []*evidence.Text
	for i, f := range found {
		out = append(out, f.Places...)
		// A quote is a source if code has found it where it is cited.
		if f.Stands && i < len(s.Refs) && s.Refs[i].Quote != "" {
			out = append(out, evidence.FromText(fmt.Sprintf("the quote of reference %d", i+1),
				s.Refs[i].Quote))
		}
	}
	for i, t := range s.Texts {
		name := "the question"
		if i > 0 {
			name = "what was said around it"
		}
		out = append(out, evidence.FromText(name, t))
	}
	return out
}

func where(t evidence.Token, s safety.Sources, near []*evidence.Text, found []evidence.Finding) string {
	for _, e := range near {
		if to := e.Where(t); to != "" {
			return to
		}
	}
	if t.Kind == evidence.Number && !t.Version() {
		return ""
	}
	for i, r := range s.Refs {
		if r.Kind != draft.KindFile && t.In(r.Ref) {
			return fmt.Sprintf("reference %d", i+1)
		}
	}
	for _, f := range found {
		switch {
		case f.Path != "" && evidence.Names(f.Path, t.Text):
			return f.Path
		case t.In(f.Path + "\n" + f.Text):
			return f.Path
		}
	}
	if t.Kind == evidence.Path && s.Exists != nil && s.Exists(t.Text) {
		return "the codebase"
	}
	return ""
}

// withoutQuotes removes the quotes that code has found where they are cited from a text: each word in them
// would be traced to its reference.
func withoutQuotes(text string, s safety.Sources, found []evidence.Finding) string {
	for i, r := range s.Refs {
		if i < len(found) && found[i].Stands && r.Quote != "" {
			text = strings.ReplaceAll(text, evidence.Fold(r.Quote), " ")
		}
	}
	return text
}

// withoutRefs removes the references, as written, from a text: a file without an extension, such as
// bin/run:12, cannot otherwise be distinguished from prose.
func withoutRefs(text string, refs []draft.Ref) string {
	for _, r := range refs {
		if _, err := evidence.Parse(r.Ref); r.Kind == draft.KindFile && err == nil {
			text = regexp.MustCompile(regexp.QuoteMeta(r.Ref)+`(?:[-–]\d+)?\b`).ReplaceAllString(text, " ")
		}
	}
	return text
}

var slashed = lazyregexp.New(`(?:^|[\s(\[,"'` + "`" + `])([A-Za-z][\w-]*(?:/[\w-]+)+)(?:[\s)\],;:"'` + "`" +
	`]|\.(?:\s|$)|$)`)

// bare traces paths without an extension, which only the folders of the codebase distinguish from phrases
// such as and/or.
func bare(text string, s safety.Sources, found []evidence.Finding) []Traced {
	if s.Exists == nil {
		return nil
	}
	var out []Traced
	for _, m := range slashed.FindAllStringSubmatch(withoutRefs(text, s.Refs), 20) {
		p := m[1]
		first, _, _ := strings.Cut(p, "/")
		named := slices.ContainsFunc(found, func(f evidence.Finding) bool {
			return strings.HasPrefix(f.Path, first+"/")
		})
		if !named {
			continue
		}
		to := ""
		switch {
		case s.Exists(p):
			to = "the codebase"
		case slices.ContainsFunc(found, func(f evidence.Finding) bool {
			return strings.HasPrefix(f.Path, p+".") || strings.Contains(f.Text, p)
		}):
			to = "a cited file"
		case slices.ContainsFunc(s.Texts, func(t string) bool { return strings.Contains(t, p) }):
			to = "the question"
		}
		out = append(out, Traced{evidence.Path, p, to})
	}
	return out
}

func citation(c evidence.Place) string {
	if c.Path == "" {
		c.Path = "line"
		return strings.Replace(c.String(), ":", " ", 1)
	}
	return c.String()
}

// asked returns the places cited in the question and its context.
func asked(s safety.Sources) []evidence.Place {
	var out []evidence.Place
	for _, t := range s.Texts {
		out = append(out, evidence.Citations(t)...)
	}
	return out
}

// citedBy returns the reference that cites a place named in a draft; "" if some line of the place is in
// none.
func citedBy(c evidence.Place, s safety.Sources, found []evidence.Finding) string {
	by := ""
	for line := c.Start; line <= c.End; {
		i, last := citing(c.Path, line, s, found)
		if i < 0 {
			return ""
		}
		if by == "" {
			by = fmt.Sprintf("reference %d", i+1)
		}
		line = last + 1
	}
	return by
}

// citing returns the reference that cites a line, or has its quote there, and the last line that it
// covers; -1 if none.
func citing(path string, line int, s safety.Sources, found []evidence.Finding) (ref, last int) {
	ref = -1
	for i, f := range found {
		if f.Path == "" || path != "" && !evidence.Names(f.Path, path) {
			continue
		}
		cited := []evidence.Place{{Start: f.Start, End: f.End}}
		if i < len(s.Refs) {
			if p, err := evidence.Parse(s.Refs[i].Ref); err == nil {
				cited = append(cited, p.Specific())
			}
		}
		for _, p := range cited {
			if p.Start > 0 && line >= p.Start && line <= p.End && p.End > last {
				ref, last = i, p.End
			}
		}
	}
	return ref, last
}

// In reports whether a sentence names t.
func (t Traced) In(sentence string) bool {
	switch t.Kind {
	case evidence.Path:
		return strings.Contains(sentence, t.Text)
	case Place:
	default:
		return slices.Contains(evidence.Tokens(sentence), evidence.Token{Kind: t.Kind, Text: t.Text})
	}
	return slices.ContainsFunc(evidence.Citations(sentence), func(c evidence.Place) bool {
		return citation(c) == t.Text
	})
}

// Why says why t is in no source: for a place, what is cited instead.
func (t Traced) Why(refs []draft.Ref) string {
	if t.Kind != Place {
		return fmt.Sprintf("names %q, which is in nothing cited", t.Text)
	}
	p, err := evidence.Parse(t.Text)
	for i, r := range refs {
		if q, errOther := evidence.Parse(r.Ref); err == nil && errOther == nil &&
			evidence.Names(q.Path, p.Path) {
			return fmt.Sprintf("names %s, reference %d is %s", t.Text, i+1, r.Ref)
		}
	}
	return fmt.Sprintf("names %s, which no reference cites", t.Text)
}
