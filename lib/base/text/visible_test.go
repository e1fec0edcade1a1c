package text

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a line\n\tanother", "a line\n\tanother"},
		{"escape", "\x1b]52;c;eA==\x07", "<U+001B>]52;c;eA==<U+0007>"},
		{"carriage return", "safe\rrm -rf", "safe<U+000D>rm -rf"},
		{"c1", "a\u009b31m", "a<U+009B>31m"},
		{"raw c1 byte", "a\x9b31m", "a<0x9B>31m"},
		{"replacement character itself", "a\uFFFDb", "a\uFFFDb"},
		{"bidi", "x\u202Ey\u2066z\u061C", "x<U+202E>y<U+2066>z<U+061C>"},
		{"zero width", "pass\u200Bword\u2060\uFEFF\u00AD", "pass<U+200B>word<U+2060><U+FEFF><U+00AD>"},
		{"line separator", "a\u2028b", "a<U+2028>b"},
		{"filler", "a\u3164\u2800", "a<U+3164><U+2800>"},
		{"tags", "hi\U000E0041\U000E0042", "hi<U+E0041><U+E0042>"},
		{"tags behind a flag", "\U0001F3F4\U000E0068\U000E0069\U000E007F",
			"\U0001F3F4<U+E0068><U+E0069><U+E007F>"},
		{"selectors that smuggle", "😀\uFE0F\uFE01\U000E0101", "😀\uFE0F<U+FE01><U+E0101>"},
		{"two selectors", "😀\uFE0F\uFE0F", "😀\uFE0F<U+FE0F>"},
		{"selector on a letter", "a\uFE0F", "a<U+FE0F>"},
		{"joiner between letters", "a\u200Db", "a<U+200D>b"},
		{"private use", "\uE000", "<U+E000>"},
		{"chinese", "为什么坏了？", "为什么坏了？"},
		{"persian with a non-joiner", "می\u200Cخواهم", "می\u200Cخواهم"},
		{"hindi with a joiner", "क्\u200Dष", "क्\u200Dष"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Visible(c.in); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestEmojiSurvive: real emoji are not taken for smuggling.
func TestEmojiSurvive(t *testing.T) {
	for _, e := range []string{
		"👍", "🙏🏽", "❤️", "☺︎", "👩‍💻", "👩🏾‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🏴‍☠️", "👩‍❤️‍💋‍👨", "🧑🏻‍🤝‍🧑🏿",
		"❤️‍🔥", "🙅🏽‍♀️",
		"🇮🇩", "1️⃣", "#️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏴󠁧󠁢󠁷󠁬󠁳󠁿", "©️", "™️", "⏱️", "🫠", "🫨", "🪿",
	} {
		if got := Visible(e + " " + e); got != e+" "+e {
			t.Errorf("%q became %q", e, got)
		}
	}
}

// TestPictographic compares our table with uniseg's, by rule GB11: a joiner
// holds two characters together only when both are pictographic.
func TestPictographic(t *testing.T) {
	for r := rune(0x80); r < 0x20000; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		want := uniseg.GraphemeClusterCount(string(r)+"\u200D\U0001F600") == 1 &&
			!unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Cf)
		if got := unicode.Is(pictographic, r); got != want {
			t.Errorf("U+%04X: got %v, uniseg says %v", r, got, want)
		}
	}
}

// hostile reads strings of the shared data in place.
func hostile(t testing.TB) []string {
	t.Helper()
	var all []string
	dir := "../../../../shared/data/hostile/text/"
	raw, err := os.ReadFile(dir + "blns.json")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Log("left out: the shared hostile strings are not here")
		return nil
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bipia_text_attack_train.json", "bipia_code_attack_train.json"} {
		raw, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		var groups map[string][]string
		if err := json.Unmarshal(raw, &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			all = append(all, g...)
		}
	}
	return all
}

// TestVisibleHostile: nothing that acts on a terminal is left of any of them.
func TestVisibleHostile(t *testing.T) {
	for _, s := range hostile(t) {
		mustBeVisible(t, s)
	}
}

func mustBeVisible(t *testing.T, s string) {
	t.Helper()
	got := Visible(s)
	if !utf8.ValidString(got) {
		t.Fatalf("%q: broken text comes out: %q", s, got)
	}
	for _, r := range got {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%q: U+%04X comes out", s, r)
		}
	}
	if len(Hidden(got)) > 0 {
		t.Fatalf("%q: hidden characters come out: %q", s, got)
	}
	if again := Visible(got); again != got {
		t.Fatalf("%q: not at rest: %q, then %q", s, got, again)
	}
	if strings.Count(got, "\n") != strings.Count(s, "\n") {
		t.Fatalf("%q: newlines were lost", s)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "a\x1b[2J", "\xff\xfe", "👩‍💻\u200d", "🏴\U000E0067", "1\uFE0F\u20E3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { mustBeVisible(t, s) })
}
