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
	burst := []string{"where is the RetryLimit set?", "and how long is the session timeout?",
		"which port does the proxy listen on?", "what is MaxUploadBytes?", "who owns the audit log?"}
	for _, tt := range []struct {
		name, answer string
		questions    []string
		want         string
	}{
		{"one is never left out", "No idea.", burst[:1], "[]"},
		{"one constant for five questions", "The retry limit is 5: `retry.go:3`.", burst, "[1 2 3 4]"},
		{"all five", "Retry limit: 5. Sessions time out after 30 min. The proxy listens on 8080. MaxUploadBytes is 1 MiB. Audit logs are owned by ops.", burst, "[]"},
		{"by a number", "8080 is the proxy's, 9090 nobody's.",
			[]string{"who uses 8080?", "who uses 9090?", "who uses 7070?"}, "[2]"},
		{"a call for an answer", "The limit is 7.", []string{"what is the limit?", "any ideas? thanks"},
			"[]"},
		{"in Japanese", "リトライ上限は5回です。", []string{"リトライ上限はいくつですか", "監査ログの所有者は誰ですか"}, "[1]"},
		{"a clarification", "On staging the limit is 7.",
			[]string{"what is the limit?", "on staging, I mean"}, "[]"},
		{"a corrected word", "databaseSize is 20.",
			[]string{"what is the size of the databse?", "*database, I mean"}, "[]"},
		{"one of a series", "RetryLimit000 is 5: `conf.go:3`.",
			[]string{"where is RetryLimit000 set?", "where is RetryLimit001 set?",
				"who has defined RetryLimit002?"}, "[1 2]"},
		{"a suffix", "conf.RetryLimit is a defined limit.",
			[]string{"where is RetryLimit set?", "what is RetryLimitMax?"}, "[1]"},
		{"a prefix", "`RetryLimitMax` limits a retry.",
			[]string{"where is RetryLimit set?", "what is RetryLimitMax?"}, "[0]"},
		{"the first letters", "HTTPServer serves.", []string{"what is HTTPServer?", "what is HTTPClient?"},
			"[1]"},
		{"case", "RetryLimit is 5.", []string{"where is RetryLimit?", "where is retryLimit?"}, "[1]"},
		{"case of no other question", "retryLimit is 5.",
			[]string{"where is RetryLimit?", "who owns AuditLog?"}, "[1]"},
		{"a dotted part", "client.timeout is 3 s, not that of a server.",
			[]string{"what is client.timeout?", "what is server.timeout?"}, "[1]"},
		{"a longer dotted name", "conf.Retry.Max is 5.",
			[]string{"what is conf.Retry?", "what is conf.Retry.Max?"}, "[0]"},
		{"the last part alone", "func RoundTrip sends.",
			[]string{"what does http.RoundTrip do?", "what does http.ListenAll do?"}, "[1]"},
		{"versions", "1.21.3 works.", []string{"does 1.21.3 work?", "does 1.21.30 work?"}, "[1]"},
		{"regions", "us-east-1 is up.", []string{"is us-east-1 up?", "is us-east-2 up?"}, "[1]"},
		{"long ports", "50051 is the gateway's port.",
			[]string{"what uses port 50051?", "what uses port 50052?"}, "[1]"},
		{"a quoted error", "It comes from a read: E1001 is raised there.",
			[]string{`why "read failed: E1001"?`, `why "read failed: E1002"?`}, "[1]"},
		{"parts of another name", "MaxUploadCount is in bytes.",
			[]string{"what is MaxUploadCount?", "what is MaxUploadBytes?"}, "[1]"},
		{"a mention and a link", "The limit is 7; sessions last a day.",
			[]string{"@tri2bot what is the limit?", "how long are sessions? https://a.example/x_1"}, "[]"},
		{"in Japanese, by name", "RetryLimit0は5です。", []string{"RetryLimit0はどこですか", "RetryLimit1はどこですか"},
			"[1]"},
	} {
		if got := fmt.Sprint(Uncovered(tt.questions, tt.answer)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestQuoted: what a message quotes or passes on is not said by its sender.
func TestQuoted(t *testing.T) {
	open := []Item{{IDs: []string{"1"}, Texts: []string{"where is the retry limit of the loader set?"}}}
	for _, said := range []string{"never mind", "scratch that, only the auth service", "stop", "how's it going?"} {
		text := "> " + said
		if Withdraws(text, Names{}) {
			t.Errorf("%q withdraws", text)
		}
		if _, named := Named(text, open, Names{}); named {
			t.Errorf("%q names an item", text)
		}
		if got := Judge(Message{Text: text}, open); got.Kind != Append {
			t.Errorf("%q: %s %v", text, got.Kind, got.Reasons)
		}
	}
}

// TestOpens: a greeting is not a request, and what follows one in the same message is.
func TestOpens(t *testing.T) {
	for text, want := range map[string]bool{
		"hi": true, "Hello!": true, "hey, good morning all": true, "so...": true, "@tri hi": true, "你好": true,
		"quick question": true, "Selamat pagi": true, "hi, where is it set": false, "wait for the build": false,
		"so the build fails": false, "hello?": false, "": false, "fix it": false, "> hi": false,
	} {
		if got := Opens(text, Names{Bot: []string{"tri"}}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
