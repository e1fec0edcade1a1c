package validate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"tri/lib/agent/lens"
	"tri/lib/base/prompt"
	"tri/lib/record/draft"
	"tri/lib/record/persona"
	"tri/lib/record/verdict"
)

// looks asks the lenses that look at a draft of this question type.
func (v *Validator) looks(ctx context.Context, r Request) ([]verdict.Look, error) {
	if v.Room == nil {
		return nil, nil
	}
	names := v.Lenses
	if len(names) == 0 {
		names = v.Room.Config.Panel.Lenses.For(r.QuestionType)
	}
	if len(names) == 0 {
		return nil, nil
	}
	s, err := Subject(r.Return, r.Question, r.Codebase)
	if err != nil {
		return nil, err
	}
	s.Key, s.Person = r.Key, r.Person
	if s.Ref == "" {
		s.Ref = r.Key
	}
	return v.Room.Look(ctx, s, names)
}

// Subject returns a return as personas judge it: without what would tell them that it is a test.
func Subject(ret *draft.Return, question, codebase string) (lens.Subject, error) {
	shown := *ret
	shown.Drill, shown.Usage, shown.Question, shown.Rubric = nil, nil, "", ""
	b, err := json.MarshalIndent(shown, "", " ")
	if err != nil {
		return lens.Subject{}, fmt.Errorf("write return: %w", err)
	}
	sum := sha256.Sum256(append(b, question...))
	return lens.Subject{
		Trigger: persona.Draft, SHA256: hex.EncodeToString(sum[:]), Words: ret.DraftReply, Codebase: codebase,
		Drill: ret.Drill,
		Parts: []prompt.Text{prompt.Quote("question", question), prompt.Quote("return", string(b))},
	}, nil
}
