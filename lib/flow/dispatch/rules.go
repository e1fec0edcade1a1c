package dispatch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/prompt"
	"tri/lib/base/query"
	"tri/lib/judge/questiontype"
	"tri/lib/judge/relation"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// rules decide, without a model, what kind of question a message is, which rubric its answer must meet,
// whether the operator is asked first, and how long the work will take.
type rules struct {
	types   []typeRule
	asks    []askRule
	prompts *prompt.Set
	own     []string
	chat    config.GateChat  // the operators' channel
	long    float64          // minutes from which work is tier 2; 0: never
	always  []string         // question types that are tier 2
	names   map[place]string // of watched chats that the configuration names
}

// place identifies a chat of a platform.
type place struct{ platform, chatID string }

// typeRule is an entry of the configuration's question_types. These are tried before the rules of
// lib/judge/questiontype.
type typeRule struct {
	config.QuestionType
	reason string // config:NAME
	when   *query.Condition
}

type askRule struct {
	config.AskFirst
	when *query.Condition
}

// newRules compiles the rules of a configuration.
func newRules(cfg *config.Config, prompts *prompt.Set) (*rules, error) {
	r := &rules{prompts: prompts, chat: cfg.Gate.Chat, names: map[place]string{},
		own: append([]string{cfg.Classifier.BotID, cfg.Chat.Local.BotName}, cfg.Classifier.BotIDs...)}
	for _, c := range cfg.WatchedChats {
		if c.Name != "" {
			r.names[place{c.Platform, c.ChatID}] = c.Name
		}
	}
	if cfg.Escalation.Enabled {
		r.long, r.always = cfg.Escalation.ExpectedRuntimeMinThreshold, cfg.Escalation.QuestionTypes
	}
	for i, q := range cfg.QuestionTypes {
		reason := "config:" + cmp.Or(q.Name, strconv.Itoa(i+1))
		when, err := query.CompileCondition(q.When)
		if err != nil {
			return nil, fmt.Errorf("question type %s: %w", reason, err)
		}
		r.types = append(r.types, typeRule{q, reason, when})
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

// operators reports whether an event comes from the operators' channel. Messages there are addressed to
// the pipeline and are not questions.
func (r *rules) operators(e *event.Classified) bool {
	return r.chat.ChatID != "" && e.Platform == r.chat.Platform && e.ChatID == r.chat.ChatID
}

// facts returns what the rules find in an event. second is the intent that a model prefers, "" if none
// was asked.
func (r *rules) facts(e *event.Classified, second string, o Options) (*thread.Facts, error) {
	f := &thread.Facts{QuestionType: thread.Other, Tier: 1, ExpectedMin: 5}
	f.Own = e.Sender.Type == "bot" && e.Sender.ID != "" && slices.Contains(r.own, e.Sender.ID)
	f.NeverMind = relation.Withdraws(e.Content, r.named(e))
	if r.want(f, e, second, o); e.Classification != event.Actionable && f.Intent == "" || f.Own {
		return f, nil
	}
	if !o.Shadow { // a trial may use old messages
		f.Refuse = tooOld(e, o.Now(), o.Config.Dispatch.MaxQuestionAgeH)
	}
	if f.Codebase = o.Config.CodebaseFor(e.Platform, e.ChatID); f.Codebase == "" {
		f.Codebase = o.Codebase
	}
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("apply rules: %w", err)
	}
	r.kind(f, e, line, o)
	for _, a := range r.asks {
		if ok, err := a.when.Match(line, e.Content); err != nil {
			o.Say("ask_first %q: %v", a.Name, err)
		} else if ok && f.Ask == "" {
			f.Ask = a.Question
			break
		}
	}
	if f.Intent == thread.CodeChange {
		f.Rubric, err = r.prompts.Rubric(f.QuestionType)
		return f, err // a run of tri-box is not an investigation, and has no longer one
	}
	if r.long > 0 && f.ExpectedMin >= r.long || slices.Contains(r.always, f.QuestionType) {
		f.Tier = 2
	}
	f.Rubric, err = r.prompts.Rubric(f.QuestionType)
	return f, err
}

// named returns the names by which somebody may be addressed in an event.
func (r *rules) named(e *event.Classified) relation.Names {
	other := func(id string) bool { return !slices.Contains(r.own, id) }
	return relation.Names{Bot: r.own, People: e.Mentions,
		ToBot: e.IsBotMention && len(e.Mentions) > 0 && !slices.ContainsFunc(e.Mentions, other)}
}

// tooOld says why an event may not open a thread, or "" if it is at most most hours old.
func tooOld(e *event.Classified, now time.Time, most float64) string {
	if at := e.ChangedAt(); at.IsZero() || now.Sub(at).Hours() <= most {
		return ""
	}
	return fmt.Sprintf("it was older than %g hours when it was read (dispatch.max_question_age_h)", most)
}

// kind sets the question type of the event and the expected time.
func (r *rules) kind(f *thread.Facts, e *event.Classified, line []byte, o Options) {
	k := questiontype.Judge(e.Content, e.IsQuestion)
	f.QuestionType, f.TypeReason, f.ExpectedMin, f.ExpectedBecause = k.Type, k.Reason, k.Minutes, k.Because
	for _, t := range r.types {
		ok, err := t.when.Match(line, e.Content)
		if err != nil {
			o.Say("question type %s: %v", t.reason, err)
		}
		if err != nil || !ok {
			continue
		}
		f.QuestionType, f.TypeReason = t.Type, t.reason
		if f.ExpectedMin, f.ExpectedBecause = t.ExpectedMin, []string{t.reason}; t.ExpectedMin == 0 {
			f.ExpectedMin, f.ExpectedBecause = questiontype.Minutes(e.Content, t.Type)
		}
		return
	}
}
