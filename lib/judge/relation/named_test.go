package relation

import (
	"strings"
	"testing"
)

// TestNamed: a withdrawal by name ends that question and no other; anything more than it, or a name that
// is of two or of none, ends none.
func TestNamed(t *testing.T) {
	open := []Item{
		{Texts: []string{"why does the Fence tokenizer drop a rune?"}},
		{Texts: []string{"which port does the proxy listen on?", "the staging proxy"}},
		{Texts: []string{"プロキシのポートはどこで設定しますか"}}, {Texts: []string{"does staging have a billing port?"}},
	}
	for _, tt := range []struct {
		text string
		item int
		ok   bool
	}{
		{"never mind the Fence one", 0, true},
		{"@tri nvm the fence one, thanks", 0, true},
		{"oh, please ignore my question about the proxy", 1, true},
		{"cancel the Fence tokenizer question", 0, true},
		{"forget the staging one", -1, true}, // of two
		{"never mind the auth one", -1, true},
		{"プロキシの件は忘れてください", 2, true},
		{"die Frage zu proxy hat sich erledigt", 1, true},
		{"esquece a pergunta sobre billing", 3, true},
		{"never mind the Fence", 0, false},
		{"never mind the Fence warning", 0, false},
		{"never mind the Fence one, why does the proxy fail", 0, false},
		{"never mind the Fence one?", 0, false},
		{"never mind the Fence one -- just the proxy", 0, false},
		{"never mind the one", 0, false},
		{"ignore the tests in the Fence package that fail one", 0, false},
		{"never mind", 0, false},
		{"", 0, false},
	} {
		i, ok := Named(tt.text, open, tri)
		if ok != tt.ok || ok && i != tt.item {
			t.Errorf("Named(%q) = %d, %v", tt.text, i, ok)
		}
	}
	for _, form := range phrases()[naming].lines { // each form is one
		if _, ok := Named(strings.Replace(form, "*", "billing", 1), open, Names{}); !ok {
			t.Errorf("%q is not a form", form)
		}
	}
}

func FuzzNamed(f *testing.F) {
	f.Add("never mind the Fence one", "why does the Fence tokenizer fail?")
	f.Add("*の件は忘れてください", "")
	f.Fuzz(func(t *testing.T, text, item string) {
		open := []Item{{Texts: []string{item}}, {Texts: []string{item}}}
		if i, ok := Named(text, open, tri); ok && i != -1 {
			t.Errorf("%q chose one of two that are the same", text)
		}
		if _, ok := Named(text, open, tri); ok {
			if _, more := Named(text+", but why does it fail in main", open, tri); more {
				t.Errorf("%q: more text changes nothing", text)
			}
		}
	})
}
