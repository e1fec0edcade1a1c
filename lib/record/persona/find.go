package persona

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Find returns the persona of that id or name or, if there is none, the one whose keywords or role have the
// word. Two are an error that names both.
func Find(all []Persona, word string) (*Persona, error) {
	word = strings.ToLower(strings.TrimSpace(word))
	matches := []func(p *Persona) bool{
		func(p *Persona) bool { return p.ID == word },
		func(p *Persona) bool { return strings.ToLower(p.Name) == word },
		func(p *Persona) bool {
			return slices.ContainsFunc(p.Keywords, func(k string) bool { return strings.ToLower(k) == word })
		},
		func(p *Persona) bool {
			return len(word) > 1 && strings.Contains(spaced(strings.ToLower(p.Role)), spaced(word))
		},
	}
	for _, match := range matches {
		var found []*Persona
		for i := range all {
			if match(&all[i]) {
				found = append(found, &all[i])
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		names := make([]string, len(found))
		for i, p := range found {
			names[i] = fmt.Sprintf("%s (%s, %s)", p.Name, p.Role, p.ID[:8])
		}
		return nil, sysexit.With(sysexit.Usage,
			fmt.Errorf("%q is %s: name one by its id", text.Line(word, 60), strings.Join(names, " and ")))
	}
	return nil, sysexit.Hint(sysexit.With(sysexit.NoInput,
		fmt.Errorf("no persona is called %q", text.Line(word, 60))), "tri-panel list prints all")
}

// spaced returns words between single spaces, so that only whole words are found in it.
func spaced(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '/' || r == ',' || r == '-' })
	return " " + strings.Join(words, " ") + " "
}

// FindLens returns the lens of that name and its persona.
func FindLens(all []Persona, name string) (*Persona, *Lens, error) {
	var p *Persona
	var l *Lens
	for i := range all {
		for j := range all[i].Lenses {
			if all[i].Lenses[j].Name != name {
				continue
			}
			if p != nil {
				return nil, nil, sysexit.With(sysexit.Usage,
					fmt.Errorf("lens %q is of %s and of %s: rename one", name, p.Name, all[i].Name))
			}
			p, l = &all[i], &all[i].Lenses[j]
		}
	}
	if p == nil {
		return nil, nil, sysexit.Hint(sysexit.With(sysexit.Usage,
			fmt.Errorf("no lens is called %q", text.Line(name, 60))), "tri-panel list prints all")
	}
	if !p.Active {
		return nil, nil, sysexit.Hint(sysexit.With(sysexit.Config,
			fmt.Errorf("lens %q: %s is not active", name, p.Name)),
			"tri-panel edit --active yes "+text.Quote(p.Name))
	}
	return p, l, nil
}

// Triggers of a discussion.
const (
	Draft        = "draft"
	PRReview     = "pr_review"
	CodeWatch    = "code_watch"
	BuildFailure = "build_failure"
	Kickoff      = "prd_kickoff"
	IssueReview  = "issue_review"
)

//go:embed participants.json
var participants []byte

// Participants returns the active personas that a trigger asks, in order. Each word of the list is a name
// or a role: a renamed persona is still found.
func Participants(all []Persona, trigger string) ([]Persona, error) {
	var lists map[string][]string
	if err := json.Unmarshal(participants, &lists); err != nil {
		return nil, fmt.Errorf("participants: %w", err)
	}
	list, ok := lists[trigger]
	if !ok {
		list = lists["default"]
	}
	var out []Persona
	for _, word := range list {
		p, err := Find(all, word)
		if status, _ := sysexit.Of(err); status == sysexit.NoInput {
			continue // the team has no such persona
		}
		if err != nil {
			return nil, err
		}
		if p.Active && !slices.ContainsFunc(out, func(o Persona) bool { return o.ID == p.ID }) {
			out = append(out, *p)
		}
	}
	return out, nil
}

// Lead is the word that finds the persona that decides a discussion.
const Lead = "tech lead"
