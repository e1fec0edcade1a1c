package steer

import (
	"strings"

	"tri/lib/agent"
	"tri/lib/base/prompt"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// maxWords of all words together in a prompt, and maxWord of one, in bytes.
const (
	maxWord  = 16 << 10
	allWords = 128 << 10
)

// told is the data of the templates steer-word.md, steer-resume.md and steer-again.md.
type told struct {
	Words []quoted
	Why   string       // the leg before ended
	Read  *prompt.Text // a file a line; nil: nothing
	Tools *prompt.Text // a call a line
	Said  *prompt.Text
}

// quoted is a word for a template.
type quoted struct {
	Kind string
	By   string
	Text prompt.Text
}

// word renders a word for a program that takes it while it works.
func (l *legs) word(w run.Word) agent.Word {
	body, err := l.a.Prompts.Render("steer-word.md", told{Words: quote([]run.Word{w})})
	if err != nil { // of a broken overridden template
		body = prompt.Fence("word", w.Text)
	}
	return agent.Word{ID: w.ID, Kind: w.Kind, Text: strings.TrimSpace(body)}
}

func quote(words []run.Word) (all []quoted) {
	most := min(maxWord, allWords/max(1, len(words)))
	for _, w := range words {
		if w.Kind != run.Stop {
			all = append(all, quoted{w.Kind, w.By, prompt.Quote("word", w.Text).Most(most)})
		}
	}
	return all
}

// prompt returns the prompt of a leg. The caller holds mu.
func (l *legs) prompt(resume bool) (string, error) {
	data := told{Words: quote(l.words), Why: l.why}
	switch {
	case !l.again && len(data.Words) == 0:
		return l.task.Prompt, nil
	case !l.again:
		rest, err := l.a.Prompts.Render("steer-word.md", data)
		return l.task.Prompt + "\n" + rest, err
	case resume && l.task.Resume:
		// The session is older than this run: a program that was killed may not have kept the run's prompt.
		rest, err := l.a.Prompts.Render("steer-resume.md", data)
		return l.task.Prompt + "\n" + rest, err
	case resume:
		return l.a.Prompts.Render("steer-resume.md", data)
	}
	var read, tools []string
	for _, r := range l.read {
		name, state := r.Path, "unchanged since"
		if r.Lines != "" {
			name += ":" + r.Lines
		}
		if !l.stamps.stands(r) {
			state = "changed since: read it again"
		}
		read = append(read, name+" ("+state+")")
	}
	for _, u := range l.tools[max(0, len(l.tools)-20):] {
		tools = append(tools, text.Line(u.Tool+" "+u.On, 200))
	}
	data.Read, data.Tools = optional("files read", strings.Join(read, "\n")),
		optional("tool calls", strings.Join(tools, "\n"))
	data.Said = optional("earlier words", l.said)
	rest, err := l.a.Prompts.Render("steer-again.md", data)
	return l.task.Prompt + "\n" + rest, err
}

// optional returns a fenced text, nil for none.
func optional(label, body string) *prompt.Text {
	if body == "" {
		return nil
	}
	t := prompt.Quote(label, body).Most(maxWord)
	return &t
}
