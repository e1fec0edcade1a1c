package verdict

import (
	"strings"
	"testing"

	"tri/lib/record/draft"
)

func good() Facts {
	return Facts{Confidence: draft.High, Refs: []Ref{{Ref: "a.go:1", Result: Supports, Note: "it is there"}},
		Drift: None, Other: NoOverlap}
}

func TestCompute(t *testing.T) {
	ref := func(results ...string) func(*Facts) {
		return func(f *Facts) {
			f.Refs = nil
			for i, r := range results {
				f.Refs = append(f.Refs, Ref{Ref: "f.go:" + string(rune('1'+i)), Result: r, Note: "seen"})
			}
		}
	}
	risky := func(confidence string, results ...string) func(*Facts) {
		return func(f *Facts) {
			ref(results...)(f)
			f.Confidence, f.Risks = confidence, []string{"a rollback"}
		}
	}
	for _, c := range []struct {
		name   string
		hurt   func(*Facts)
		want   string
		reason string
		field  func(Verdict) string
		value  string
	}{
		{"good", func(*Facts) {}, Pass, "no contradiction: 1 of 1 reference", func(v Verdict) string {
			return v.SpotCheckResult
		}, Supports},
		{"uncheckable beside support", ref(Supports, Uncheckable), Pass, "", func(v Verdict) string {
			return v.SpotCheckRef
		}, "f.go:2"},
		{"uncheckable alone", ref(Uncheckable), Escalate, "no reference", func(v Verdict) string {
			return v.SpotCheckResult
		}, Uncheckable},
		{"uncheckable twice", ref(Uncheckable, Uncheckable), Escalate, "no reference", nil, ""},
		{"one of three fabricated", ref(Supports, Fabricated, Supports), Bounce,
			"reference 2, f.go:2, is fabricated", func(v Verdict) string { return v.SpotCheckRef }, "f.go:2"},
		{"one of three contradicts", ref(Supports, Supports, Contradicts), Bounce, "reference 3",
			func(v Verdict) string { return v.SpotCheckResult }, Contradicts},
		{"the worst is named", ref(Contradicts, Fabricated, Uncheckable), Bounce, "", func(v Verdict) string {
			return v.SpotCheckRef
		}, "f.go:2"},
		{"nothing cited", ref(), Escalate, "nothing is cited", func(v Verdict) string {
			return v.SpotCheckResult
		}, Uncheckable},
		{"schema", func(f *Facts) {
			f.Schema = "draft_reply: has 400 words"
		}, Bounce, "400 words", func(v Verdict) string { return v.SchemaCheck }, Fail},
		{"secret", func(f *Facts) {
			f.Unsafe = []draft.Problem{{Name: "secret", Note: "a token", Fatal: true}}
		}, Bounce, "a token", nil, ""},
		{"remark", func(f *Facts) {
			f.Unsafe = []draft.Problem{{Name: "url", Note: "an address"}}
		}, Pass, "", nil, ""},
		{"untraced", func(f *Facts) { f.Untraced = []string{"MaxTries"} }, Escalate, `"MaxTries"`,
			func(v Verdict) string { return v.Proved }, Undecided},
		{"lines that no reference cites", func(f *Facts) { f.Uncited = []string{"a.go:9"} }, Bounce, `"a.go:9"`,
			nil, ""},
		{"a claim that names what its lines do not have", func(f *Facts) {
			f.Refs = append(f.Refs, Ref{Ref: "a.go:2", Result: Uncheckable, Note: "no 7", Lacks: []string{"7"}})
		}, Escalate, "no 7", func(v Verdict) string { return v.Proved }, Undecided},
		{"a file that cannot be read", func(f *Facts) { f.Unread = `"a.go": input/output error` }, Escalate,
			"is not decided: \"a.go\": input/output error", func(v Verdict) string { return v.Proved }, Undecided},
		{"everyday words", func(f *Facts) { f.Everyday = true }, Escalate, "other places",
			func(v Verdict) string { return v.Proved }, Undecided},
		{"wording", func(f *Facts) {
			f.Misjudged = []string{"definitely"}
		}, Escalate, "definitely", func(v Verdict) string { return v.ConfidenceLanguageMatch }, Mismatch},
		{"smell", func(f *Facts) {
			f.Smells = []string{"happy to help"}
		}, Bounce, "happy", func(v Verdict) string { return v.ToneAssessment }, AISmell},
		{"risk, high, all supports", risky(draft.High, Supports, Supports), Pass, "", func(v Verdict) string {
			return v.RiskGateCheck
		}, Passes},
		{"risk, high, one uncheckable", risky(draft.High, Supports, Uncheckable), Escalate, "a rollback",
			func(v Verdict) string { return v.RiskGateCheck }, NeedsHigh},
		{"risk, medium", risky(draft.Medium, Supports), Bounce, "a rollback", func(v Verdict) string {
			return v.RiskGateCheck
		}, Fails},
		{"risk, low", risky(draft.Low, Supports), Bounce, "a rollback", func(v Verdict) string {
			return v.RiskGateCheck
		}, Fails},
		{"risk, made-up confidence", risky("HIGH", Supports), Bounce, "a rollback", func(v Verdict) string {
			return v.RiskGateCheck
		}, Fails},
		{"minor drift", func(f *Facts) {
			f.Drift = Minor
		}, Pass, "", func(v Verdict) string { return v.ScopeDrift }, Minor},
		{"major drift", func(f *Facts) {
			f.Drift, f.DriftNote = Major, "nothing of retries"
		}, Escalate, "nothing of retries", func(v Verdict) string { return v.Proved }, Undecided},
		{"contradicts a thread", func(f *Facts) {
			f.Other = "contradicts_slack-c1"
		}, Escalate, "slack-c1", func(v Verdict) string {
			return v.CrossInvestigationConsistency
		}, "contradicts_slack-c1"},
		{"no draft", func(f *Facts) {
			f.Empty, f.Asks = true, "needs the log"
		}, Escalate, "needs the log", nil, ""},
		{"asks, with a draft", func(f *Facts) { f.Asks = "needs the log" }, Pass, "", nil, ""},
		{"bounce and escalate", func(f *Facts) {
			f.Smells, f.Other = []string{"x"}, "contradicts_k"
		}, Escalate, "", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := good()
			c.hurt(&f)
			v := Compute(f)
			if v.Verdict != c.want || !strings.Contains(strings.Join(v.Reasons, "\n"), c.reason) {
				t.Errorf("got %s %q, want %s %q", v.Verdict, v.Reasons, c.want, c.reason)
			}
			if c.field != nil && c.field(v) != c.value {
				t.Errorf("got %q, want %q", c.field(v), c.value)
			}
			if (v.BounceFeedback != nil) != (c.want == Bounce) {
				t.Errorf("feedback %v beside %s", v.BounceFeedback, v.Verdict)
			}
			if c.want == Bounce && !strings.HasPrefix(*v.BounceFeedback, "1. ") {
				t.Errorf("feedback %q", *v.BounceFeedback)
			}
			if v.implied() != Pass && v.Verdict == Pass {
				t.Errorf("passes against its own fields: %+v", v)
			}
			v.ValidatorModel = "code"
			if err := v.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUndecided: where code proves neither a cover nor a fault, a person must judge, and whatever an agent
// says of such a draft it does not pass.
func TestUndecided(t *testing.T) {
	open := good()
	open.Refs = []Ref{{Ref: "f.go:1", Result: Uncheckable, Stands: true, Share: 0.4}}
	open.Sentences = []Sentence{{Text: "It waits.", State: Unbacked, Share: 0.4}}
	v := Compute(open)
	if v.Verdict != Escalate || v.Proved != Undecided || v.Badge() !=
		"not decided, 0 of 1 sentence covered, 0 of 1 reference confirmed" || v.BounceFeedback != nil {
		t.Errorf("%s %s %q", v.Verdict, v.Proved, v.Badge())
	}
	wrong := open
	wrong.Uncited = []string{"a.go:9"}
	if v := Compute(wrong); v.Verdict != Bounce || v.Proved != Nothing ||
		!strings.Contains(*v.BounceFeedback, "a.go:9") || !strings.Contains(*v.BounceFeedback, "Cite at least") {
		t.Errorf("a fault beside it: %s %s %s", v.Verdict, v.Proved, *v.BounceFeedback)
	}
	apart := open
	apart.Other = Contradicting + "slack-c1"
	if v := Compute(apart); v.Verdict != Escalate || v.Proved != Nothing {
		t.Errorf("another thread contradicts it: %s %s", v.Verdict, v.Proved)
	}
	for said, want := range map[string]string{Pass: Undecided, Bounce: Nothing, Escalate: Nothing} {
		agent := Compute(good())
		agent.Verdict, agent.Reasons, agent.ValidatorModel = said, []string{"so I say"}, "m"
		got := Worse(v, agent)
		wanted := said
		if said == Pass {
			wanted = Escalate
		}
		if got.Verdict != wanted || got.Proved != want || got.implied() == Pass && said == Bounce &&
			got.BounceFeedback == nil {
			t.Errorf("the agent says %s: %s, %s", said, got.Verdict, got.Proved)
		}
		if said == Pass && !strings.HasPrefix(got.Badge(), "not decided, 0 of 1 sentence covered, attacked by m, ") {
			t.Errorf("%q", got.Badge())
		}
	}
}

// TestWorse goes through every pair of verdict and field: nothing an agent says
// makes the outcome better than code's.
func TestWorse(t *testing.T) {
	agree := func() Verdict {
		v := Compute(good())
		v.Checks, v.ValidatorModel = nil, "model"
		return v
	}
	for _, c := range []struct {
		name string
		say  func(*Verdict)
		want string
	}{
		{"agrees", func(*Verdict) {}, Pass},
		{"bounces", func(v *Verdict) { v.Verdict, v.Reasons = Bounce, []string{"wrong"} }, Bounce},
		{"escalates", func(v *Verdict) { v.Verdict = Escalate }, Escalate},
		{"passes beside fabricated", func(v *Verdict) { v.SpotCheckResult = Fabricated }, Bounce},
		{"passes beside contradicts", func(v *Verdict) { v.SpotCheckResult = Contradicts }, Bounce},
		{"passes beside uncheckable", func(v *Verdict) { v.SpotCheckResult = Uncheckable }, Pass},
		{"passes beside a failed gate", func(v *Verdict) { v.RiskGateCheck = Fails }, Bounce},
		{"passes beside smell", func(v *Verdict) { v.ToneAssessment = AISmell }, Bounce},
		{"passes though off", func(v *Verdict) { v.ToneAssessment = Off }, Pass},
		{"passes beside drift", func(v *Verdict) { v.ScopeDrift = Major }, Bounce},
		{"passes beside a contradiction", func(v *Verdict) {
			v.CrossInvestigationConsistency = "contradicts_k"
		}, Escalate},
		{"says what nobody understands", func(v *Verdict) { v.Verdict = "PASS" }, Escalate},
		{"gate that nobody understands", func(v *Verdict) { v.RiskGateCheck = "fine" }, Bounce},
	} {
		a := agree()
		c.say(&a)
		got := Worse(Compute(good()), a)
		if got.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.Verdict, c.want)
		}
		if got.ValidatorModel != "model" || (got.BounceFeedback != nil) != (got.Verdict == Bounce) ||
			len(got.Reasons) == 0 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	bad := good()
	bad.Refs[0].Result = Fabricated
	got := Worse(Compute(bad), agree())
	if got.Verdict != Bounce || got.SpotCheckResult != Fabricated || got.BounceFeedback == nil {
		t.Errorf("an agent made it better: %+v", got)
	}
}

func TestCheckOfAnAgent(t *testing.T) {
	v := Verdict{Verdict: "yes", SpotCheckResult: "true", CrossInvestigationConsistency: "contradicts_",
		Reasons: make([]string, 21)}
	err := v.Check()
	for _, want := range []string{"verdict: is", "spot_check_result", "schema_check", "risk_gate_check",
		"cross_investigation", "reasons: has 21"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}
