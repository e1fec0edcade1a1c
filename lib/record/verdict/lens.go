package verdict

import (
	"fmt"
	"slices"

	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// Objection is one fault that a lens found.
type Objection struct {
	Ref    string `json:"ref"`    // path:line
	Claim  string `json:"claim"`  // words of the subject
	Result string `json:"result"` // Contradicts or Uncheckable
	Note   string `json:"note"`   // what the lines say instead, one sentence
}

// Look is what one lens found in a draft.
type Look struct {
	Lens, Persona, Model string
	Says                 []Objection // none: it has nothing to say
	Err                  error       // it gave no answer that can be used
	Usage                *draft.Usage
}

// Join adds what lenses found to a verdict, which can only get worse: one objection bounces the draft. A
// lens without an answer is noted and neither passes nor blocks; if none has one, a person must judge.
func Join(v Verdict, looks []Look) Verdict {
	if len(looks) == 0 {
		return v
	}
	was, failed := v.Verdict, 0
	v.Checks, v.Reasons = slices.Clone(v.Checks), slices.Clone(v.Reasons)
	var reasons []string
	for _, l := range looks {
		name := fmt.Sprintf("lens %s of %s", l.Lens, l.Persona)
		check := Check{Name: name, Result: OK, By: "agent", Note: "nothing said"}
		switch {
		case l.Err != nil:
			failed++
			check.Result, check.Note = Uncheckable, text.Visible(text.Cut(l.Err.Error(), 500))
			v.Checks = append(v.Checks, check)
		case len(l.Says) == 0:
			v.Checks = append(v.Checks, check)
		}
		for _, o := range l.Says {
			check.Result, check.Note = Contradicts,
				text.Visible(fmt.Sprintf("%q at %s: %s", o.Claim, o.Ref, o.Note))
			v.Checks = append(v.Checks, check)
			reasons = append(reasons, name+" objects to "+check.Note)
		}
		v.Usage = sum(v.Usage, l.Usage)
	}
	switch {
	case len(reasons) > 0:
		v.Verdict = worse(verdicts, v.Verdict, Bounce)
	case failed == len(looks):
		v.Verdict = Escalate
		reasons = []string{fmt.Sprintf("none of %d lenses gave an answer that can be used", failed)}
	}
	if was == Pass && v.Verdict != Pass {
		v.Reasons = nil // code's reasons in favour no longer count
	}
	v.Reasons = append(v.Reasons, reasons...)
	if v.Verdict == Bounce && len(reasons) > 0 {
		all := feedback(reasons)
		if v.BounceFeedback != nil {
			all = *v.BounceFeedback + "\n" + all
		}
		v.BounceFeedback = &all
	}
	v.prove(v.Proved == Places)
	return v
}

// sum adds the usage of two runs at the same time; either may be nil.
func sum(a, b *draft.Usage) *draft.Usage {
	if a == nil || b == nil {
		if a == nil {
			a = b
		}
		return a
	}
	u := a.Plus(*b)
	u.DurationMS = max(a.DurationMS, b.DurationMS)
	return &u
}
