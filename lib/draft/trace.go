package draft

import (
	"regexp"
	"slices"
	"strings"

	"tri/lib/evidence"
)

// Untraced lists what text names that stands in none of its sources: a path, an
// identifier, an option, a number or a citation that nobody showed. found is what
// the references of s were found to be, in their order. Numbers must stand near
// the cited lines, in a quote or in the question; names may stand anywhere in a
// cited file.
func Untraced(text string, s Sources, found []evidence.Finding) []string {
	near := slices.Clone(s.Texts)
	for _, r := range s.Refs {
		near = append(near, r.Quote)
		if r.Kind != evidence.File {
			near = append(near, r.Ref)
		}
	}
	for _, f := range found {
		near = append(near, f.Near())
	}
	close := strings.Join(near, "\n")
	for _, f := range found {
		near = append(near, f.Text)
	}
	wide := strings.Join(near, "\n")

	var out []string
	for _, t := range evidence.Tokens(withoutRefs(text, s.Refs)) {
		if t.In(close) || t.Kind != evidence.Number && (t.In(wide) || namesAny(found, t.Text)) {
			continue
		}
		out = append(out, t.Text)
	}
	for _, c := range evidence.Citations(text) {
		if !citedBy(c, s, found) && !regexp.MustCompile(`\b`+regexp.QuoteMeta(citation(c))+`\b`).MatchString(close) {
			out = append(out, citation(c))
		}
	}
	return out
}

// withoutRefs takes the references, as they are written, out of a text: a file
// without an ending, as bin/run:12, is told from prose by nothing else.
func withoutRefs(text string, refs []evidence.Ref) string {
	for _, r := range refs {
		if _, err := evidence.Parse(r.Ref); r.Kind == evidence.File && err == nil {
			text = regexp.MustCompile(regexp.QuoteMeta(r.Ref)+`\b`).ReplaceAllString(text, " ")
		}
	}
	return text
}

func namesAny(found []evidence.Finding, name string) bool {
	return slices.ContainsFunc(found, func(f evidence.Finding) bool { return f.Path != "" && evidence.Names(f.Path, name) })
}

func citation(c evidence.Place) string {
	if c.Path == "" {
		c.Path = "line"
		return strings.Replace(c.String(), ":", " ", 1)
	}
	return c.String()
}

// citedBy reports whether a place named in a draft is one of its references, or
// stands in the question.
func citedBy(c evidence.Place, s Sources, found []evidence.Finding) bool {
	for i, f := range found {
		if f.Path == "" || c.Path != "" && !evidence.Names(f.Path, c.Path) {
			continue
		}
		if overlaps(c, f.Start, f.End) {
			return true
		}
		if i < len(s.Refs) {
			if p, err := evidence.Parse(s.Refs[i].Ref); err == nil && overlaps(c, p.Start, p.End) {
				return true
			}
		}
	}
	for _, t := range s.Texts {
		if slices.Contains(evidence.Citations(t), c) {
			return true
		}
	}
	return false
}

func overlaps(c evidence.Place, start, end int) bool {
	return start > 0 && c.Start <= end+evidence.Around && c.End >= start-evidence.Around
}
