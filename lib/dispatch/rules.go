package dispatch

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"tri/lib/config"
	"tri/lib/event"
	"tri/lib/prompt"
	"tri/lib/query"
	"tri/lib/thread"
)

// rules decide, without a model, what kind of question a message is, which
// rubric its answer must meet, whether the operator is asked first, and how long
// the work will take.
type rules struct {
	types   []typeRule
	asks    []askRule
	prompts *prompt.Set
	own     []string
	long    float64 // minutes from which work is tier 2; 0: never
}

type typeRule struct {
	config.QuestionType
	when *query.Condition
}

type askRule struct {
	config.AskFirst
	when *query.Condition
}

// builtin are tried in order after the configuration's own. A question that none
// fits is technical, anything else other. Minutes are what such a question takes
// an agent, for the choice of tier alone.
var builtin = []config.QuestionType{
	{Type: thread.StatusCheck, ExpectedMin: 3, When: `(?i)\b(is|are|was)\b.{0,40}\b(down|up|broken|slow|stuck|live|deployed|released|merged)\b|\b(status|eta|outage|incident)\b|\bany (news|update)\b|\b(udah|sudah) (live|deploy|rilis|naik)\b`},
	{Type: thread.APIContract, ExpectedMin: 3, When: `(?i)\b(endpoint|payload|request body|response (code|body)|status code|webhook|api|schema|field|header|parameter|proto)\b`},
	{Type: thread.DataLookup, ExpectedMin: 5, When: `(?i)\b(how many|how much|count of|number of|which (users?|customers?|accounts?|orders?)|list of|berapa)\b`},
}

// neverMind is how people take a question back.
var neverMind = regexp.MustCompile(`(?i)^\W*(never ?mind|nvm|nm|ignore (that|me|this)|scratch that|found it|figured it out|solved( it)?|sorted( it)?|(ga|gak|nggak|tidak) jadi|udah (ketemu|beres)|解決しました|大丈夫です|自己解決)\b?`)

// newRules compiles the rules of a configuration.
func newRules(cfg *config.Config, prompts *prompt.Set) (*rules, error) {
	r := &rules{prompts: prompts, own: append([]string{cfg.Classifier.BotID, cfg.Chat.Local.BotName}, cfg.Classifier.BotIDs...)}
	if cfg.Escalation.Enabled {
		r.long = cfg.Escalation.ExpectedRuntimeMinThreshold
	}
	for _, q := range append(slices.Clone(cfg.QuestionTypes), builtin...) {
		when, err := query.CompileCondition(q.When)
		if err != nil {
			return nil, fmt.Errorf("question type %s: %w", q.Type, err)
		}
		r.types = append(r.types, typeRule{q, when})
	}
	for _, a := range cfg.AskFirst {
		when, err := query.CompileCondition(a.When)
		if err != nil {
			return nil, fmt.Errorf("ask_first %q: %w", a.Name, err)
		}
		r.asks = append(r.asks, askRule{a, when})
	}
	return r, nil
}

// facts are what the rules say of an event.
func (r *rules) facts(e *event.Classified, o Options) (*thread.Facts, error) {
	f := &thread.Facts{QuestionType: thread.Other, Tier: 1, ExpectedMin: 5}
	f.Own = e.Sender.Type == "bot" && e.Sender.ID != "" && slices.Contains(r.own, e.Sender.ID)
	f.NeverMind = neverMind.MatchString(e.Content)
	if e.Classification != event.Actionable || f.Own {
		return f, nil
	}
	if f.Codebase = o.Config.CodebaseFor(e.Platform, e.ChatID); f.Codebase == "" {
		f.Codebase = o.Codebase
	}
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("apply rules: %w", err)
	}
	if e.IsQuestion {
		f.QuestionType = thread.TechnicalQA
	}
	for _, t := range r.types {
		if ok, err := t.when.Match(line, e.Content); err != nil {
			o.Say("question type %s: %v", t.Type, err)
		} else if ok {
			f.QuestionType, f.ExpectedMin = t.Type, t.ExpectedMin
			break
		}
	}
	for _, a := range r.asks {
		if ok, err := a.when.Match(line, e.Content); err != nil {
			o.Say("ask_first %q: %v", a.Name, err)
		} else if ok {
			f.Ask = a.Question
			break
		}
	}
	if r.long > 0 && f.ExpectedMin >= r.long {
		f.Tier = 2
	}
	f.Rubric, err = r.prompts.Rubric(f.QuestionType)
	return f, err
}
