package approve

import (
	"strings"
	"testing"
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
)

// TestRewrittenTextIsNamed shows the sum of the text that would be posted, and says whose
// checks stand below it.
func TestRewrittenTextIsNamed(t *testing.T) {
	draft := View{Item: &Item{DraftSHA256: decision.Sum("a draft")}, Draft: "a draft"}
	edited := View{Item: &Item{DraftSHA256: decision.Sum("a draft")}, Draft: "a text"}
	for _, tt := range []struct {
		v    View
		want string
	}{{draft, "\nDraft, 7 characters\n"}, {edited, " it replaces), 6 characters\n"}} {
		var b strings.Builder
		if err := tt.v.Print(&b, time.Time{}); err != nil || !strings.Contains(b.String(), tt.want) ||
			!strings.Contains(b.String(), "  sha256 "+decision.Sum(tt.v.Draft)+"\n") {
			t.Errorf("%v: want %q in\n%s", err, tt.want, b.String())
		}
	}
	if draft.Rewritten() || !edited.Rewritten() {
		t.Error("a draft is taken for an edited text, or the reverse")
	}
}

// TestUnknownTokens: tokens that a program does not report are not shown as none.
func TestUnknownTokens(t *testing.T) {
	var b page
	b.cost("  attack", &draft.Usage{TokensUnknown: true, Turns: 2})
	if got := b.String(); got != "  attack: cost not told, tokens not reported, 2 turns, 0s\n" {
		t.Errorf("%q", got)
	}
}

// TestHintFitsTheItem: a draft that is not offered cannot be approved, and no hint says so.
func TestHintFitsTheItem(t *testing.T) {
	if got := (&Item{Kind: Shadow}).next(); strings.Contains(got, "approve,") ||
		!strings.Contains(got, "dismiss and redo") {
		t.Error(got)
	}
}

// TestShortSHA: one digit of a hash identifies no draft.
func TestShortSHA(t *testing.T) {
	term := Terminal{Gate: newGate(t, "ana"), SHA: "7"}
	if _, err := term.find("1", drafts); err == nil ||
		!strings.Contains(err.Error(), "shorter than 6 digits") {
		t.Error(err)
	}
}
