package intent

import "testing"

func TestWithdraws(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"never mind", true},
		{"@tri never mind", true},
		{"<@U024BE7LH> never mind!", true},
		{"tri: nvm", true},
		{"please ignore my question", true},
		{"resolved", true},
		{"Resolved, thanks!", true},
		{"ok never mind", true},
		{"forget it", true},
		{"never mind, found it", true},
		{"nm 😅", true},
		{"oh sorry, ignore that please", true},
		{"It's solved.", true},
		{"never mind — figured it out", true},
		{"Hat sich erledigt, danke", true},
		{"laisse tomber", true},
		{"¡Olvídalo!", true},
		{"разобрался, спасибо", true},
		{"gak jadi kak", true},
		{"すみません、解決しました。", true},
		{"算了", true},
		{"해결됐어요 감사합니다", true},

		{"Nmap shows the same, why?", false},
		{"Nmap shows the same", false},
		{"Nmae typo above, I meant session", false},
		{"Sorted by date …, so how many?", false},
		{"found it odd that nobody answers", false},
		{"found it odd that it retries?", false},
		{"solved the build, but how many are left?", false},
		{"scratch that -- just the auth service", false},
		{"ignore that warning", false},
		{"never mind the tests, why does main fail", false},
		{"solved?", false},
		{"resolved: false", false},
		{"thanks", false},
		{"please", false},
		{"@tri", false},
		{"", false},
		{"...", false},
		{"ok", false},
	} {
		if got := Withdraws(tt.text, "tri"); got != tt.want {
			t.Errorf("Withdraws(%q) = %v", tt.text, got)
		}
	}
}

func FuzzWithdraws(f *testing.F) {
	f.Add("@tri never mind, thanks")
	f.Fuzz(func(t *testing.T, text string) {
		if Withdraws(text, "tri") && Withdraws(text+" but why does it fail") {
			t.Errorf("%q: more text changes nothing", text)
		}
	})
}
