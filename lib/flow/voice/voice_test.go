package voice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/record/draft"
)

// model is an agent that answers with the result of say.
type model struct {
	say   func(original string) (string, error)
	calls int
}

func (m *model) Run(_ context.Context, t agent.Task) (agent.Result, error) {
	m.calls++
	said, err := m.say(t.Question)
	return agent.Result{Text: said, Model: "small", Usage: draft.Usage{InputTokens: 10}}, err
}

func speaker(t *testing.T, say func(string) (string, error)) (*Voice, *model) {
	t.Helper()
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	m := &model{say: say}
	now := time.Date(2026, 7, 3, 12, 0, 0, 0, time.UTC)
	return &Voice{Agent: m, Prompts: prompts, After: 30 * time.Minute, Drift: 0.6, Log: &Log{h},
		Now: func() time.Time { return now }}, m
}

func TestApply(t *testing.T) {
	fail := errors.New("no model")
	for _, c := range []struct {
		name     string
		ret      draft.Return
		say      string
		err      error
		want     string // the draft
		why      string
		rephrase bool
	}{
		{name: "honest", ret: draft.Return{DraftReply: "It does not retry.", DraftLanguage: "en"},
			say: "So it doesn't retry.", want: "So it doesn't retry.", rephrase: true},
		{name: "lying", ret: draft.Return{DraftReply: "It does not retry.", DraftLanguage: "en"},
			say: "It does retry.", want: "It does not retry.", why: "became"},
		{name: "failing", ret: draft.Return{DraftReply: "It does not retry.", DraftLanguage: "en"},
			err: fail, want: "It does not retry.", why: "no model"},
		{name: "silent", ret: draft.Return{DraftReply: "It does not retry.", DraftLanguage: "en"},
			say: " \n", want: "It does not retry.", why: "gave back nothing"},
		{name: "another language", ret: draft.Return{DraftReply: "Es sind drei.", DraftLanguage: "de"},
			say: "Drei.", want: "Es sind drei.", why: "no word lists"},
		{name: "an earlier answer", ret: draft.Return{DraftReply: "It is 3.", DraftLanguage: "en",
			Before: &draft.Before{}},
			say: "3", want: "It is 3."},
		{name: "asked long ago", ret: draft.Return{DraftReply: "It is 3.", DraftLanguage: "en",
			Question: "how  many\ntries?", AskedAt: "2026-07-03T11:29:00Z"},
			say: "It's 3.", want: "You asked: “how many tries?”\n\nIt's 3.", rephrase: true},
		{name: "asked lately", ret: draft.Return{DraftReply: "It is 3.", DraftLanguage: "en",
			Question: "how many?", AskedAt: "2026-07-03T11:31:00Z"},
			say: "It's 3.", want: "It's 3.", rephrase: true},
		{name: "a question that calls everybody",
			ret: draft.Return{DraftReply: "It is 3.", DraftLanguage: "en", Question: "@everyone how many?",
				AskedAt: "2026-07-03T01:00:00Z"},
			say: "It's 3.", want: "It's 3.", rephrase: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, _ := speaker(t, func(string) (string, error) { return c.say, c.err })
			ret, was := c.ret, c.ret.DraftReply
			if err := v.Apply(context.Background(), &ret, Run{Dir: t.TempDir(), SessionID: "s"}); err != nil {
				t.Fatal(err)
			}
			if ret.DraftReply != c.want {
				t.Errorf("got %q, want %q", ret.DraftReply, c.want)
			}
			if c.ret.Before != nil {
				return
			}
			if ret.Voice.Rephrased != c.rephrase || !strings.Contains(ret.Voice.Why, c.why) ||
				(c.why == "") != (ret.Voice.Why == "") {
				t.Errorf("voice: %+v", ret.Voice)
			}
			if changed := ret.DraftReply != was; changed != (ret.Voice.Original == was) {
				t.Errorf("the original is %q", ret.Voice.Original)
			}
		})
	}
}

// A model whose texts are mostly refused is not asked again until a score shows that it fits.
func TestSwitchesOff(t *testing.T) {
	lies := true
	v, m := speaker(t, func(s string) (string, error) {
		if lies {
			return s + " Surely.", nil
		}
		return "So " + s, nil
	})
	one := func() *draft.Return {
		ret := &draft.Return{DraftReply: "it is 3.", DraftLanguage: "en"}
		if err := v.Apply(context.Background(), ret, Run{Dir: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
		return ret
	}
	for range latest {
		one()
	}
	asked := m.calls
	if why := one().Voice.Why; m.calls != asked || !strings.Contains(why, "20 of its last 20") {
		t.Fatalf("asked %d times, %q", m.calls, why)
	}
	score := func(reference string) *Measured {
		line := fmt.Sprintf("{\"draft\":\"it is 3.\",\"reference\":%q}\n", reference)
		s := Stage{Voice: v, UUID: func() string { return "u" }}
		got, err := s.Score(context.Background(),
			stream.Input{Stdin: strings.NewReader(strings.Repeat(line, 8)), After: -1})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	lies = false
	if m := score("Nothing like this at all, ever"); m.OK || m.Distance != 1 {
		t.Errorf("%+v", m)
	}
	if why := one().Voice.Why; !strings.Contains(why, "its score is 1.00") {
		t.Errorf("a model far from the references is asked: %q", why)
	}
	if m := score("So it is 3."); !m.OK || m.Distance != 0 || m.KeptOf != 8 {
		t.Errorf("%+v", m)
	}
	if ret := one(); !ret.Voice.Rephrased {
		t.Errorf("a model that fits is not asked: %+v", ret.Voice)
	}
}

// The stage changes the fields of a voice and leaves every other byte.
func TestStage(t *testing.T) {
	v, _ := speaker(t, func(s string) (string, error) { return "Hey, " + s, nil })
	for _, c := range []struct{ name, in, want string }{
		{"rephrased", `{"x":1.50,"draft_reply":"it is 3.","draft_language":"en","cuts":[1],"more":{"a" : 2}}`,
			`{"x":1.50,"draft_reply":"Hey, it is 3.","draft_language":"en","more":{"a" : 2},"voice":{"original":"it is 3.","rephrased":true,"by":"small"}}`},
		{"nothing to do", `{"draft_reply":"","draft_language":"en","escalation_requested":true}`,
			`{"draft_reply":"","draft_language":"en","escalation_requested":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			s := Stage{Voice: v, UUID: func() string { return "u" }, Out: &out, Say: t.Logf}
			if err := s.Each(context.Background(),
				stream.Input{Stdin: strings.NewReader(c.in + "\n"), After: -1}); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(out.String()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	long := ""
	for i := range 12 {
		long += fmt.Sprintf("Sentence %d of ten words is what this says. ", i)
	}
	in, err := json.Marshal(draft.Return{DraftReply: long, DraftLanguage: "id"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := Stage{Voice: &Voice{Now: time.Now}, Out: &out, Say: t.Logf}
	if err := s.Each(context.Background(),
		stream.Input{Stdin: bytes.NewReader(append(in, '\n')), After: -1}); err != nil {
		t.Fatal(err)
	}
	var ret draft.Return
	if err := json.Unmarshal(out.Bytes(), &ret); err != nil || len(ret.Cuts) != 1 || ret.DraftReply != long {
		t.Errorf("%v: cuts %v", err, ret.Cuts)
	}
}
