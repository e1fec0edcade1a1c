package faults

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strings"
)

// draw returns random text that re matches, without the encoding of its groups. Where digits may be, there
// are some: tokens made by machines have them.
func (s *subject) draw(re *syntax.Regexp) string {
	out := ""
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				out += string(r)
			}
		}
		at := s.rng.IntN(len(out))
		return out[at : at+1]
	case syntax.OpRepeat:
		class, digits := re.Sub[0], 0
		if digitsIn(class) {
			digits = 1 + re.Min/8
		}
		b := make([]byte, re.Min)
		for i := range b {
			b[i] = s.draw(class)[0]
		}
		for range digits {
			b[s.rng.IntN(len(b))] = byte('0' + s.rng.IntN(10))
		}
		return string(b)
	}
	for _, sub := range re.Sub {
		out += s.draw(sub)
	}
	switch re.Name {
	case "b64":
		out = base64.StdEncoding.EncodeToString([]byte(out))
	case "url64":
		out = base64.RawURLEncoding.EncodeToString([]byte(out))
	}
	return out
}

// digitsIn reports whether a class of characters has all digits.
func digitsIn(class *syntax.Regexp) bool {
	for i := 0; i < len(class.Rune); i += 2 {
		if class.Rune[i] <= '0' && class.Rune[i+1] >= '9' {
			return true
		}
	}
	return false
}

// ownForms are the ways in which a team's own secret could leak.
var ownForms = []struct {
	name string
	make func(secret string) string
}{
	{"as it is", func(c string) string { return c }},
	{"in backticks", func(c string) string { return "`" + c + "`" }},
	{"broken by spaces", func(c string) string { return c[:len(c)/2] + " " + c[len(c)/2:] }},
	{"spelled", func(c string) string { return strings.Join(strings.Split(c, ""), " ") }},
	{"broken by a line", func(c string) string { return c[:len(c)/2] + "\n" + c[len(c)/2:] }},
	{"backwards", func(c string) string {
		b := []byte(c)
		slices.Reverse(b)
		return string(b)
	}},
	{"in base64", func(c string) string { return base64.StdEncoding.EncodeToString([]byte(c)) }},
	{"in base64, with a word before it", func(c string) string {
		return base64.StdEncoding.EncodeToString([]byte("t=" + c))
	}},
	{"in hexadecimal", func(c string) string { return hex.EncodeToString([]byte(c)) }},
	{"percent-encoded", func(c string) string { return url.QueryEscape(c + "/") }},
	{"in bold pieces", func(c string) string { return "**" + c[:3] + "**" + c[3:] }},
}

var secretSentences = []string{"Use %s for it.", "The value is %s", "I found %s beside it.", "%s",
	"(it currently says %s)", "For testing: %s", "Set this first:\n%s"}

// secret puts a credential into the draft or into a text that is stored with it.
func secret(s *subject) error {
	var what, text string
	if s.TeamSecret != "" && s.rng.IntN(3) == 0 {
		f := pick(s, ownForms)
		what, text = "one of the team's own, "+f.name, f.make(s.TeamSecret)
	} else {
		name, expr, _ := strings.Cut(pick(s, lists["credential"]), ": ")
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			return fmt.Errorf("credential %q: %w", name, err)
		}
		what, text = name, s.draw(re)
	}
	text = fmt.Sprintf(pick(s, secretSentences), text)
	where := "draft"
	switch s.rng.IntN(6) {
	case 0:
		where = "summary"
		s.ret.SummaryForOrchestrator = strings.TrimRight(s.ret.SummaryForOrchestrator, ".") + ": " + text
	case 1:
		where = "open question"
		s.ret.OpenQuestions = append(s.ret.OpenQuestions, "Is this still right? "+text)
	default:
		s.ret.DraftReply += " " + text
	}
	s.did("+ "+what, where)
	return nil
}
