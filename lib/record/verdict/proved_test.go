package verdict

import (
	"fmt"
	"strings"
	"testing"

	"tri/lib/record/draft"
)

// TestBadge: "validated" is said of a draft alone whose every sentence is covered and
// that a second agent could not break.
func TestBadge(t *testing.T) {
	about, none := Sentence{Text: "a", State: About, Ref: 1, Share: 1}, Sentence{Text: "b", State: Unbacked}
	empty, foreign := Sentence{Text: "c", State: Unstated}, Sentence{Text: "d", State: Uncompared}
	attacked := func(result string) []Check { return []Check{{Name: spotCheck, By: "agent", Result: result}} }
	for _, c := range []struct {
		name   string
		v      Verdict
		places bool
		proved string
		badge  string
	}{
		{"all", Verdict{Verdict: Pass, ValidatorModel: "m", Checks: attacked(Supports),
			Sentences: []Sentence{about, empty}}, false, Validated, "✓ validated, 1 of 1 sentence covered, attacked by m"},
		{"no agent", Verdict{Verdict: Pass, ValidatorModel: ByCode, Sentences: []Sentence{about}}, false,
			Covered, "1 of 1 sentence covered, quotes checked"},
		{"one sentence without", Verdict{Verdict: Pass, ValidatorModel: "m", Checks: attacked(Supports),
			Sentences: []Sentence{about, none}}, false, Attacked,
			"1 of 2 sentences covered, quotes checked, attacked by m"},
		{"both", Verdict{Verdict: Pass, ValidatorModel: ByCode, Sentences: []Sentence{about, none}}, false,
			Quotes, "1 of 2 sentences covered, quotes checked"},
		{"the agent could not check", Verdict{Verdict: Pass, ValidatorModel: "m",
			Checks: attacked(Uncheckable), Sentences: []Sentence{about}}, false, Covered,
			"1 of 1 sentence covered, quotes checked"},
		{"says nothing", Verdict{Verdict: Pass, ValidatorModel: "m", Checks: attacked(Supports),
			Sentences: []Sentence{empty}}, false, Attacked, "quotes checked, attacked by m"},
		{"a negation", Verdict{Verdict: Pass, ValidatorModel: ByCode,
			Sentences: []Sentence{about, {Text: "e", State: About, Ref: 1, Share: 1,
				Undecided: []string{"negation"}}}}, false, Covered,
			"2 of 2 sentences covered, negation not decided in 1, quotes checked"},
		{"one that was not compared", Verdict{Verdict: Pass, ValidatorModel: ByCode,
			Sentences: []Sentence{about, foreign}}, false, Quotes,
			"1 of 2 sentences covered, 1 not compared, quotes checked"},
		{"a search", Verdict{Verdict: Pass, ValidatorModel: ByCode, Sentences: []Sentence{empty}}, true,
			Places, "places found, quotes checked"},
		{"a search that says more", Verdict{Verdict: Pass, ValidatorModel: ByCode,
			Sentences: []Sentence{none}}, true, Quotes, "0 of 1 sentence covered, quotes checked"},
		{"bounced", Verdict{Verdict: Bounce, ValidatorModel: "m", Checks: attacked(Supports),
			Sentences: []Sentence{about}}, false, Nothing, "disagreement"},
	} {
		c.v.prove(c.places)
		if c.v.Proved != c.proved || c.v.Badge() != c.badge {
			t.Errorf("%s: %s %q, want %s %q", c.name, c.v.Proved, c.v.Badge(), c.proved, c.badge)
		}
	}
	if old := (&Verdict{Verdict: Pass, ValidatorModel: "m"}); old.Badge() != Earlier {
		t.Errorf("a verdict from before: %q", old.Badge())
	}
}

// TestNoEmptyCount: a draft without a statement is not counted as "0 of 0 sentences".
func TestNoEmptyCount(t *testing.T) {
	v := Compute(good())
	if said := fmt.Sprint(v.Reasons, v.Checks); strings.Contains(said, "0 of 0") || v.Verdict != Pass {
		t.Error(v.Verdict, said)
	}
}

// TestOneFullStop: a note that ends with a full stop leads to feedback with one.
func TestOneFullStop(t *testing.T) {
	f := good()
	f.Unsafe = []draft.Problem{{Name: "secret", Note: "It has a secret of retries.", Fatal: true}}
	if got := *Compute(f).BounceFeedback; !strings.HasSuffix(got, "retries.") || strings.Contains(got, "..") {
		t.Errorf("%q", got)
	}
}
