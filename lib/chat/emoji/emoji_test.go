package emoji

import "testing"

func TestBothWays(t *testing.T) {
	for char, all := range names {
		for _, name := range all {
			if got := Char(name); got != char {
				t.Errorf("%s: %q, want %q", name, got, char)
			}
		}
		if name, ok := Name(char); !ok || name != all[0] {
			t.Errorf("%q: %q %v", char, name, ok)
		}
	}
	for in, want := range map[string]string{"⚠": "warning", "✅️": "white_check_mark", "👍": "+1"} {
		if got, ok := Name(in); !ok || got != want {
			t.Errorf("%q: %q %v", in, got, ok)
		}
	}
	if _, ok := Name("🦜"); ok {
		t.Error("a parrot has a name")
	}
	if Char("parrot") != ":parrot:" || Char("+1::skin-tone-3") != "👍" {
		t.Error(Char("parrot"), Char("+1::skin-tone-3"))
	}
}
