package claims

import (
	"slices"
	"testing"

	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

// TestQuotesAreNotTraced: the words of a quote that stands are not traced one by one; those of one that
// does not stand are.
func TestQuotesAreNotTraced(t *testing.T) {
	const quote = "func Backoff(n int) // as theLimit says"
	s := safety.Sources{Refs: []draft.Ref{{Kind: draft.KindFile, Ref: "a.go:3", Quote: quote}}}
	for _, stands := range []bool{true, false} {
		all := Trace("It is `Backoff2`:\n```\n"+quote+"\n```", s,
			[]evidence.Finding{{Stands: stands, Path: "a.go"}})
		inQuote := slices.ContainsFunc(all, func(x Traced) bool { return x.Text == "theLimit" })
		inText := slices.ContainsFunc(all, func(x Traced) bool { return x.Text == "Backoff2" })
		if !inText || inQuote == stands {
			t.Errorf("stands %v: %+v", stands, all)
		}
	}
}

// TestPlainProse: how engineers write, which is neither a machine's tone nor out
// of step with any confidence, and leaves no subject.
func TestPlainProse(t *testing.T) {
	for _, text := range []string{
		"The call may block until the buffer is drained.",
		"`Close` may be called more than once; the second call does nothing.",
		"A reader might see a short read when the peer closes early.",
		"The lock is held for the whole write, so two writers do not interleave.",
		"The default is 30 seconds and comes from `DefaultTimeout`.",
		"The check runs before the write, so a full disk is reported first.",
		"If the header is missing, the handler answers 400.",
		"The cache is keyed by tenant, not by user.",
		"Retries stop after the third attempt.",
		"The loop ends when the channel is closed.",
		"An empty list and a missing list are treated alike.",
		"The file is created with mode 0600.",
		"I read the handler and its test; both agree on the limit.",
		"The comment says five, the code has six; the code is what runs.",
		"This changed in the commit that added the queue.",
		"The worker drops the lease and another one picks it up.",
		"Unknown fields are ignored by the decoder.",
		"The version is compared as text, so 10 sorts before 9.",
		"There are two callers, and both pass a context.",
		"The error is wrapped, so errors.Is still finds it.",
		"The flag has no effect without a config file.",
		"A negative value means no limit.",
		"The test covers the empty case and the full case.",
		"The retry budget is shared by all workers of a process.",
		"The timer is reset on each message that arrives.",
		"The two limits differ: one counts bytes, the other counts lines.",
		"It returns the first error and closes the rest.",
		"Signals are handled in the main loop, in the order in which they arrive.",
		"The parser is strict about quotes and lenient about spaces.",
		"The migration adds a column and fills it in batches of 500.",
	} {
		for _, confidence := range []string{draft.High, draft.Medium, draft.Low} {
			if got := OverConfident(text, confidence, safety.Sources{}); len(got) > 0 {
				t.Errorf("%s, %q: %v", confidence, text, got)
			}
		}
		if got := AIPhrases(text, safety.Sources{}); len(got) > 0 {
			t.Errorf("%q: %v", text, got)
		}
		if got := strayed(text, ""); got != "" {
			t.Errorf("%q strays: %q", text, got)
		}
	}
}

func TestStrayed(t *testing.T) {
	for _, text := range []string{"While we're at it, rename the module.",
		"A cleaner architecture would use events.", "As an aside, the linter is old."} {
		if strayed(text, "") == "" {
			t.Errorf("%q does not stray", text)
		}
	}
	if got := strayed("A better design would be two queues.",
		"what would a better design be? a better design would be good"); got != "" {
		t.Errorf("strays, though it was asked: %q", got)
	}
}
