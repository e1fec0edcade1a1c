package investigate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
	"tri/lib/record/thread"
	"tri/schemas"
)

// Limits on the contents of a prompt. The newest or best items are kept.
const (
	maxMessages  = 20
	maxContext   = 20
	maxNotes     = 10
	maxHints     = 12
	maxKnowledge = 6
	maxPlaces    = 6 // of a search

	// Bytes of each item.
	maxQuestion = 6000
	maxSaid     = 2000 // context, notes
	maxHint     = 1500
	maxFound    = 2400 // results of a search
	maxFeedback = 6000
)

// told is the data of investigate.md and investigate-resume.md. All outside text is a prompt.Text.
type told struct {
	Type, Rubric, Language, Schema                     string
	Round, MaxRefs, MaxSummarySentences, MaxDraftWords int
	MaxNotesWords                                      int
	Messages, Context, Notes, Feedback, Earlier, Hints []prompt.Text
}

func (i *Investigator) prompt(ctx context.Context, r Request, rubric, schema,
	template string) (string, error) {
	t := r.Thread
	data := told{
		Type: t.QuestionType, Rubric: rubric, Language: i.Language, Schema: schema, Round: round(t),
		MaxRefs: draft.MaxRefs, MaxSummarySentences: draft.MaxSummarySentences,
		MaxDraftWords: draft.MaxDraftWords, MaxNotesWords: draft.MaxNotesWords,
		Messages: said("question", last(t.Messages, maxMessages), maxQuestion),
		Context:  said("context", last(t.Context, maxContext), maxSaid),
	}
	if data.Type == "" {
		data.Type = thread.Other
	}
	if data.Language == "" {
		data.Language = "en"
	}
	for _, n := range last(t.Notes, maxNotes) {
		data.Notes = append(data.Notes, prompt.Quote("operator", n.Text).Most(maxSaid))
	}
	if t.BounceFeedback != "" {
		data.Feedback = append(data.Feedback, prompt.Quote("feedback", t.BounceFeedback).Most(maxFeedback))
	}
	if t.EarlierDraft != "" {
		data.Earlier = append(data.Earlier, prompt.Quote("draft", t.EarlierDraft).Most(maxFeedback))
	}
	for _, h := range i.searched(ctx, r.Codebase, withNotes(t)) {
		data.Hints = append(data.Hints, prompt.Quote("hint", h.Source+"\n"+h.Text).Most(maxFound))
	}
	hints := slices.Concat(r.Hints[:min(len(r.Hints), maxHints)], i.knowledge(ctx, withNotes(t)))
	for _, h := range hints {
		data.Hints = append(data.Hints, prompt.Quote("hint", h.Source+"\n"+h.Text).Most(maxHint))
	}
	return i.Prompts.Render(template, data)
}

// said turns messages into fenced text that names the sender.
func said(label string, messages []thread.Message, most int) []prompt.Text {
	var out []prompt.Text
	for _, m := range messages {
		if m.Deleted {
			continue
		}
		who := m.SenderName
		if who == "" {
			who = m.SenderID
		}
		out = append(out, prompt.Quote(label,
			fmt.Sprintf("from %s, %s:\n%s", oneLine(who), oneLine(m.At), m.Said())).Most(most))
	}
	return out
}

func oneLine(s string) string { return prompt.Cut(strings.Join(strings.Fields(s), " "), 100) }

func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// wanted returns the schema of a return without the fields that an agent must not write.
var wanted = sync.OnceValues(func() ([]byte, error) {
	text, err := schemas.Read("return")
	if err != nil {
		return nil, sysexit.With(sysexit.Software, fmt.Errorf("schema of a return: %w", err))
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, sysexit.With(sysexit.Software, fmt.Errorf("schema of a return: %w", err))
	}
	delete(schema, "$id")
	delete(schema, "description") // describes who writes each field; the agent sees only its own
	prune(schema)
	return json.Marshal(schema)
})

// prune removes the properties marked readOnly from a schema, and the definitions that only they used.
func prune(node any) {
	switch node := node.(type) {
	case []any:
		for _, v := range node {
			prune(v)
		}
	case map[string]any:
		if properties, ok := node["properties"].(map[string]any); ok {
			for name, v := range properties {
				if p, ok := v.(map[string]any); ok && p["readOnly"] == true {
					delete(properties, name)
				}
			}
		}
		for _, v := range node {
			prune(v)
		}
	}
	schema, ok := node.(map[string]any)
	if defs, has := schema["$defs"].(map[string]any); ok && has {
		for name := range defs {
			text, err := json.Marshal(schema)
			if err == nil && !strings.Contains(string(text), `"#/$defs/`+name+`"`) {
				delete(defs, name)
			}
		}
	}
}
