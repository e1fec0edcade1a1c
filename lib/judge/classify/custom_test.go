package classify

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/stream"
)

func TestConfiguredWords(t *testing.T) {
	c := classifier(t, Options{Config: config.Classifier{
		AckPatterns: []string{`^(jos|ok|\w+ beres)\W*$`}, QuestionKeywords: []string{"Piye carane", "点解"},
	}})
	for text, want := range map[string]string{
		"JOS!!": "ack:pattern:0", "tugas beres": "ack:pattern:0", "ok 为坏了": "nothing-asked",
		"jos покоја":         "nothing-asked",
		"piye carane deploy": "question:word:piye carane", "点解坏了": "question:word:点解",
	} {
		if e := run(t, c, says(text))[0]; strings.Join(e.Reasons, " ") != want {
			t.Errorf("%q: %v, want %s", text, e.Reasons, want)
		}
	}
	c = classifier(t, Options{Config: config.Classifier{Languages: []string{"id"}}})
	if e := run(t, c, says("anyone know why"))[0]; e.IsQuestion {
		t.Error("a language that is not in use asked")
	}
}

type holds func(line []byte) (bool, error)

func (h holds) Match(line []byte) (bool, error) { return h(line) }

func TestCustomRules(t *testing.T) {
	compile := func(jq string) (Matcher, error) {
		return holds(func(line []byte) (bool, error) { return bytes.Contains(line, []byte(jq)), nil }), nil
	}
	c := classifier(t, Options{Compile: compile, Config: config.Classifier{Rules: []config.Rule{
		{Name: "bills", When: `invoice`, Set: map[string]any{"classification": "actionable",
			"classifier_confidence": 0.5}},
		{Name: "seen", When: `"classification":"actionable"`,
			Set: map[string]any{"lang": "xx", "is_question": true}},
	}}})
	e := run(t, c, says("here is the invoice"))[0]
	if e.Classification != "actionable" || e.ClassifierConfidence != 0.5 || e.Lang != "xx" || !e.IsQuestion ||
		!slices.Equal(e.Reasons, []string{"nothing-asked", "rule:bills", "rule:seen"}) {
		t.Errorf("got %+v", e)
	}
	for _, set := range []map[string]any{nil, {"content": "x"}, {"is_question": "yes"},
		{"classification": "maybe"}, {"classifier_confidence": 2}} {
		_, err := New(Options{Compile: compile,
			Config: config.Classifier{Rules: []config.Rule{{Name: "x", When: "y", Set: set}}}})
		if err == nil || !strings.Contains(err.Error(), "classifier.rules[0].set") {
			t.Errorf("%v: %v", set, err)
		}
	}
}

func TestBadConfiguration(t *testing.T) {
	for want, cfg := range map[string]config.Classifier{
		"classifier.languages":            {Languages: []string{"xx"}},
		"classifier.ack_patterns[0]":      {AckPatterns: []string{"("}},
		`\w and \W do not work inside []`: {AckPatterns: []string{`[\W]`}},
		"classifier.other_bots":           {OtherBots: "love"},
		"classifier.actionable_from":      {ActionableFrom: 401},
	} {
		if _, err := New(Options{Config: cfg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	plain := classifier(t, Options{}).version
	if plain != classifier(t, Options{}).version {
		t.Error("it changes by itself")
	}
	for _, o := range []Options{
		{Config: config.Classifier{QuestionKeywords: []string{"x"}}}, {Config: config.Classifier{BotID: "x"}},
		{Team: config.Team{Members: []string{"x"}}},
	} {
		if classifier(t, o).version == plain {
			t.Errorf("%+v does not change it", o)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := sources.Open(f); err != nil && !strings.HasSuffix(f, "_test.go") && f != "explain.go" &&
			f != "reason.go" && f != "rules.go" {
			t.Errorf("%s judges but is not part of the version", f)
		}
	}
}

// TestExplain: words for people, nothing raw on their terminal.
func TestExplain(t *testing.T) {
	var out bytes.Buffer
	c := classifier(t, Options{})
	_, err := stream.Run(t.Context(),
		stream.Input{Stdin: strings.NewReader(says("where is \x1b[31m it?\nhm")), After: -1},
		stream.Output{Stdout: &out}, c.Explain())
	if err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "\x1b") || !strings.HasPrefix(s, "ana: where is ") ||
		!strings.Contains(s,
			"\n    actionable (0.95, language en): it has a question mark; the words \"where is\" ask\n") {
		t.Errorf("got %q", s)
	}
}
