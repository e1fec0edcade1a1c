package approve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/outbox"
	"tri/lib/record/verdict"
)

// TestEditIsCompared holds a text that a person wrote to what the draft cites, and keeps that in
// the decision.
func TestEditIsCompared(t *testing.T) {
	code := t.TempDir()
	if err := os.WriteFile(filepath.Join(code, "retry.go"),
		[]byte("package pay\n\n// MaxRetries is how often a charge is tried again.\nconst MaxRetries = 5\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text, badge string
		states      []string
	}{
		{"A charge is tried again 5 times (retry.go:4).",
			"edited by ana, 1 of 1 sentence covered, a name, count or unit and wording not decided in 1",
			[]string{verdict.About}}, // no word of it is beside the 5 in the cited line
		{"A charge is tried again 7 times.", "edited by ana, 0 of 1 sentence covered",
			[]string{verdict.Unbacked}},
		{"Yes. `MaxRetries` is 5, see retry.go:4-900.",
			"edited by ana, 1 contradicted, 0 of 1 sentence covered",
			[]string{verdict.Unstated, verdict.Contradicted}},
		{"The moon decides it.", "edited by ana, 0 of 1 sentence covered", []string{verdict.Unbacked}},
		{"Yes.", "edited by ana, nothing in it to check", []string{verdict.Unstated}},
	} {
		g := newGate(t, "ana")
		key := put(t, g, "1", "is it tried again?", "MaxRetries is 5.")
		it, err := g.Find(key, Draft)
		if err != nil {
			t.Fatal(err)
		}
		it.standing.Offer.Codebase = code
		it.standing.Offer.Evidence = []draft.Ref{{Kind: draft.KindFile, Ref: "retry.go:4",
			Quote: "const MaxRetries = 5", SupportsClaim: "`MaxRetries` is 5."}}
		said, err := g.Edit(it, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var states []string
		for _, s := range said.Sentences {
			states = append(states, s.State)
		}
		if said.Badge != tt.badge || strings.Join(states, " ") != strings.Join(tt.states, " ") {
			t.Errorf("%q: %q %v, want %q %v: %+v", tt.text, said.Badge, states, tt.badge, tt.states,
				said.Sentences)
		}
	}
}

// TestEditIsCut: a text that a person wrote, if it is longer than a message of the chat, is cut as a draft
// is: its code stays whole.
func TestEditIsCut(t *testing.T) {
	code := "```go\n" + strings.Repeat("retry()\n\n", 150) + "```\n\n"
	text := strings.Repeat("It is tried again. ", 40) + "\n\n" + code + "That is all."
	for _, platform := range []string{"discord", "local"} {
		g := newGate(t, "ana")
		key := put(t, g, "1", "is it tried again?", "MaxRetries is 5.")
		it, err := g.Find(key, Draft)
		if err != nil {
			t.Fatal(err)
		}
		it.Platform = platform
		if _, err := g.Edit(it, text); err != nil {
			t.Fatal(err)
		}
		all, err := decision.Read(g.Home)
		if err != nil {
			t.Fatal(err)
		}
		yes := all[len(all)-1]
		limit := chat.Limits[platform]
		parts := outbox.Derive(&yes, &decision.Target{Platform: platform}, limit)
		if yes.Kind != decision.Edit || len(parts) > 1 != (limit > 0) {
			t.Fatalf("%s: %d parts of %+v", platform, len(parts), yes)
		}
		for _, p := range parts {
			if strings.Count(p.Text, "```")%2 != 0 {
				t.Errorf("%s: a message ends within code: %.60q", platform, p.Text)
			}
		}
		it, err = g.Find(key, Approved)
		if err != nil {
			t.Fatal(err)
		}
		if v := g.View(it); len(v.Messages) > 1 != (limit > 0) {
			t.Errorf("%s: %d messages are shown", platform, len(v.Messages))
		}
	}
}
