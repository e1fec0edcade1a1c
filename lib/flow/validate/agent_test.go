package validate

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/prompt"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// says is an agent that gives back a value, through the checks that a real one
// goes through.
type says struct {
	value string
	err   error
	task  *agent.Task
}

func (s says) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	if s.task != nil {
		*s.task = t
	}
	if s.err != nil {
		return agent.Result{}, s.err
	}
	return agent.Result{Value: []byte(s.value), Model: "breaker-1"}, nil
}

func answer(t *testing.T, change map[string]any) string {
	t.Helper()
	v := map[string]any{
		"verdict": "pass", "reasons": []string{}, "spot_check_ref": "pay/retry.go:4",
		"spot_check_result": "supports", "spot_check_note": "It says 5.",
		"schema_check": "ok", "confidence_language_match": "match", "scope_drift": "none",
		"cross_investigation_consistency": "no_overlap",
		"risk_gate_check":                 "passes", "tone_assessment": "matches", "bounce_feedback": nil,
	}
	for k, x := range change {
		v[k] = x
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAgent(t *testing.T) {
	dir := codebase(t)
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		agent says
		want  string
		model string
	}{
		{"agrees", says{value: answer(t, nil)}, verdict.Pass, "breaker-1"},
		{"objects", says{value: answer(t, map[string]any{"verdict": "bounce", "reasons": []string{"vague"}, "bounce_feedback": "be exact"})}, verdict.Bounce, "breaker-1"},
		{"finds a lie", says{value: answer(t, map[string]any{"spot_check_result": "contradicts"})},
			verdict.Bounce, "breaker-1"},
		{"contradicts a thread",
			says{value: answer(t, map[string]any{"cross_investigation_consistency": "contradicts_k2"})},
			verdict.Escalate, "breaker-1"},
		{"talks nonsense", says{value: "I think it is fine!"}, verdict.Escalate, "code"},
		{"invents a verdict", says{value: answer(t, map[string]any{"verdict": "approved"})},
			verdict.Escalate, "code"},
		{"says it twice", says{value: strings.Replace(answer(t, nil), `{`, `{"verdict":"bounce",`, 1)},
			verdict.Escalate, "code"},
		{"fails", says{err: errors.New("exit status 1\x1b[2J")}, verdict.Escalate, "code"},
		{"finds nothing to say", says{err: agent.ErrNothing}, verdict.Escalate, "code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge(t, &Validator{Agent: c.agent, Prompts: prompts},
				Request{Return: good(), Codebase: dir})
			if got.Verdict != c.want || got.ValidatorModel != c.model {
				t.Errorf("got %s by %s %q, want %s by %s", got.Verdict, got.ValidatorModel, got.Reasons,
					c.want, c.model)
			}
			if want := map[bool]string{true: verdict.Validated,
				false: verdict.Nothing}[c.want == verdict.Pass]; got.Proved != want {
				t.Errorf("proved %s, want %s", got.Proved, want)
			}
			if (got.BounceFeedback != nil) != (c.want == verdict.Bounce) || len(got.Reasons) == 0 ||
				strings.Contains(strings.Join(got.Reasons, ""), "\x1b") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestAgentIsAskedLast: a draft refused by code costs no agent; one that passes is shown with its question
// and without the mark of a drill.
func TestAgentIsAskedLast(t *testing.T) {
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	var task agent.Task
	v := &Validator{Agent: says{value: answer(t, nil), task: &task}, Prompts: prompts}
	bad := good()
	bad.EvidenceRefs[0].Ref = "pay/gone.go:4"
	if got := judge(t, v, Request{Return: bad, Codebase: codebase(t)}); got.Verdict != verdict.Bounce ||
		task.Prompt != "" {
		t.Errorf("the agent was asked: %+v", got)
	}
	ret := good()
	ret.Drill = &draft.Drill{Fault: "none", Of: "42-of-the-drill"}
	got := judge(t, v, Request{Return: ret, Codebase: codebase(t), Rubric: "cite a line",
		Others: []Other{{"k9", "another conclusion"}}})
	for _, want := range []string{"break", ret.Question, "const MaxRetries = 5", "cite a line", "k9",
		"another conclusion"} {
		if !strings.Contains(task.Prompt, want) {
			t.Errorf("the prompt does not say %q", want)
		}
	}
	if strings.Contains(task.Prompt, "42-of-the-drill") {
		t.Error("the prompt tells that this is a drill")
	}
	if !reflect.DeepEqual(task.Tools, []string{"Read"}) || task.Check([]byte(`{}`)) == nil ||
		task.Check([]byte(answer(t, nil))) != nil {
		t.Errorf("task: %+v", task)
	}
	var schema struct {
		Required   []string
		Properties map[string]map[string]any
	}
	if err := json.Unmarshal(task.Schema, &schema); err != nil || len(schema.Required) != len(agentFields) ||
		len(schema.Properties) != len(agentFields) || len(schema.Properties["verdict"]) == 0 ||
		strings.Contains(string(task.Schema), "$ref") {
		t.Errorf("schema: %v %s", err, task.Schema)
	}
	if got.Drill == nil || got.Drill.Of != "42-of-the-drill" || ret.Question == "" {
		t.Errorf("drill %+v, question %q", got.Drill, ret.Question)
	}
}

func TestCancelled(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	v := &Validator{Agent: says{err: context.Canceled}, Prompts: prompts, Now: clock}
	if got, err := v.Run(ctx, Request{Return: good(), Codebase: codebase(t)}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestUndecidedIsAttacked: what code cannot decide is shown to the second agent, whose pass does not make it
// one.
func TestUndecidedIsAttacked(t *testing.T) {
	dir := codebase(t)
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	open := good()
	open.DraftReply, open.EvidenceRefs[0].SupportsClaim = "The moon decides about the tides of every charge.",
		"The moon decides about the charge."
	wanted := map[string]string{verdict.Pass: verdict.Escalate, verdict.Bounce: verdict.Bounce}
	for said, want := range wanted {
		var task agent.Task
		v := &Validator{Prompts: prompts, Agent: says{task: &task,
			value: answer(t, map[string]any{"verdict": said, "reasons": []string{"so"}})}}
		got := judge(t, v, Request{Return: open, Codebase: dir})
		if task.Prompt == "" || got.Verdict != want ||
			(got.Proved == verdict.Undecided) != (said == verdict.Pass) {
			t.Errorf("the agent says %s: %s, %s, asked: %v", said, got.Verdict, got.Proved, task.Prompt != "")
		}
	}
}
