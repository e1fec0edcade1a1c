package relation

import (
	"fmt"
	"testing"
)

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
		if got := Withdraws(tt.text, tri); got != tt.want {
			t.Errorf("Withdraws(%q) = %v", tt.text, got)
		}
	}
}

func FuzzWithdraws(f *testing.F) {
	f.Add("@tri never mind, thanks")
	f.Fuzz(func(t *testing.T, text string) {
		if Withdraws(text, tri) && Withdraws(text+" but why does it fail", tri) {
			t.Errorf("%q: more text changes nothing", text)
		}
	})
}

func TestUncovered(t *testing.T) {
	burst := []string{"where is the RetryLimit set?", "and how long is the session timeout?", "which port does the proxy listen on?", "what is MaxUploadBytes?", "who owns the audit log?"}
	for _, tt := range []struct {
		name, answer string
		questions    []string
		want         string
	}{
		{"one is never left out", "No idea.", burst[:1], "[]"},
		{"one constant for five questions", "The retry limit is 5: `retry.go:3`.", burst, "[1 2 3 4]"},
		{"all five", "Retries: 5. Sessions time out after 30 min. The proxy listens on 8080. MaxUploadBytes is 1 MiB. Audit logs are owned by ops.", burst, "[]"},
		{"by a number", "8080 is the proxy's, 9090 nobody's.", []string{"who uses 8080?", "who uses 9090?", "who uses 7070?"}, "[2]"},
		{"a call for an answer", "The limit is 7.", []string{"what is the limit?", "any ideas? thanks"}, "[]"},
		{"in Japanese", "リトライ上限は5回です。", []string{"リトライ上限はいくつですか", "監査ログの所有者は誰ですか"}, "[1]"},
		{"a clarification", "On staging the limit is 7.", []string{"what is the limit?", "on staging, I mean"}, "[]"},
	} {
		if got := fmt.Sprint(Uncovered(tt.questions, tt.answer)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
