package validate

import (
	"slices"
	"testing"

	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// TestNotDecided: a draft that differs from its line in a number, a unit or a negation, or cites a line
// beside the one that it means, is refused, or is offered with the part that no check decided named.
func TestNotDecided(t *testing.T) {
	dir := codebase(t)
	for _, tt := range []struct{ name, draft, claim, quote, ref string }{
		{"another count, in a word", "A charge is tried again six times (`MaxRetries`).",
			"A charge is tried again six times.", "const MaxRetries = 5", "pay/retry.go:4"},
		{"another count, without a quote", "A charge is tried again six times (MaxRetries).",
			"`MaxRetries` is the number of times a charge is tried again.", "", "pay/retry.go:4"},
		{"a negation", "A charge is not retried.", "A charge is not retried.", "const MaxRetries = 5",
			"pay/retry.go:4"},
		{"a negation beside a true claim", "A charge is not retried: `MaxRetries`.", "`MaxRetries` is 5.",
			"const MaxRetries = 5", "pay/retry.go:4"},
		{"a unit", "A charge is tried again for 5 hours (`MaxRetries`).",
			"A charge is tried again for 5 hours.", "const MaxRetries = 5", "pay/retry.go:4"},
		{"a unit beside a true claim", "Charges are tried again for 5 hours: `MaxRetries`.",
			"`MaxRetries` is 5.", "const MaxRetries = 5", "pay/retry.go:4"},
		{"a share", "5% of payments are tried again (`MaxRetries`).", "5% of payments are tried again.",
			"const MaxRetries = 5", "pay/retry.go:4"},
		{"a share beside a true claim", "5% of payments are tried again: `MaxRetries`.", "`MaxRetries` is 5.",
			"const MaxRetries = 5", "pay/retry.go:4"},
		{"a line beside it", "A charge is tried again and returns `errGone`.",
			"A charge is tried again and returns `errGone`.", "", "pay/retry.go:12"},
	} {
		ret := good()
		ret.DraftReply, ret.SummaryForOrchestrator = tt.draft, tt.claim
		ret.EvidenceRefs = []draft.Ref{{Kind: draft.KindFile, Ref: tt.ref, Quote: tt.quote,
			SupportsClaim: tt.claim}}
		got := judge(t, &Validator{}, Request{Return: ret, Codebase: dir})
		open := slices.ContainsFunc(got.Sentences, func(s verdict.Sentence) bool {
			return s.State == verdict.Unbacked || len(s.Undecided) > 0
		})
		if got.Verdict == verdict.Pass && !open {
			t.Errorf("%s passes as decided: %s %q %+v", tt.name, got.Badge(), got.Reasons, got.Sentences)
		}
	}
}
