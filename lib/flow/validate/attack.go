package validate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tri/lib/agent"
	"tri/lib/base/ndjson"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/text"
	"tri/lib/record/verdict"
	"tri/schemas"
)

// tools are the tools of the second agent: it reads the cited lines, and does not repeat the research.
var tools = []string{"Read"}

// attack has the second agent try to refute the draft.
func (v *Validator) attack(ctx context.Context, r Request) (*verdict.Verdict, error) {
	if v.Prompts == nil {
		return nil, errors.New("it has no prompts")
	}
	schema, err := wanted()
	if err != nil {
		return nil, err
	}
	shown := *r.Return
	// Drill would tell the reviewer that this is a test, and the question and rubric are in the prompt
	// already.
	shown.Drill, shown.Usage, shown.Question, shown.Rubric = nil, nil, "", ""
	ret, err := json.MarshalIndent(shown, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write return: %w", err)
	}
	words, err := v.Prompts.Render("validate.md", map[string]any{
		"Return": prompt.Quote("return", string(ret)), "Rubric": r.Rubric,
		"Question": prompt.Quote("question", r.Question), "Others": r.Others,
	})
	if err != nil {
		return nil, err
	}
	res, err := v.Agent.Run(ctx, agent.Task{
		Prompt: words, Question: r.Question, Codebase: r.Codebase, Schema: schema, Tools: tools,
		Check:  func(value []byte) error { _, err := read(value); return err },
		Repair: v.Prompts.Repair,
		Dir:    r.RunDir, SessionID: r.SessionID, Hold: r.Hold,
	})
	if err != nil {
		return nil, err
	}
	said, err := read(res.Value)
	if err != nil {
		return nil, fmt.Errorf("agent's verdict: %w", err)
	}
	said.ValidatorModel, said.Usage = cmp.Or(res.Model, "agent"), &res.Usage
	return said, nil
}

// alone returns what the second agent says of a return of a drill. Without a valid verdict it returns an
// error: silence is no fault that was found.
func (v *Validator) alone(ctx context.Context, r Request) (*verdict.Verdict, error) {
	if r.Return.Drill == nil {
		return nil, stream.Refuse("it is not of tri-drill: code checks every other return")
	}
	said, err := v.attack(ctx, r)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, stream.Refuse("the reviewing agent gave no verdict: %w", err)
	}
	out, drill := verdict.Alone(*said), *r.Return.Drill
	drill.Alone = true
	out.Drill, out.ValidatedAt = &drill, text.Timestamp(v.Now())
	return &out, nil
}

// read parses an agent's value into a verdict, and clears the fields that an agent may not set.
func read(value []byte) (*verdict.Verdict, error) {
	if err := ndjson.Check(value); err != nil {
		return nil, err
	}
	v := new(verdict.Verdict)
	if err := json.Unmarshal(value, v); err != nil {
		return nil, err
	}
	v.Checks, v.Drill, v.Usage, v.ValidatorModel, v.ValidatedAt = nil, nil, nil, "", ""
	return v, v.Check()
}

// wanted returns the verdict's schema without the fields that only code writes.
func wanted() ([]byte, error) {
	file, err := schemas.Read("verdict")
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	var schema map[string]any
	if err := json.Unmarshal(file, &schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	properties, _ := schema["properties"].(map[string]any)
	required := []string{}
	for _, name := range agentFields {
		if properties[name] == nil {
			return nil, fmt.Errorf("schema of a verdict has no %s", name)
		}
		required = append(required, name)
	}
	kept := map[string]any{}
	for _, name := range required {
		kept[name] = properties[name]
	}
	return json.Marshal(map[string]any{
		"title": "verdict", "type": "object", "additionalProperties": false, "required": required,
		"properties": kept,
	})
}

// agentFields are the verdict's fields that an agent fills.
var agentFields = []string{
	"verdict", "reasons", "spot_check_ref", "spot_check_result", "spot_check_note", "schema_check",
	"confidence_language_match",
	"scope_drift", "cross_investigation_consistency", "risk_gate_check", "tone_assessment", "bounce_feedback",
}
