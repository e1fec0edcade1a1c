// Package intent says what a person wants of an inbox: it sums the weights of rules in eight languages,
// and returns the best intent with its runner-up and the rules that matched. rules/README has the format.
package intent

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tri/lib/judge/pattern"
)

// Intents.
const (
	Research     = "research"
	CodeChange   = "code_change"
	Organize     = "organize"
	Question     = "question"
	Reminder     = "reminder"
	Todo         = "todo"
	TodoCheck    = "todo_check"
	TodoComplete = "todo_complete"
	Other        = "other"
)

// Names are all intents, the safest first: it wins a tie.
var Names = []string{Question, Other, Research, Organize, TodoCheck, Todo, Reminder, TodoComplete, CodeChange}

// acts are the intents that change something: they need a strong rule, and a message to no other person.
var acts = []string{CodeChange, Reminder, Todo, TodoComplete}

// Weights of facts that no rule of a pack finds.
const (
	strong    = 8
	asks      = 5
	elsewhere = 15
)

// Message is what a person wrote to an inbox.
type Message struct {
	Text      string
	Asks      bool // the classifier takes it for a question
	Elsewhere bool // it is addressed to another person
}

// Intent is the result of the rules for a message.
type Intent struct {
	Name    string
	Score   int
	Next    string   // the runner-up, "" if no other intent has a score
	Margin  int      // Score less that of Next
	Reasons []string // the rules of Name that matched, with their weights: "todo:add-to-list +14"
	Large   bool     // a code change that is large

	large bool // it would be, as a code change
}

//go:embed rules/*.txt
var files embed.FS

var sections = func() pattern.Sections {
	s := pattern.Sections{"large": false}
	for _, name := range Names {
		s[name] = true
	}
	return s
}()

var rules = sync.OnceValue(func() pattern.Set {
	set, err := pattern.Load(files, "rules", sections)
	if err != nil {
		panic(err) // embedded, and read by every test
	}
	return set
})

// sum is the score of one intent.
type sum struct {
	name    string
	score   int
	most    int // the highest weight
	reasons []string
}

func (s *sum) add(rule string, weight int) {
	s.score, s.most = s.score+weight, max(s.most, weight)
	s.reasons = append(s.reasons, fmt.Sprintf("%s:%s +%d", s.name, rule, weight))
}

// Judge returns the intent of a message. It is Other if no rule matches.
func Judge(m Message) Intent {
	text := pattern.Plain(m.Text)
	var sums []sum
	for _, name := range Names {
		s := sum{name: name}
		switch {
		case name == Question && m.Asks:
			s.add("asks", asks)
		case name == Other && m.Elsewhere:
			s.add("to-another", elsewhere)
		}
		seen := map[string]bool{}
		for _, r := range rules()[name] {
			rule, _, _ := strings.Cut(r.Name, ".")
			if !seen[rule] && r.Match(text) {
				seen[rule] = true
				s.add(r.Name, int(r.Weight))
			}
		}
		if !slices.Contains(acts, name) || s.most >= strong && !m.Elsewhere {
			sums = append(sums, s)
		}
	}
	slices.SortStableFunc(sums, func(a, b sum) int { return cmp.Compare(b.score, a.score) })
	best, next := sums[0], sums[1]
	if best.score == 0 {
		return Intent{Name: Other}
	}
	in := Intent{Name: best.name, Score: best.score, Margin: best.score - next.score, Reasons: best.reasons}
	if next.score > 0 {
		in.Next = next.name
	}
	if r := rules().First("large", text); r != nil {
		in.large = true
		if in.Large = in.Name == CodeChange; in.Large {
			in.Reasons = append(in.Reasons, "large:"+r.Name)
		}
	}
	return in
}

// Prefer returns the intent after a second opinion, which counts if it names one of the two best, or Other.
// Anything else but "" is only noted. What is preferred to the best has no margin.
func (in Intent) Prefer(second string) Intent {
	switch second {
	case "":
		return in
	case in.Name, "failed", "no-budget":
	case in.Next, Other:
		best, next := in.Score, in.Score-in.Margin
		if second != in.Next {
			next = 0
		}
		in.Name, in.Next, in.Score, in.Margin, in.Reasons = second, in.Name, next, next-best, nil
		in.Large = second == CodeChange && in.large
	default:
		second = "no-choice"
	}
	in.Reasons = append(slices.Clone(in.Reasons), "model:"+second)
	return in
}
