// Package autoreply computes from the record of decisions whether automatic replies have been earned: how
// often a draft that passed validation was wrong. It only computes; approving and announcing automatic
// replies are done by other packages.
package autoreply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/query"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// Policy is the configuration of automatic replies.
type Policy struct {
	Enabled bool
	// Told is whether there is a channel in which each reply is announced.
	Told  bool
	Hours Hours

	never, production []rule
}

type rule struct {
	name string
	when *query.Condition
}

// New returns the policy of a configuration.
func New(cfg *config.Config) (*Policy, error) {
	a := &cfg.AutoReply
	p := &Policy{Enabled: a.Enabled, Told: cfg.Gate.Chat.ChatID != ""}
	var err error
	if p.Hours, err = parseHours(a.Hours, a.Zone); err != nil {
		return nil, fmt.Errorf("auto_reply: hours: %w", err)
	}
	if p.never, err = compile(a.Never); err != nil {
		return nil, fmt.Errorf("auto_reply: never: %w", err)
	}
	if p.production, err = compile(a.Production); err != nil {
		return nil, fmt.Errorf("auto_reply: production: %w", err)
	}
	return p, nil
}

func compile(conditions []config.Condition) ([]rule, error) {
	var rules []rule
	for _, c := range conditions {
		when, err := query.CompileCondition(c.When)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		rules = append(rules, rule{c.Name, when})
	}
	return rules, nil
}

// Rules returns the names of the rules, for questions that are never answered automatically and for those
// that touch production, that hold for a classified event. A rule that fails counts as holding: it fails
// closed.
func (p *Policy) Rules(line []byte, content string) (never, production []string) {
	return matches(p.never, line, content), matches(p.production, line, content)
}

func matches(rules []rule, line []byte, content string) (names []string) {
	for _, r := range rules {
		if holds, err := r.when.Match(line, content); holds || err != nil {
			names = append(names, r.name)
		}
	}
	return names
}

// HasProduction reports whether the configuration has rules for what touches production; otherwise that is
// unknown.
func (p *Policy) HasProduction() bool { return len(p.production) > 0 }

// Asked holds what the policy needs of a message that was taken up.
type Asked struct {
	Key        string
	MessageID  string
	At         time.Time
	Mention    bool   // is_bot_mention
	Type       string // question_type
	Never      []string
	Production []string
}

// Judged is the result of investigator and validator for a draft.
type Judged struct {
	Confidence string
	Round      int
	Verdict    string
	Risk       string // risk_gate_check
}

// Condition is one of the preconditions of an automatic reply.
type Condition struct {
	Name  string `json:"name"`
	Holds bool   `json:"holds"`
	Why   string `json:"why"` // why it holds or does not
}

// Preconditions returns all seven preconditions, for a draft that would be posted at a given time.
func (p *Policy) Preconditions(a Asked, j Judged, at time.Time) []Condition {
	allowed := slices.Contains([]string{thread.TechnicalQA, thread.APIContract, thread.DataLookup}, a.Type)
	kind := a.Type
	if len(a.Never) > 0 {
		kind += ", never: " + strings.Join(a.Never, ", ")
	}
	told := "in gate.chat"
	if !p.Told {
		told = "gate.chat is not set: nobody would be told"
	}
	return []Condition{
		{"mention", a.Mention, said(a.Mention, "we were mentioned", "we were not mentioned")},
		{"confidence", j.Confidence == "high", "confidence is " + cmp.Or(j.Confidence, "unknown")},
		{"first-round", j.Verdict == verdict.Pass && j.Round == 1,
			fmt.Sprintf("%s in round %d", cmp.Or(j.Verdict, "no verdict"), j.Round)},
		{"risk", j.Risk == verdict.Passes, "the risk gate says " + cmp.Or(j.Risk, "nothing")},
		{"question-type", allowed && len(a.Never) == 0, cmp.Or(kind, "unknown")},
		{"hours", p.Hours.Hold(at), p.Hours.say(at)},
		{"told", p.Told, told},
	}
}

// Hold reports whether all conditions hold.
func Hold(conditions []Condition) bool {
	return !slices.ContainsFunc(conditions, func(c Condition) bool { return !c.Holds })
}

func said(yes bool, then, otherwise string) string {
	if yes {
		return then
	}
	return otherwise
}
