package voice

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/judge/claims"
	"tri/lib/judge/safety"
)

func TestPlain(t *testing.T) {
	code := "```go\n# no heading\n- no list\n**x** 🎉.\n```"
	for _, c := range []struct{ name, draft, want string }{
		{"plain text", "The limit is 5.", "The limit is 5."},
		{"bold", "The limit is **5**, not **50**.", "The limit is 5, not 50."},
		{"neighbouring bold", "**a** **b**", "a b"},
		{"bold of several words", "It is (**off by default**).", "It is (off by default)."},
		{"power operator", "2**3**4 is 2**81.", "2**3**4 is 2**81."},
		{"arguments", "Call f(*a, **b) and **c.", "Call f(*a, **b) and **c."},
		{"dunder", "It calls __init__.", "It calls __init__."},
		{"heading", "## Retries\n\nThey are off.", "Retries:\n\nThey are off."},
		{"heading that asks", "# On?\n\nNo.", "On?\n\nNo."},
		{"heading marks twice", "# # Retries\nx", "Retries:\nx"},
		{"number sign", "#12 fixes it.", "#12 fixes it."},
		{"list", "- one\n- two", "one\ntwo"},
		{"bold list", "* **one** is\n* **two**", "one is\ntwo"},
		{"negative numbers", "- 5\n- 3", "- 5\n- 3"},
		{"flags", "-v prints more.", "-v prints more."},
		{"numbered list", "1. one\n2. two", "1. one\n2. two"},
		{"nested list", "- one\n  - two", "- one\n  - two"},
		{"task list", "- [ ] one", "- [ ] one"},
		{"code", code, code},
		{"inline code", "`**x**` and `- y`", "`**x**` and `- y`"},
		{"quotation", `It says "**now**".`, `It says "**now**".`},
		{"quoted lines", "> # said\n> - so", "> # said\n> - so"},
		{"link", "https://a.example/**b**", "https://a.example/**b**"},
		{"praise", "Great question! The limit is 5.", "The limit is 5."},
		{"bold praise", "**Great question!** The limit is 5.", "The limit is 5."},
		{"praise with content", "Great question about Redis! No.", "Great question about Redis! No."},
		{"hope", "The limit is 5. I hope this helps!", "The limit is 5."},
		{"offer", "The limit is 5.\n\nLet me know if you have any further questions.", "The limit is 5."},
		{"offer with content", "Let me know if you need the flag.", "Let me know if you need the flag."},
		{"offer between", "It is 5. Feel free to ask!\n\nIt was 3.", "It is 5.\n\nIt was 3."},
		{"assent", "Certainly. Of course!", "Certainly. Of course!"},
		{"only a courtesy", "I hope this helps!", "I hope this helps!"},
		{"repeated", "It is off by default. It is off by default.", "It is off by default."},
		{"repeated paragraph", "It is off by default.\n\nIt is off by default.", "It is off by default."},
		{"two answers", "Yes. Yes.", "Yes. Yes."},
		{"not repeated at once", "A uses x. Retries are on now. B uses y. Retries are on now.",
			"A uses x. Retries are on now. B uses y. Retries are on now."},
		{"one emoji", "It is on. 🎉", "It is on. 🎉"},
		{"several emoji", "It is on. 🎉🎉 Really! 🚀 Yes. 😀", "It is on. 🎉🎉 Really! Yes."},
		{"emoji in a sentence", "Answer 👍 or 👎.", "Answer 👍 or 👎."},
		{"signs", "Retries. ✅ Timeouts. ❌", "Retries. ✅ Timeouts. ❌"},
		{"state", "Is a on? 🟢 Is b on? 🔴", "Is a on? 🟢 Is b on? 🔴"},
		{"other language", "**重试**次数是5。", "**重试**次数是5。"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Plain(c.draft); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			unchanged(t, c.draft)
		})
	}
}

// The validator takes each courtesy for a canned phrase.
func TestCourtesyIsCanned(t *testing.T) {
	for _, s := range []string{"Great question!", "That's an excellent question.", "Thanks for asking!",
		"I hope this helps.", "Let me know if you have any questions.", "Feel free to ask.",
		"Don't hesitate to reach out.", "Is there anything else I can help you with?", "Happy to help!",
		"Have a great day!", "Happy coding!", "Best of luck!"} {
		if !courtesy.MatchString(s) {
			t.Errorf("no courtesy: %q", s)
		}
		if claims.AIPhrases(s, safety.Sources{}) == nil {
			t.Errorf("not canned: %q", s)
		}
	}
}

// unchanged checks that the plain text is its own, and says what the draft says: its units are units of the
// draft in the same order, all figures, names, code, links and quotations among them.
func unchanged(t *testing.T, draft string) {
	t.Helper()
	once := Plain(draft)
	if twice := Plain(once); twice != once {
		t.Fatalf("not idempotent: %q, then %q", once, twice)
	}
	rest := reduce(draft)
	for _, is := range reduce(once) {
		at := slices.IndexFunc(rest, func(was item) bool { return was.norm == is.norm })
		if at < 0 {
			t.Fatalf("%s was added to %q: %q", is.shown(), draft, once)
		}
		rest = rest[at+1:]
	}
	kept := map[string]bool{}
	for _, is := range reduce(once) {
		kept[is.norm] = true
	}
	for _, was := range reduce(draft) {
		if was.kind != aWord && was.kind != aFiller && was.norm != "?" && !kept[was.norm] &&
			strings.Trim(emoji.ReplaceAllString(was.norm, ""), ".,!:;") != "" {
			t.Fatalf("%s of %q is missing: %q", was.shown(), draft, once)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, p := range paraphrases(f) {
		f.Add(p.of)
	}
	f.Add("# A\n\n- **b** `c`\n- d. 🎉 Great question! It is 5 of 10. It is 5 of 10. 🚀\n```\nx\n```\n> y")
	f.Fuzz(unchanged)
}

// TestBoldTime: a draft of nothing but bold words takes no time that grows with their square.
func TestBoldTime(t *testing.T) {
	at := time.Now()
	if got := Plain(strings.Repeat("**a** ", 1000)); strings.Contains(got, "*") || time.Since(at) > 2*time.Second {
		t.Errorf("%v: %q", time.Since(at), got)
	}
}
