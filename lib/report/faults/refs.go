package faults

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"tri/lib/judge/evidence"
)

// move changes a reference, in the draft too: the fault must be found by checking the reference,
// not by an inconsistency.
func (s *subject) move(t target, to evidence.Place) {
	ref := &s.ret.EvidenceRefs[t.index]
	was := ref.Ref
	ref.Ref, ref.Receipt = to.String(), nil // the receipt was for the original bytes
	where := []string{fmt.Sprintf("ref %d", t.index+1)}
	d := strings.ReplaceAll(s.ret.DraftReply, was, ref.Ref)
	if d == s.ret.DraftReply && to.Path != t.place.Path {
		d = strings.ReplaceAll(d, t.place.Path, to.Path)
	}
	if d != s.ret.DraftReply {
		s.ret.DraftReply = d
		where = append(where, "draft")
	}
	s.did(was+" → "+ref.Ref, where...)
}

// repath changes a reference to the first of some paths that does not exist.
func (s *subject) repath(t target, names []string) error {
	for _, n := range names {
		p, err := evidence.Parse(n)
		if err != nil || p.Path != n || n == t.place.Path {
			continue
		}
		if _, err := s.Root.Lstat(n); err == nil {
			continue
		}
		s.move(t, evidence.Place{Path: n, Start: t.place.Start, End: t.place.End})
		return nil
	}
	return noPlace("every path tried is there")
}

func (s *subject) target() (target, error) {
	if len(s.targets) == 0 {
		return target{}, noPlace("it cites no file of the codebase")
	}
	return s.targets[s.rng.IntN(len(s.targets))], nil
}

// badPath cites a file that does not exist.
func badPath(s *subject) error {
	t, err := s.target()
	if err != nil {
		return err
	}
	dir, base := path.Split(t.place.Path)
	ext := path.Ext(base)
	var names []string
	for _, d := range []string{dir, "internal/", "pkg/core/", "src/", dir + "impl/", "services/" + dir} {
		for _, b := range []string{"handler", "manager", "config_loader", "limits", "defaults", "options",
			"retry_policy", "service"} {
			names = append(names, d+b+ext)
		}
	}
	return s.repath(t, shuffled(s, names))
}

// badLine cites lines after the end of the file.
func badLine(s *subject) error {
	t, err := s.target()
	if err != nil {
		return err
	}
	n, size := len(t.lines), t.place.End-t.place.Start
	start := n + 1 + s.rng.IntN(40)
	if s.rng.IntN(4) == 0 {
		start = n * (2 + s.rng.IntN(9))
	}
	s.move(t, evidence.Place{Path: t.place.Path, Start: start, End: start + size})
	return nil
}

// clear is how many lines around a wrong place must not contain the quote: more than a validator
// may tolerate as drift.
const clear = 2 * evidence.MaxDrift

// stands reports whether lines around a place contain a quote. Its longest line alone counts, so
// that a place without it is certainly wrong.
func stands(lines []string, start, end int, quote string) bool {
	window := flat(strings.Join(lines[max(start-1-clear, 0):min(end+clear, len(lines))], "\n"))
	return strings.Contains(window, flat(longest(quote)))
}

// offLine cites lines of the file that do not contain the quote.
func offLine(s *subject) error {
	for _, t := range shuffled(s, s.targets) {
		quote := s.ret.EvidenceRefs[t.index].Quote
		n, size := len(t.lines), t.place.End-t.place.Start
		if !says(longest(quote)) || !strings.Contains(flat(strings.Join(t.lines, "\n")), flat(quote)) {
			continue
		}
		for range 40 {
			start := 1 + s.rng.IntN(n)
			if start+size <= n && !stands(t.lines, start, start+size, quote) {
				s.move(t, evidence.Place{Path: t.place.Path, Start: start, End: start + size})
				return nil
			}
		}
	}
	return noPlace("no file is long enough to be wrong in by many lines")
}

var (
	amount = regexp.MustCompile(`\b\d+\b`)
	name   = regexp.MustCompile(`\b[A-Za-z_]\w{3,}\b`)
)

// badContent changes a number or a name in a quote, and in the claim and the draft too, or quotes a
// line that does not exist.
func badContent(s *subject) error {
	for _, t := range shuffled(s, s.targets) {
		ref := &s.ret.EvidenceRefs[t.index]
		file := strings.Join(t.lines, "\n")
		if !says(ref.Quote) || !strings.Contains(flat(file), flat(ref.Quote)) {
			continue
		}
		old, repl := s.alteration(ref.Quote, file)
		if old == "" {
			continue
		}
		whole := regexp.MustCompile(`\b` + regexp.QuoteMeta(old) + `\b`)
		quote := replaceOnce(whole, ref.Quote, repl)
		if strings.Contains(flat(file), flat(quote)) {
			continue
		}
		ref.Quote, ref.Receipt = quote, nil
		ref.SupportsClaim = whole.ReplaceAllLiteralString(ref.SupportsClaim, repl)
		s.ret.DraftReply = whole.ReplaceAllLiteralString(s.ret.DraftReply, repl)
		s.ret.SummaryForOrchestrator = whole.ReplaceAllLiteralString(s.ret.SummaryForOrchestrator, repl)
		s.did(old+" → "+repl, fmt.Sprintf("ref %d", t.index+1), "draft")
		return nil
	}
	return noPlace("it quotes no line of the codebase")
}

// alteration returns a part of a quote and its replacement.
func (s *subject) alteration(quote, file string) (old, repl string) {
	if all := amount.FindAllString(quote, -1); len(all) > 0 && s.rng.IntN(2) == 0 {
		old = all[s.rng.IntN(len(all))]
		return old, s.other(old, file)
	}
	if all := name.FindAllString(quote, -1); len(all) > 0 {
		old = all[s.rng.IntN(len(all))]
		return old, s.rename(old, file)
	}
	return "", ""
}

func replaceOnce(re *regexp.Regexp, s, repl string) string {
	at := re.FindStringIndex(s)
	if at == nil {
		return s
	}
	return s[:at[0]] + repl + s[at[1]:]
}

// other returns a number near old that does not occur in the file.
func (s *subject) other(old, file string) string {
	n, err := strconv.Atoi(old)
	if err != nil {
		n = 1000
	}
	for i := 1 + s.rng.IntN(5); ; i++ {
		if text := strconv.Itoa(n + i); !strings.Contains(file, text) {
			return text
		}
	}
}

// rename returns a name like old that does not occur in the file.
func (s *subject) rename(old, file string) string {
	endings := []string{"Limit", "Count", "Default", "Internal", "Policy", "Legacy"}
	if strings.ToLower(old) == old {
		endings = []string{"_limit", "_count", "_default", "_internal", "_policy", "_legacy"}
	}
	for _, e := range append(shuffled(s, endings), strconv.Itoa(1000+s.rng.IntN(9000))) {
		if !strings.Contains(file, old+e) {
			return old + e
		}
	}
	return old + "Unheard"
}

// flat replaces every run of white space by one space.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// longest returns the longest line of a quote.
func longest(quote string) string {
	best := ""
	for _, l := range strings.Split(quote, "\n") {
		if l = strings.TrimSpace(l); len(l) > len(best) {
			best = l
		}
	}
	return best
}

// says reports whether a quote is long enough to identify a place.
func says(quote string) bool {
	n := 0
	for _, r := range quote {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n >= 6
}
