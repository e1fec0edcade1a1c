package verdict

import (
	"errors"
	"strings"
	"testing"

	"tri/lib/record/draft"
)

func TestJoin(t *testing.T) {
	says := Look{Lens: "polarity", Persona: "Dev",
		Says:  []Objection{{Ref: "a.go:1", Claim: "it is off", Result: Contradicts, Note: "It is on."}},
		Usage: &draft.Usage{InputTokens: 5, CostUSD: new(0.5)}}
	silent := Look{Lens: "numbers", Persona: "Priya", Usage: &draft.Usage{InputTokens: 7, CostUSD: new(0.25)}}
	fails := Look{Lens: "scope", Persona: "Carlos", Err: errors.New("no answer")}
	good := Compute(Facts{Confidence: draft.High, Refs: []Ref{{Ref: "a.go:1", Result: Supports}},
		Sentences: []Sentence{{Text: "x", State: About}}})
	if good.Verdict != Pass {
		t.Fatal(good.Reasons)
	}
	for _, c := range []struct {
		name  string
		from  string
		looks []Look
		want  string
	}{
		{"none", Pass, nil, Pass},
		{"nothing said", Pass, []Look{silent, silent}, Pass},
		{"one objects of three", Pass, []Look{silent, says, silent}, Bounce},
		{"one fails", Pass, []Look{fails, silent}, Pass},
		{"one fails, one objects", Pass, []Look{fails, says}, Bounce},
		{"all fail", Pass, []Look{fails, fails}, Escalate},
		{"a worse verdict stays", Escalate, []Look{silent}, Escalate},
		{"and is not made better", Escalate, []Look{says}, Escalate},
	} {
		v := good
		v.Verdict = c.from
		got := Join(v, c.looks)
		if got.Verdict != c.want || worse(verdicts, c.from, got.Verdict) != got.Verdict {
			t.Errorf("%s: %s, want %s", c.name, got.Verdict, c.want)
		}
		if got.Verdict == Bounce && (got.BounceFeedback == nil || len(got.Reasons) == 0) ||
			got.Verdict != Pass && got.Proved != Nothing {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	got := Join(good, []Look{silent, says, fails})
	if got.Usage.InputTokens != 12 || *got.Usage.CostUSD != 0.75 || got.ValidatorModel != ByCode {
		t.Errorf("%+v by %s", got.Usage, got.ValidatorModel)
	}
	var names []string
	for _, ch := range got.Checks[len(got.Checks)-3:] {
		names = append(names, ch.Name+" "+ch.Result+" "+ch.By)
	}
	if want := "lens numbers of Priya ok agent, lens polarity of Dev contradicts agent, lens scope of Carlos uncheckable agent"; strings.Join(names, ", ") != want {
		t.Errorf("%v", names)
	}
	if want := `lens polarity of Dev objects to "it is off" at a.go:1: It is on.`; got.Reasons[0] != want {
		t.Errorf("%q", got.Reasons)
	}
}
