package classify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/stream"
)

func contains(jq string) (Matcher, error) {
	if jq == "broken" {
		return nil, errors.New("broken")
	}
	return holds(func(line []byte) (bool, error) {
		if jq == "fails" {
			return false, errors.New("as it must")
		}
		return bytes.Contains(line, []byte(jq)), nil
	}), nil
}

// TestReasonsInWords: every reason has a description, by number and from its record.
func TestReasonsInWords(t *testing.T) {
	c := classifier(t, Options{Compile: contains, Config: config.Classifier{
		AckPatterns: []string{"^jos$", "^yo$"}, QuestionKeywords: []string{"piye carane"},
		Rules: []config.Rule{{Name: "bills", When: "x", Set: map[string]any{"is_question": true}},
			{Name: "seen", When: "y", Set: map[string]any{"is_question": true}}},
	}})
	st := c.state()
	seen := map[string]int{}
	for n := range len(c.reasons) + len(c.lex.phrases) {
		var text string
		if err := json.Unmarshal(st.appendReason(nil, n), &text); err != nil || text == "" {
			t.Fatalf("reason %d is %q, %v", n, text, err)
		}
		words := c.inWords(n)
		if words == "" || words == text || words != InWords(text) {
			t.Errorf("reason %d, %s, is %q by number and %q by name", n, text, words, InWords(text))
		}
		seen[words] = n
	}
	for _, words := range []string{`the words "piye carane" ask`,
		"ack_patterns[1] of the configuration matches", `the rule "bills" of the configuration holds`,
		`the rule "seen" of the configuration failed`} {
		if _, ok := seen[words]; !ok {
			t.Errorf("nothing is told as %s", words)
		}
	}
	for _, strange := range []string{"", "x", "sign:none", "question:", "rules:x"} {
		if got := InWords(strange); got != strange {
			t.Errorf("%q is told as %q", strange, got)
		}
	}
	if got := c.inWords(len(c.reasons) + len(c.lex.phrases)); got != "" {
		t.Errorf("a reason that is none is %q", got)
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "abc": "abc", "a  b\n\tc": "a b c", "abcdefgh": "abcde…", "abcde": "abcde",
		"👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧": "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧…",
		"a\x1bb": "a<U+001B>b", "a\xffb": "ab", strings.Repeat(" ", 300) + "late": "",
	} {
		if got := oneLine(in, 5); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestExplainNames: a message is shown with its writer's name, if the chat gave one, and without control
// characters.
func TestExplainNames(t *testing.T) {
	for name, want := range map[string]string{"mira": "mira: hm\n", "": "U0MIRA: hm\n",
		`\u001b[31m`: "<U+001B>[31m: hm\n"} {
		in := `{"platform":"p","chat_id":"c","chat_name":"c","message_id":"m","create_time":"2026-01-01T00:00:00Z",` +
			`"msg_type":"text","content":"hm","thread_id":null,"sender":{"id":"U0MIRA","type":"user","name":"` + name +
			`"},"mentions":[]}` + "\n"
		var out bytes.Buffer
		if _, err := stream.Run(t.Context(), stream.Input{Stdin: strings.NewReader(in), After: -1},
			stream.Output{Stdout: &out}, classifier(t, Options{}).Explain()); err != nil ||
			!strings.HasPrefix(out.String(), want) {
			t.Errorf("%q: %q, %v", name, out.String(), err)
		}
	}
}

// TestRuleThatFails: it does not hold, is reported once, and the message keeps what other rules have set.
func TestRuleThatFails(t *testing.T) {
	var said []string
	o := Options{Compile: contains, Say: func(f string, a ...any) {
		said = append(said, fmt.Sprintf(f, a...))
	}, Config: config.Classifier{Rules: []config.Rule{
		{Name: "bills", When: "invoice", Set: map[string]any{"lang": "xx", "classifier_confidence": 0.25}},
		{Name: "sick", When: "fails", Set: map[string]any{"is_question": true}},
		{Name: "other", When: "nothing like it", Set: map[string]any{"is_ack_or_emoji": true}},
	}}}
	c := classifier(t, o)
	for _, e := range run(t, c, says("here is the invoice")+says("the invoice again")) {
		if got := strings.Join(e.Reasons[len(e.Reasons)-2:], " "); got != "rule:bills rule-failed:sick" ||
			e.Lang != "xx" || e.ClassifierConfidence != 0.25 || e.IsQuestion || e.IsAckOrEmoji {
			t.Errorf("%+v", e)
		}
	}
	if len(said) != 1 || said[0] != `rule "sick" does not hold where it fails: as it must` {
		t.Errorf("said %q", said)
	}
	o.Say = nil
	if e := run(t, classifier(t, o), says("hm"))[0]; e.Reasons[len(e.Reasons)-1] != "rule-failed:sick" ||
		len(e.Reasons) != 2 {
		t.Errorf("%+v", e)
	}
}

func TestRulesOfAConfiguration(t *testing.T) {
	cfg := &config.Config{}
	cfg.Classifier.Rules = []config.Rule{{Name: "bills", When: "invoice",
		Set: map[string]any{"classification": "actionable"}}}
	filter, err := Rules(cfg, contains)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := filter(t.Context(), stream.Input{Stdin: strings.NewReader(says("the invoice")), After: -1},
		&out); err != nil || !strings.Contains(out.String(), `"classification":"actionable"`) {
		t.Errorf("%s, %v", out.String(), err)
	}
	for want, rule := range map[string]config.Rule{
		"classifier.rules[0]: name is missing": {When: "x", Set: map[string]any{"lang": "x"}},
		"classifier.rules[0].when: broken": {Name: "x", When: "broken",
			Set: map[string]any{"lang": "x"}},
		"classifier.rules[0].set: sets nothing": {Name: "x", When: "y"},
		"classifier.rules[0].set: classifier_confidence cannot be NaN": {Name: "x", When: "y",
			Set: map[string]any{"classifier_confidence": math.NaN()}},
		"classifier.rules[0].set: classifier_confidence cannot be -0.1": {Name: "x", When: "y",
			Set: map[string]any{"classifier_confidence": -0.1}},
		"classifier.rules[0].set: lang cannot be 5": {Name: "x", When: "y",
			Set: map[string]any{"lang": 5}},
		"classifier.rules[0].set: version is not a field of the classifier": {Name: "x", When: "y",
			Set: map[string]any{"version": 5}},
	} {
		cfg.Classifier.Rules[0] = rule
		if _, err := Rules(cfg, contains); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, ok := range []any{0, 1, 0.5} {
		cfg.Classifier.Rules[0] = config.Rule{Name: "x", When: "y",
			Set: map[string]any{"classifier_confidence": ok, "is_bot_mention": false}}
		if _, err := Rules(cfg, contains); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	cfg.Classifier.Rules[0].Name = "x"
	if _, err := Rules(cfg, nil); err == nil || err.Error() != "classifier.rules[0]: no jq here" {
		t.Errorf("%v", err)
	}
}

// TestResumed: messages after a restart are judged as without one.
func TestResumed(t *testing.T) {
	var in strings.Builder
	for _, l := range append(chatter(80, 200), criss()...) {
		in.WriteString(l.event())
	}
	dir := t.TempDir()
	from := filepath.Join(dir, "events")
	if err := os.WriteFile(from, []byte(in.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := classifier(t, Options{})
	for _, make := range []func() stream.Stage[Event]{c.Stage, c.Explain} {
		var whole bytes.Buffer
		if _, err := stream.Run(t.Context(), stream.Input{Files: []string{from}, After: -1},
			stream.Output{Stdout: &whole}, make()); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(in.String(), "\n"), "\n")
		for _, k := range []int{1, 40, len(lines) - 30} {
			var e struct{ Seq int64 }
			if err := json.Unmarshal([]byte(lines[k-1]), &e); err != nil {
				t.Fatal(err)
			}
			var rest bytes.Buffer
			if _, err := stream.Run(t.Context(),
				stream.Input{Files: []string{from}, After: e.Seq, Window: Window},
				stream.Output{Stdout: &rest}, make()); err != nil {
				t.Fatal(err)
			}
			if rest.Len() == 0 || !strings.HasSuffix(whole.String(), rest.String()) {
				t.Errorf("behind record %d it goes on otherwise: %.200s", k, rest.String())
			}
		}
	}
}
