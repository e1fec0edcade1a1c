package ndjson

import (
	"fmt"
	"testing"
)

func TestStrings(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`: `[] true`, ` [`: `[] false`, `["a"]`: `["a"] true`,
		`[ "a" , "b\"]\\" , "" ]`: `["a" "b\"]\\" ""] true`,
		`["é\u00e9\n"]`:           `["éé\n"] true`, `["1","2","3","4"]`: `["1" "2" "3"] true`,
		`[1]`:         `[] false`,
		`["a",["b"]]`: `["a"] false`, `null`: `[] false`, `"x"`: `[] false`, ``: `[] false`, `[`: `[] false`,
		`]`: `[] false`, `{}`: `[] false`, `""`: `[] false`, `"]"`: `[] false`,
	} {
		got, ok := FirstStrings(nil, []byte(raw), 3)
		if s := fmt.Sprintf("%q %v", got, ok); s != want {
			t.Errorf("%s: %s, want %s", raw, s, want)
		}
	}
}

// TestStringsKept: existing elements are kept if nothing is added.
func TestStringsKept(t *testing.T) {
	before := [][]byte{[]byte("kept")}
	for raw, want := range map[string]string{`1`: `["kept"] false`, ``: `["kept"] false`,
		`[1]`: `["kept"] false`} {
		got, ok := Strings(before, []byte(raw))
		if s := fmt.Sprintf("%q %v", got, ok); s != want {
			t.Errorf("%s: %s, want %s", raw, s, want)
		}
	}
}

// TestAppendString: every byte as it must be written, and nothing else changed.
func TestAppendString(t *testing.T) {
	short := map[int]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	for c := range 256 {
		want := string(rune(c))
		switch {
		case short[c] != "":
			want = short[c]
		case c < 0x20:
			want = fmt.Sprintf(`\u%04x`, c)
		case c >= 0x80:
			want = "\uFFFD"
		}
		if got := string(AppendString([]byte("x"), "a"+string([]byte{byte(c)})+"b")); got != `x"a`+want+`b"` {
			t.Errorf("byte %#x became %s", c, got)
		}
	}
	for _, text := range []string{"", "é", "\uFFFD!", "日本語", "👍🏽", "a\u2028b"} {
		if got := string(AppendString(nil, text)); got != `"`+text+`"` {
			t.Errorf("%q became %s", text, got)
		}
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"x\u00e9y"`: "xéy",
		`"\ud83d\ude00z"`: "😀z", `"\u0041\u00AF"`: "A¯",
	} {
		got, ok := Text([]byte("dst"), []byte(raw))
		if !ok || string(got) != want {
			t.Errorf("%s is %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{"", `"`, "1", "12", "null", "{}"} {
		if got, ok := Text(nil, []byte(raw)); ok || got != nil {
			t.Errorf("%s is %q", raw, got)
		}
	}
	raw := []byte(`"plain"`)
	if got, _ := Text(nil, raw); &got[0] != &raw[1] {
		t.Error("a text without escapes was copied")
	}
}
