// Package notice is a form with typed holes: a short text of which a person has approved every rendering,
// since no hole takes words of a person, a model, a file or a chat.
package notice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// MaxForm is the length of a form, in characters.
const MaxForm = 120

// Names of the forms that tri-dispatch asks for.
const (
	Begun  = "begun"  // work on a question has begun
	Status = "status" // somebody asked how it goes
	More   = "more"   // a writer greeted, and then said nothing
	Ack    = "ack_n"  // as begun, on several questions of one asker
	Review = "review" // there is an answer, which waits for a person

	Redirect = "redirect" // the asker replaced the request, and work continues with that
	Cancel   = "cancel"   // the asker withdrew it, and work has ended
	Snag     = "snag"     // work has failed, and an operator sees it
	Working  = "working"  // work takes more than a minute; edited in place until its end
)

// Forms are the texts that are proposed for approval. A team may approve others.
var Forms = map[string]string{
	Begun:  "On it.",
	Ack:    "On it, {tasks} things.",
	Review: "There is an answer; a person reviews it first.",
	More:   "Is there more to it?",
	Status: "It is {state}: {minutes} min so far, {files} files read.",

	Redirect: "Only that, then.",
	Cancel:   "Stopped.",
	Snag:     "Something went wrong here. It will be looked at.",
	Working:  "This takes longer. It is {state}: {minutes} min so far, {files} files read.",
}

// filled are the holes for which tri-dispatch has a value.
var filled = map[string][]string{
	Ack: {"{tasks}"}, Status: {"{state}", "{minutes}", "{files}", "{when}"},
	Working: {"{state}", "{minutes}", "{files}", "{when}"},
}

// States are the only words of the hole {state}.
var States = []string{"queued", "running", "waiting", "done", "failed"}

// Holes are the values of a form's holes.
type Holes struct {
	State   string `json:"state,omitempty"`   // one of States
	Minutes int    `json:"minutes,omitempty"` // 0 to 999
	Files   int    `json:"files,omitempty"`   // 0 to 9999
	Tasks   int    `json:"tasks,omitempty"`   // 1 to 5
	When    int    `json:"when,omitempty"`    // minutes ago, 0 to a month
}

// holes are the kinds of hole: how a value is shown, or "" if it is out of range, and the extremes.
var holes = map[string]struct {
	show     func(Holes) string
	extremes []Holes
}{
	"{state}": {func(h Holes) string {
		if slices.Contains(States, h.State) {
			return h.State
		}
		return ""
	}, states()},
	"{minutes}": {func(h Holes) string {
		return number(h.Minutes, 0, 999)
	}, []Holes{{Minutes: 0}, {Minutes: 999}}},
	"{files}": {func(h Holes) string {
		return number(h.Files, 0, 9999)
	}, []Holes{{Files: 0}, {Files: 9999}}},
	"{tasks}": {func(h Holes) string { return number(h.Tasks, 1, 5) }, []Holes{{Tasks: 1}, {Tasks: 5}}},
	"{when}": {func(h Holes) string {
		return ago(h.When)
	}, []Holes{{When: 0}, {When: 59}, {When: 23 * 60}, {When: Month}}},
}

// Month is the most that {when} says, in minutes.
const Month = 31 * 24 * 60

func states() (all []Holes) {
	for _, s := range States {
		all = append(all, Holes{State: s})
	}
	return all
}

func number(n, least, most int) string {
	if n < least || n > most {
		return ""
	}
	return strconv.Itoa(n)
}

func ago(minutes int) string {
	switch {
	case minutes < 0 || minutes > Month:
		return ""
	case minutes < 1:
		return "just now"
	case minutes < 60:
		return text.Count(minutes, "minute") + " ago"
	case minutes < 24*60:
		return text.Count(minutes/60, "hour") + " ago"
	}
	return text.Count(minutes/(24*60), "day") + " ago"
}

var (
	hole = lazyregexp.New(`\{[^{}]*\}?|\}`)
	name = lazyregexp.New(`^[a-z][a-z_]{0,19}$`)
)

// Check returns what is wrong with a form and its name, nil if it may be approved.
func Check(called, form string) error {
	switch {
	case !name.MatchString(called):
		return fmt.Errorf("notice %q: a name is of a to z and _, at most 20", text.Line(called, 30))
	case strings.TrimSpace(form) == "" || form != strings.TrimSpace(form):
		return fmt.Errorf("notice %q: the text is empty, or has blanks around it", called)
	case utf8.RuneCountInString(form) > MaxForm:
		return fmt.Errorf("notice %q: %d characters, at most %d", called,
			utf8.RuneCountInString(form), MaxForm)
	case !utf8.ValidString(form) || text.Visible(form) != form || strings.Contains(form, "\n"):
		return fmt.Errorf("notice %q: it is not one line of visible characters", called)
	}
	for _, h := range hole.FindAllString(form, -1) {
		if _, ok := holes[h]; !ok {
			return fmt.Errorf("notice %q: there is no hole %q", called, h)
		}
	}
	return nil
}

// Filled returns an error if a form has a hole for which tri-dispatch has no value in a notice of that name.
func Filled(called, form string) error {
	for _, h := range hole.FindAllString(form, -1) {
		if Forms[called] != "" && !slices.Contains(filled[called], h) {
			return fmt.Errorf("notice %q: nothing fills %q in it", called, h)
		}
	}
	return nil
}

// Render fills the holes of a form. A value out of its range is an error.
func Render(form string, h Holes) (string, error) {
	var fault error
	out := hole.ReplaceAllStringFunc(form, func(at string) string {
		k, ok := holes[at]
		said := ""
		if ok {
			said = k.show(h)
		}
		if said == "" && fault == nil {
			fault = fmt.Errorf("notice: %s has no value that may be shown", at)
		}
		return said
	})
	return out, fault
}

// Extremes returns a form with the extreme values of its holes, all of one hole after the other: who has
// read them has read every text that the form can give.
func Extremes(form string) (all []string) {
	base := Holes{State: States[0], Tasks: 1}
	for _, at := range slices.Compact(hole.FindAllString(form, -1)) {
		for _, v := range holes[at].extremes {
			h := base
			switch at {
			case "{state}":
				h.State = v.State
			case "{minutes}":
				h.Minutes = v.Minutes
			case "{files}":
				h.Files = v.Files
			case "{tasks}":
				h.Tasks = v.Tasks
			case "{when}":
				h.When = v.When
			}
			if s, err := Render(form, h); err == nil && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	if all == nil {
		all = []string{form}
	}
	return all
}

// Limits of notices, which are counted by their times in the log.
const (
	PerItem  = 3 // in PerSpan, for one item
	PerSpan  = time.Hour
	ChatRest = 20 * time.Second // between two in one chat
	Lifetime = 2 * time.Minute  // after which one is not posted any more
	EditRest = 20 * time.Second // between two texts of one that is edited
)
