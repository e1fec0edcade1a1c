package classify

import (
	"encoding/json"
	"fmt"
	"sync"

	"tri/lib/record/event"
)

// rule is a custom rule, compiled.
type rule struct {
	name   string
	when   Matcher
	set    map[string]any
	reason int // the reason that it holds; the next number is that it failed
	said   *sync.Once
}

func compileRules(o Options) ([]rule, error) {
	var rules []rule
	for i, r := range o.Config.Rules {
		where := fmt.Sprintf("classifier.rules[%d]", i)
		if r.Name == "" {
			return nil, fmt.Errorf("%s: name is missing", where)
		}
		if o.Compile == nil {
			return nil, fmt.Errorf("%s: no jq here", where)
		}
		when, err := o.Compile(r.When)
		if err != nil {
			return nil, fmt.Errorf("%s.when: %w", where, err)
		}
		if err := checkSet(r.Set); err != nil {
			return nil, fmt.Errorf("%s.set: %w", where, err)
		}
		rules = append(rules, rule{name: r.Name, when: when, set: r.Set, said: new(sync.Once)})
	}
	return rules, nil
}

func checkSet(values map[string]any) error {
	if len(values) == 0 {
		return fmt.Errorf("sets nothing")
	}
	for key, value := range values {
		ok := false
		switch key {
		case "is_bot_mention", "is_question", "is_ack_or_emoji", "is_internal_chatter",
			"mentions_thread_with_inflight":
			_, ok = value.(bool)
		case "classification":
			ok = value == event.Actionable || value == event.Ambient || value == event.Ack
		case "classifier_confidence":
			n, err := number(value)
			ok = err == nil && n >= 0 && n <= 1
		case "lang":
			_, ok = value.(string)
		default:
			return fmt.Errorf("%s is not a field of the classifier", key)
		}
		if !ok {
			return fmt.Errorf("%s cannot be %v", key, value)
		}
	}
	return nil
}

func number(v any) (float64, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	var n float64
	return n, json.Unmarshal(text, &n)
}

// isField reports whether the classifier writes a field of that name.
func isField(key []byte) bool {
	switch string(key) {
	case "is_bot_mention", "is_question", "is_ack_or_emoji", "is_internal_chatter",
		"mentions_thread_with_inflight",
		"classification", "classifier_confidence", "classifier_version", "classified_at", "reasons", "lang":
		return true
	}
	return false
}
