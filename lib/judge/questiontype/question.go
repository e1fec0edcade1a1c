// Package questiontype classifies a question and estimates how long an answer takes, by rules. The rules
// are data, one file per language; rules/README describes their format.
package questiontype

import (
	"cmp"
	"embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"tri/lib/judge/pattern"
)

//go:embed rules/*.txt
var files embed.FS

var sections = pattern.Sections{
	"why": false, "status_check": false, "api_contract": false, "data_lookup": false, "other": false,
	"problem": false,
	"minutes": true,
}

var rules = sync.OnceValue(func() pattern.Set {
	set, err := pattern.Load(files, "rules", sections)
	if err != nil {
		panic(err) // the files are embedded, and a test reads them
	}
	return set
})

// Kinds of question.
const (
	Technical   = "technical_qa"
	StatusCheck = "status_check"
	DataLookup  = "data_lookup"
	APIContract = "api_contract"
	Other       = "other"
)

// Kind is the result of the rules for a message.
type Kind struct {
	Type    string
	Reason  string   // the rule that decided the type: "status:is-it-down"
	Minutes float64  // expected time for an answer, 1 to 60
	Because []string // the summands of Minutes: "status 3", "intermittent +4"
}

// kinds gives each kind its name in reasons, and the expected minutes if nothing more is known, for the
// choice between a run here and a long one.
var kinds = map[string]struct {
	short   string
	minutes float64
}{
	Technical: {"technical", 5}, StatusCheck: {"status", 3}, DataLookup: {"data", 4},
	APIContract: {"contract", 4}, Other: {"other", 3},
}

// order is the order in which sections are tried: a question for a cause wants an explanation, whatever
// broke, and a question about a contract may also ask "how many".
var order = []struct{ section, kind string }{
	{"why", Technical}, {"status_check", StatusCheck}, {"api_contract", APIContract},
	{"data_lookup", DataLookup}, {"other", Other},
}

// Judge classifies a message. asks says whether it is known to be a question; otherwise it may still
// report a problem.
func Judge(content string, asks bool) Kind {
	text := pattern.Plain(content)
	kind, reason := classify(text, content, asks)
	k := Kind{Type: kind, Reason: reason}
	k.Minutes, k.Because = minutes(text, content, kind)
	return k
}

// Minutes returns the expected time for a question of a known kind, with its summands.
func Minutes(content, kind string) (float64, []string) {
	return minutes(pattern.Plain(content), content, kind)
}

func classify(text, content string, asks bool) (kind, reason string) {
	for _, o := range order {
		if r := rules().First(o.section, text); r != nil {
			return o.kind, kinds[o.kind].short + ":" + r.Name
		}
	}
	switch r := rules().First("problem", text); {
	case asks:
		return Technical, "technical:asks"
	case r != nil:
		return Technical, "technical:" + r.Name
	case strings.Contains(content, "`"):
		return Technical, "technical:code"
	case long(text):
		return Technical, "technical:tells"
	}
	return Other, "other:asks-nothing"
}

// long reports whether a message has some content: more than eight words, or as much in a script without
// spaces.
func long(text string) bool {
	return strings.Count(text, " ") > 8 || len(text) > 2*utf8.RuneCountInString(text) &&
		utf8.RuneCountInString(text) > 20
}

func minutes(text, content, kind string) (float64, []string) {
	k := kinds[kind]
	sum := cmp.Or(k.minutes, kinds[Other].minutes)
	because := []string{cmp.Or(k.short, kind) + " " + number(sum)}
	seen := map[string]bool{}
	for _, r := range rules()["minutes"] {
		sign, _, _ := strings.Cut(r.Name, ".")
		if !seen[sign] && r.Match(text) {
			seen[sign] = true
			sum += r.Weight
			because = append(because, r.Name+" "+signed(r.Weight))
		}
	}
	for _, s := range shapes {
		if s.has(text, content) {
			sum += s.minutes
			because = append(because, s.name+" "+signed(s.minutes))
		}
	}
	return min(max(sum, 1), 60), because
}

// shapes are signs other than words.
var shapes = []struct {
	name    string
	minutes float64
	has     func(text, content string) bool
}{
	{"pasted", 2, func(_, content string) bool {
		return strings.Contains(content, "```") || strings.Count(content, "\n") >= 10
	}},
	{"several-questions", 2, func(text, _ string) bool {
		return strings.Count(text, "?")+strings.Count(text, "？") >= 3
	}},
	{"long-text", 2, func(text, _ string) bool { return utf8.RuneCountInString(text) > 600 }},
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func signed(f float64) string {
	if f < 0 {
		return number(f)
	}
	return "+" + number(f)
}
