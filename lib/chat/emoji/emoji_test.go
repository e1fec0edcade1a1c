package emoji

import "testing"

func TestBothWays(t *testing.T) {
	if len(index().names) < 1800 {
		t.Fatalf("%d emoji", len(index().names))
	}
	for char, all := range index().names {
		for _, name := range all {
			if got := Char(name); got != char {
				t.Errorf("%s: %q, want %q", name, got, char)
			}
		}
		if name, ok := Name(char); !ok || name != all[0] {
			t.Errorf("%q: %q %v", char, name, ok)
		}
	}
	for in, want := range map[string]string{"⚠": "warning", "✅️": "white_check_mark", "👍": "+1", "👀": "eyes",
		"🔔": "bell", "📝": "memo", "⏩": "fast_forward", "🤔": "thinking_face"} {
		if got, ok := Name(in); !ok || got != want {
			t.Errorf("%q: %q %v", in, got, ok)
		}
	}
	if _, ok := Name("x"); ok {
		t.Error("a letter has a name")
	}
	if Char("partyparrot") != ":partyparrot:" || Char("+1::skin-tone-3") != "👍" || Char("thinking") != "🤔" {
		t.Error(Char("partyparrot"), Char("+1::skin-tone-3"), Char("thinking"))
	}
}

func TestRead(t *testing.T) {
	for in, want := range map[string]string{
		":wave: hi":                   "👋 hi",
		"ok:+1::skin-tone-4:ok":       "ok👍🏽ok",
		":coffee::skin-tone-4:":       "☕:skin-tone-4:",
		"好:tada:好":                    "好🎉好",
		"client.go:100:5":             "client.go:100:5",
		"root:x:0:0":                  "root:x:0:0",
		":x: no":                      "❌ no",
		":partyparrot:":               ":partyparrot:",
		"a:b:tada:":                   "a:b🎉",
		"`:tada:` :tada:":             "`:tada:` 🎉",
		"```\n:tada:\n``` and :eyes:": "```\n:tada:\n``` and 👀",
		"note: this: that":            "note: this: that",
		":flag-id:":                   "🇮🇩",
		"::":                          "::",
	} {
		if got := Read(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
