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

// Traced is one thing that a text names, and where it stands.
type Traced struct {
	Kind string // name, path, flag, number, place
	Text string
	To   string // "client.go:42", "the question"; "" nowhere
}

// Trace finds where everything stands that text names: each path, identifier,
// option, number and citation. found is what the references of s were found to
// be, in their order. Numbers must stand near the cited lines, in a quote that
// code has seen there or in what was asked; names may stand anywhere in a cited file, and a path in the
// codebase.
func Trace(text string, s safety.Sources, found []evidence.Finding) []Traced {
	text = evidence.Fold(text)
	near := nearby(s, found)
	var out []Traced
	for _, t := range evidence.Tokens(withoutRefs(text, s.Refs)) {
		out = append(out, Traced{t.Kind, t.Text, where(t, s, near, found)})
	}
	asked := asked(s)
	for _, c := range evidence.Citations(text) {
		to := citedBy(c, s, found)
		switch {
		case to == "" && slices.Contains(asked, c):
			to = "the question"
		case to == "":
			to = quotedAt(citation(c), near)
		}
		out = append(out, Traced{"place", citation(c), to})
	}
	return append(out, bare(text, s, found)...)
}

// Untraced lists what text names that stands in none of its sources.
func Untraced(text string, s safety.Sources, found []evidence.Finding) []string {
	var out []string
	for _, t := range Trace(text, s, found) {
		if t.To == "" {
			out = append(out, t.Text)
		}
	}
	return out
}

// nearby are the places that a number may come from: what is around each
// citation, each quote, what was asked and said.
func nearby(s safety.Sources, found []evidence.Finding) []*evidence.Text {
	var out []*evidence.Text
	for i, f := range found {
		out = append(out, f.Places...)
		// A quote is a source once code has seen it where it is cited.
		if f.Stands && i < len(s.Refs) && s.Refs[i].Quote != "" {
			out = append(out, evidence.FromText(fmt.Sprintf("the quote of reference %d", i+1), s.Refs[i].Quote))
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
	// A name whose parts stand in different cited places: a field here, its type there.
	var all strings.Builder
	for _, e := range near {
		all.WriteString(e.String() + "\n")
	}
	for _, f := range found {
		all.WriteString(f.Path + "\n" + f.Text + "\n")
	}
	if t.In(all.String()) {
		return "several references"
	}
	return ""
}

// withoutRefs takes the references, as they are written, out of a text: a file
// without an ending, as bin/run:12, is told from prose by nothing else.
func withoutRefs(text string, refs []draft.Ref) string {
	for _, r := range refs {
		if _, err := evidence.Parse(r.Ref); r.Kind == draft.KindFile && err == nil {
			text = regexp.MustCompile(regexp.QuoteMeta(r.Ref)+`(?:[-–]\d+)?\b`).ReplaceAllString(text, " ")
		}
	}
	return text
}

var slashed = lazyregexp.New(`(?:^|[\s(\[,"'` + "`" + `])([A-Za-z][\w-]*(?:/[\w-]+)+)(?:[\s)\],;:"'` + "`" + `]|\.(?:\s|$)|$)`)

// bare traces paths without an ending, which prose tells from and/or by the
// folders of the codebase alone.
func bare(text string, s safety.Sources, found []evidence.Finding) []Traced {
	if s.Exists == nil {
		return nil
	}
	var out []Traced
	for _, m := range slashed.FindAllStringSubmatch(withoutRefs(text, s.Refs), 20) {
		p := m[1]
		first, _, _ := strings.Cut(p, "/")
		named := slices.ContainsFunc(found, func(f evidence.Finding) bool { return strings.HasPrefix(f.Path, first+"/") })
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

// asked are the places that were named in what was asked and said.
func asked(s safety.Sources) []evidence.Place {
	var out []evidence.Place
	for _, t := range s.Texts {
		out = append(out, evidence.Citations(t)...)
	}
	return out
}

// quotedAt finds a citation that stands, as it is written, in the evidence: a
// comment that names another file's line.
func quotedAt(c string, near []*evidence.Text) string {
	for _, e := range near {
		if i := strings.Index(e.String(), c); i >= 0 && !strings.ContainsAny(e.String()[i+len(c):min(i+len(c)+1, len(e.String()))], "0123456789") {
			return e.Place()
		}
	}
	return ""
}

// citedBy tells which reference cites a place that is named in a draft; "" none.
func citedBy(c evidence.Place, s safety.Sources, found []evidence.Finding) string {
	for i, f := range found {
		if f.Path == "" || c.Path != "" && !evidence.Names(f.Path, c.Path) {
			continue
		}
		if overlaps(c, f.Start, f.End) {
			return fmt.Sprintf("reference %d", i+1)
		}
		if i < len(s.Refs) {
			if p, err := evidence.Parse(s.Refs[i].Ref); err == nil && overlaps(c, p.Start, p.End) {
				return fmt.Sprintf("reference %d", i+1)
			}
		}
	}
	return ""
}

func overlaps(c evidence.Place, start, end int) bool {
	return start > 0 && c.Start <= end+evidence.Around && c.End >= start-evidence.Around
}
