package approve

import (
	"strings"
	"testing"
	"time"

	"tri/lib/record/decision"
)

// TestRewrittenTextIsNamed shows the sum of the text that would be posted, and says whose
// checks stand below it.
func TestRewrittenTextIsNamed(t *testing.T) {
	draft := View{Item: &Item{DraftSHA256: decision.Sum("a draft")}, Draft: "a draft"}
	edited := View{Item: &Item{DraftSHA256: decision.Sum("a draft")}, Draft: "a text"}
	for _, tt := range []struct {
		v    View
		want string
	}{{draft, "Draft, 7 characters, sha256 " + decision.Sum("a draft")}, {edited, "6 characters, sha256 " + decision.Sum("a text")}} {
		var b strings.Builder
		if err := tt.v.Print(&b, time.Time{}); err != nil || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%v: want %q in\n%s", err, tt.want, b.String())
		}
	}
	if draft.Rewritten() || !edited.Rewritten() {
		t.Error("a draft is taken for an edited text, or the reverse")
	}
}
