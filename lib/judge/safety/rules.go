package safety

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tri/lib/base/lazyregexp"
)

//go:embed rules.tsv
var table string

// rule is a pattern that recognizes a secret.
type rule struct {
	name    string
	near    []string // the text must contain one of these, in lower case, before re is tried
	entropy float64  // minimum bits per character of a secret
	group   int      // of the expression; 0: the first that matched, or all
	re, not *lazyregexp.Pattern
	shaped  bool // recognized by its own form, not by a name beside it
}

// Parts that many expressions of gitleaks share: a name, an assignment, and the end of the value.
var common = strings.NewReplacer(
	"<near>", `(?i)[\w.-]{0,50}?(?:`,
	"<is>", `)(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(`,
	"<end>", `(?:[\x60'"\s;]|\\[nr]|$)`,
)

// rules are the rules of rules.tsv, whose format a test checks. An expression is compiled when a text
// contains one of the rule's words.
var rules = sync.OnceValue(func() (all []rule) {
	for line := range strings.Lines(table) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 5 {
			continue // a comment
		}
		r := rule{name: f[0], re: lazyregexp.New(common.Replace(f[4])),
			shaped: !strings.Contains(f[4], "<near>") && !strings.HasPrefix(f[0], "password")}
		r.entropy, _ = strconv.ParseFloat(f[1], 64)
		r.group, _ = strconv.Atoi(f[2])
		for _, word := range strings.Fields(f[3]) {
			r.near = append(r.near, word)
			if blank := strings.ReplaceAll(word, "_", " "); blank != word {
				r.near = append(r.near, blank)
			}
		}
		if len(f) > 5 {
			r.not = lazyregexp.New(f[5])
		}
		all = append(all, r)
	}
	return all
})

// searched is a text prepared for the rules. Most of their words are in no text, which a test of their
// first three letters shows at once.
type searched struct {
	text, lower string
	begins      [1 << 10]uint64 // hash set of all sequences of three bytes
}

func search(text string) *searched {
	s := &searched{text: text, lower: strings.ToLower(text)}
	for i := 2; i < len(s.lower); i++ {
		h := three(s.lower[i-2:])
		s.begins[h>>6] |= 1 << (h & 63)
	}
	return s
}

func three(s string) uint16 { return uint16(s[0])*961 + uint16(s[1])*31 + uint16(s[2]) }

func (s *searched) has(word string) bool {
	if len(word) > 2 {
		if h := three(word); s.begins[h>>6]&(1<<(h&63)) == 0 {
			return false
		}
	}
	return strings.Contains(s.lower, word)
}

// find returns the first secret of the rule in a text, except those for which pass holds; "" if there is
// none.
func (r *rule) find(in *searched, pass func(secret string) bool) string {
	if !slices.ContainsFunc(r.near, in.has) {
		return ""
	}
	return r.first(in.text, pass)
}

// first is find in a text that contains one of the rule's words.
func (r *rule) first(text string, pass func(secret string) bool) string {
	for _, m := range r.re.FindAllStringSubmatch(text, 100) {
		secret := m[0]
		if r.group < len(m) && r.group > 0 && m[r.group] != "" {
			secret = m[r.group]
		} else if i := slices.IndexFunc(m[1:], func(s string) bool { return s != "" }); i >= 0 {
			secret = m[1+i]
		}
		if entropy(secret) >= r.entropy && !placeholder(secret) && !pass(secret) &&
			(r.not == nil || !r.not.MatchString(secret)) {
			return secret
		}
	}
	return ""
}

// placeholder reports whether a value is a placeholder.
func placeholder(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "null", "none", "password", "changeme":
		return true
	}
	return strings.Trim(s, s[:1]) == "" || strings.HasPrefix(s, "$") && !strings.Contains(s[1:], "$") ||
		strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "<") ||
		strings.HasPrefix(s, "%") && strings.HasSuffix(s, "%") || strings.Contains(s, "...")
}

// entropy returns the entropy of a text, in bits per character.
func entropy(s string) (bits float64) {
	counts, n := map[rune]int{}, 0
	for _, r := range s {
		counts[r]++
		n++
	}
	for _, c := range counts {
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}
