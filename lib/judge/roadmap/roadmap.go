// Package roadmap reads a codebase's ROADMAP.md, and the milestones of its forge: what of each section is
// done, and what is pending.
package roadmap

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/durable"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/judge/codebase"
)

// Name is the file, in the codebase's root.
const Name = "ROADMAP.md"

// Limits in characters, and of a summary in items of a section.
const (
	MaxRaw     = 6000
	MaxDigest  = 2000
	MaxSummary = 600
	maxPending = 5
	maxTitle   = 120
)

// Section is one part of a roadmap.
type Section struct {
	Title   string
	Done    int
	Pending []string
}

var (
	heading = lazyregexp.New(`^#{1,6}[ \t]+(\S.*)$`)
	item    = lazyregexp.New(`^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)$`)
)

// parse returns the sections that have items: lines of the form "- [ ] title" or "- [x] title".
func parse(body string) (all []Section) {
	s := Section{}
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\r\n")
		if m := heading.FindStringSubmatch(line); m != nil {
			all, s = with(all, s), Section{Title: text.Line(m[1], maxTitle)}
		}
		switch m := item.FindStringSubmatch(line); {
		case m == nil:
		case m[1] == " ":
			s.Pending = append(s.Pending, text.Line(m[2], maxTitle))
		default:
			s.Done++
		}
	}
	return with(all, s)
}

func with(all []Section, s Section) []Section {
	if s.Done+len(s.Pending) == 0 {
		return all
	}
	return append(all, s)
}

// digest returns every section with what is done and all that is pending, cut at a line to MaxDigest.
func digest(all []Section) string {
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%s: %d of %d done", s.Title, s.Done, s.Done+len(s.Pending)))
		for _, p := range s.Pending {
			lines = append(lines, "- "+p)
		}
	}
	return fit(lines, MaxDigest)
}

// summary returns how much is done, and some of what is pending, cut at a line to MaxSummary.
func summary(all []Section) string {
	done, total := 0, 0
	lines := []string{""}
	for _, s := range all {
		done, total = done+s.Done, total+s.Done+len(s.Pending)
		for _, p := range s.Pending[:min(len(s.Pending), maxPending)] {
			lines = append(lines, "- "+strings.TrimPrefix(s.Title+": "+p, ": "))
		}
	}
	if total == 0 {
		return ""
	}
	lines[0] = fmt.Sprintf("%d of %d done", done, total)
	return fit(lines, MaxSummary)
}

func fit(lines []string, most int) string {
	var b strings.Builder
	for _, l := range lines {
		if most -= utf8.RuneCountInString(l) + 1; most < 0 {
			break
		}
		b.WriteString(l + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// leads are the words of roles that are given the whole digest.
var leads = map[string]bool{"lead": true, "architect": true, "product": true, "manager": true, "pm": true,
	"director": true}

// Leads reports whether a role is that of a lead, by its words: not "Leading QA" or "Equipment".
func Leads(role string) bool {
	for _, w := range strings.FieldsFunc(strings.ToLower(role), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if leads[w] {
			return true
		}
	}
	return false
}

// For returns what a role is shown of the roadmap of a codebase: its file, and the milestones in the file
// Kept. "" if there is nothing that can be read. h may be nil.
func For(h *durable.Home, dir, role string) string {
	var all []Section
	if tree, err := codebase.Open(dir, nil, false); err == nil {
		defer tree.Close()
		if b, err := tree.ReadFile(Name); err == nil {
			all = parse(string(b))
		}
	}
	if h != nil {
		if b, err := h.ReadFile(Kept(dir)); err == nil {
			all = append(all, parse(string(b))...)
		}
	}
	if Leads(role) {
		return digest(all)
	}
	return summary(all)
}

// Raw returns the beginning of a codebase's file in its own words, cut at a line; "" if there is none.
func Raw(dir string) string {
	tree, err := codebase.Open(dir, nil, false)
	if err != nil {
		return ""
	}
	defer tree.Close()
	b, err := tree.ReadFile(Name)
	if err != nil {
		return ""
	}
	return fit(strings.Split(strings.TrimSpace(text.Visible(string(b))), "\n"), MaxRaw)
}

// Kept returns the file of a home that has the milestones of a codebase, in the form of Name.
func Kept(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(dir))
	return "roadmaps/" + hex.EncodeToString(sum[:8]) + ".md"
}
