package faults

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figure is a number in a text.
type figure struct {
	start, end int
	value      string // canonical: 6,000 is 6000, five is 5, 0700 is 700
	word       bool   // written as a word
	unit       string // the following unit, in lower case
}

var numberNames = map[string][]string{
	"en": {"zero", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
		"twelve", "thirteen", "fourteen", "fifteen"},
	"id": {"nol", "", "dua", "tiga", "empat", "lima", "enam", "tujuh", "delapan", "sembilan", "sepuluh",
		"sebelas", "dua belas"},
	"es": {"cero", "", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
		"once", "doce"},
}

const unitWords = `milliseconds?|ms|seconds?|secs?|minutes?|min|hours?|days?|weeks?|s|h|bytes?|KiB|MiB|GiB|KB|MB|GB|K|words?|characters?|lines?|` +
	`detik|menit|jam|hari|kata|karakter|baris|segundos?|minutos?|horas?|バイト|キロバイト|秒|分`

var (
	figures = regexp.MustCompile(`(?i)(?:0[ox])?\d+(?:[.,_]\d+)*|\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|dua|tiga|empat|lima|enam|tujuh|delapan|sembilan|sepuluh|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez)\b`)
	units   = regexp.MustCompile(`(?i)^([- ]?)(` + unitWords + `)(?:\b|$|[^a-zA-Z])`)
)

// numbers returns the figures of a text.
func numbers(text string) []figure { return kept(text, figures.FindAllStringSubmatchIndex(text, -1)) }

// told returns the figures outside of code and quotations.
func told(text string) []figure { return kept(text, proseOf(text).find(figures)) }

func kept(text string, found [][]int) []figure {
	var out []figure
	for _, m := range found {
		t := text[m[0]:m[1]]
		if m[0] > 0 && (isLetter(text[m[0]-1]) || text[m[0]-1] == '.') && !strings.HasPrefix(t, "0o") ||
			strings.Count(t, ".") > 1 {
			continue // sha256, v1.8.0
		}
		f := figure{start: m[0], end: m[1], value: canonical(t)}
		f.word = !strings.ContainsAny(t[:1], "0123456789")
		if u := units.FindStringSubmatch(text[m[1]:]); u != nil {
			f.unit = strings.ToLower(u[2])
		} else if m[1] < len(text) && isLetter(text[m[1]]) {
			continue // 3rd, 5xx
		}
		out = append(out, f)
	}
	return out
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func canonical(t string) string {
	lower := strings.ToLower(t)
	for _, names := range numberNames {
		if i := slices.Index(names, lower); i > 0 || lower == names[0] {
			return strconv.Itoa(max(i, 0))
		}
	}
	lower = strings.TrimPrefix(strings.NewReplacer(",", "", "_", "").Replace(lower), "0o")
	if trimmed := strings.TrimLeft(lower, "0"); trimmed != "" && trimmed[0] != '.' {
		return trimmed
	}
	return lower
}

// scale returns the size of a unit, in bytes or in milliseconds.
func scale(unit string) (amount float64, what string) {
	for _, u := range []struct {
		begins, what string
		amount       float64
	}{
		{"milli", "time", 1}, {"ms", "time", 1}, {"sec", "time", 1e3}, {"seg", "time", 1e3},
		{"detik", "time", 1e3}, {"秒", "time", 1e3}, {"min", "time", 6e4}, {"menit", "time", 6e4},
		{"分", "time", 6e4},
		{"hour", "time", 36e5}, {"hor", "time", 36e5}, {"jam", "time", 36e5}, {"day", "time", 864e5},
		{"hari", "time", 864e5}, {"week", "time", 6048e5},
		{"byte", "size", 1}, {"バイト", "size", 1}, {"k", "size", 1 << 10}, {"m", "size", 1 << 20},
		{"g", "size", 1 << 30},
	} {
		if strings.HasPrefix(unit, u.begins) && unit != "karakter" && unit != "kata" {
			return u.amount, u.what
		}
	}
	switch unit {
	case "s":
		return 1e3, "time"
	case "h":
		return 36e5, "time"
	}
	return 1, ""
}

var (
	shift    = regexp.MustCompile(`\b(\d+)\s*<<\s*(\d+)`)
	duration = regexp.MustCompile(`(?:(\d+)\s*\*\s*)?time\.(Millisecond|Second|Minute|Hour)(?:\s*\*\s*(\d+))?`)
)

// holds reports whether cited lines contain a figure, possibly in another unit.
func holds(cited string, f figure) bool {
	want, what := amountOf(f)
	for _, g := range numbers(cited) {
		if g.value == f.value {
			return true
		}
		if got, of := amountOf(g); what != "" && got == want && (of == what || of == "") {
			return true
		}
	}
	for _, m := range shift.FindAllStringSubmatch(cited, -1) {
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[2])
		if b < 60 && float64(a)*float64(int64(1)<<b) == want {
			return true
		}
	}
	for _, m := range duration.FindAllStringSubmatch(cited, -1) {
		n := 1.0
		if text := m[1] + m[3]; text != "" {
			n, _ = strconv.ParseFloat(text, 64)
		}
		if per, _ := scale(strings.ToLower(m[2])); what == "time" && n*per == want {
			return true
		}
	}
	return false
}

func amountOf(f figure) (float64, string) {
	n, err := strconv.ParseFloat(f.value, 64)
	if err != nil {
		return -1, ""
	}
	per, what := scale(f.unit)
	return n * per, what
}

// near returns the text of all references with their surroundings, and of the question: a number in
// it may be correct for something.
func (s *subject) near() string {
	texts := []string{s.ret.Question}
	for _, t := range s.targets {
		texts = append(texts, t.cited(2*evidenceAround), s.ret.EvidenceRefs[t.index].Quote,
			s.ret.EvidenceRefs[t.index].SupportsClaim)
	}
	return strings.Join(texts, "\n")
}

// another returns a number to replace f that does not occur in near.
func (s *subject) another(f figure, near string) (value string, ok bool) {
	n, err := strconv.Atoi(f.value)
	if err != nil {
		return "", false
	}
	for _, m := range shuffled(s, []int{n + 1, n * 2, n / 2, n * 10, n + 3, n + 7, n - 1, n * 4}) {
		g := figure{value: strconv.Itoa(m), unit: f.unit}
		if m > 0 && m != n && !holds(near, g) {
			return g.value, true
		}
	}
	return "", false
}

// spell returns a figure of text with another value, in the same notation.
func (s *subject) spell(f figure, was, value string) string {
	n, err := strconv.Atoi(value)
	if f.word && err == nil {
		for _, names := range numberNames {
			if slices.Contains(names, strings.ToLower(was)) && n < len(names) && names[n] != "" {
				return like(was, names[n])
			}
		}
	}
	if strings.Contains(was, ",") && n >= 1000 && n < 1_000_000 {
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	if strings.HasPrefix(was, "0") && len(was) > 1 {
		return "0" + value
	}
	return value
}

// renumber replaces the value from by to wherever text contains it.
func (s *subject) renumber(text, from, to string) string {
	all := told(text)
	slices.Reverse(all)
	for _, f := range all {
		if f.value == from {
			text = text[:f.start] + s.spell(f, text[f.start:f.end], to) + text[f.end:]
		}
	}
	return text
}

// invertedNumber changes a number of the draft everywhere in the return.
func invertedNumber(s *subject) error {
	near := s.near()
	for _, f := range shuffled(s, told(s.ret.DraftReply)) {
		to, ok := s.another(f, near)
		if !ok {
			continue
		}
		where := []string{"draft"}
		s.ret.DraftReply = s.renumber(s.ret.DraftReply, f.value, to)
		for i := range s.ret.EvidenceRefs {
			claim := &s.ret.EvidenceRefs[i].SupportsClaim
			if out := s.renumber(*claim, f.value, to); out != *claim {
				*claim, where = out, append(where, fmt.Sprintf("claim %d", i+1))
			}
		}
		if out := s.renumber(s.ret.SummaryForOrchestrator, f.value, to); out != s.ret.SummaryForOrchestrator {
			s.ret.SummaryForOrchestrator, where = out, append(where, "summary")
		}
		s.did(f.value+" → "+to, where...)
		s.mark.Decidable = slices.ContainsFunc(s.targets, func(t target) bool {
			return holds(t.cited(0)+"\n"+s.ret.EvidenceRefs[t.index].Quote, f)
		})
		return nil
	}
	return noPlace("the draft tells no number that could be another")
}
