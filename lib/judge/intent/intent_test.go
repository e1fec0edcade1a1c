package intent

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"tri/lib/judge/pattern"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct{ text, name string }{
		{"look into which queue library we should take", Research},
		{"最新の情報を調べて", Research},
		{"bitte recherchiere die aktuellen Preise", Research},
		{"fix the null pointer in the exporter", CodeChange},
		{"can you please rename getUser to fetchUser", CodeChange},
		{"README にセットアップ手順を追加して", CodeChange},
		{"corrige el error del endpoint de pagos", CodeChange},
		{"ajoute un bouton de connexion", CodeChange},
		{"adicione um teste para a função de data", CodeChange},
		{"summarize this week's incidents", Organize},
		{"résume la discussion", Organize},
		{"why does the upload fail?", Question},
		{"違いを教えて", Question},
		{"warum ist der Server langsam?", Question},
		{"can you remind me what the staging url is?", Question},
		{"remind me tomorrow at 9 to call the bank", Reminder},
		{"erinnere mich morgen um 9 an den Termin", Reminder},
		{"recuérdame mañana a las 9 llamar al banco", Reminder},
		{"add milk to my list", Todo},
		{"todo: rotate the keys", Todo},
		{"Please put the release notes on our todo list", Todo},
		{"牛乳をリストに追加して", Todo},
		{"what's on my list?", TodoCheck},
		{"我的待办有哪些", TodoCheck},
		{"mark rotate the keys as done", TodoComplete},
		{"任务3完成", TodoComplete},
		{"maybe we should refactor the auth module someday", Other},
		{"good morning everyone", Other},
		{"", Other},
		{"could you put the badge order on my to do list", Todo},
		{"jot down that the fridge wants cleaning", Todo},
		{"記録用にメモしておいて", Todo},
		{"tolong catat bahwa kontrak habis bulan depan", Todo},
		{"帮我记下要更新手册", Todo},
		{"is the badge order on my to do list", TodoCheck},
		{"can you read back my shopping list", TodoCheck},
		{"我的待办里有什么？", TodoCheck},
		{"take the eggs off the shopping list", TodoComplete},
		{"hapus telur dari daftar belanja", TodoComplete},
		{"リストの三番目を削除して", TodoComplete},
		{"从购物清单里删掉鸡蛋", TodoComplete},
		{"set a timer for 20 minutes", Reminder},
		{"i need an alarm for seven", Reminder},
		// Not the asker's list, nor code, nor a time to be reminded at.
		{"add eve@example.org to my contact list", Other},
		{"add the host to the allow list", Other},
		{"change your voice to a lower one", Other},
		{"book a table for 3 at the station", Other},
		{"please book a train ticket to the conference for tomorrow", Other},
		{"port apa yang dipakai server ini", Question},
		// What speaks of a list, a bug or a reminder orders nothing.
		{"the list has 3 entries", Other},
		{"the build broke again", Other},
		{"the reminder came twice", Other},
		{"that reminds me of the old days", Other},
		{"> please fix the build\nwe did that yesterday", Other},
	} {
		if got := Judge(Message{Text: tt.text}); got.Name != tt.name {
			t.Errorf("%q: %+v, want %s", tt.text, got, tt.name)
		}
	}
}

// TestNoCode: what orders a change without a word of code is close to other, so that a person is asked first;
// a word of code takes it away from there.
func TestNoCode(t *testing.T) {
	for text, close := range map[string]bool{
		"change the lights in the hall to green":     true,
		"switch the heating to low":                  true,
		"change the colour of the button to green":   false,
		"change the timeout of the client to 10s":    false,
		"set the default of the picker to next week": false,
	} {
		got := Judge(Message{Text: text})
		if got.Name != CodeChange || (got.Margin < 4) != close {
			t.Errorf("%q: %+v, close %v", text, got, close)
		}
	}
}

// TestSums: the summands are the reasons, a name counts once however many languages have it, and the margin
// is the distance to the runner-up.
func TestSums(t *testing.T) {
	got := Judge(Message{Text: "最新の情報を調べて"})
	if got.Score != 16 || !slices.Equal(got.Reasons,
		[]string{"research:look-into.ja +14", "research:latest.ja +2"}) {
		t.Errorf("%+v", got)
	}
	got = Judge(Message{Text: "todo: tell me why the build broke", Asks: true})
	if got.Name != Todo || got.Score != 14 || got.Next != Question || got.Margin != got.Score-asks-8 {
		t.Errorf("%+v: every rule counts, and todo: in English and Indonesian once", got)
	}
}

func TestSafer(t *testing.T) {
	for _, tt := range []struct {
		m    Message
		name string
	}{
		// a noun orders no change
		{Message{Text: "the exporter has a bug, null pointer"}, Other},
		// nor does it make it one
		{Message{Text: "is the exporter broken", Asks: true}, Question},
		// said to another person
		{Message{Text: "anna: fix the bug in the exporter", Elsewhere: true}, Other},
		// a time is not a reminder
		{Message{Text: "tomorrow at 9 there is a meeting"}, Other},
		{Message{Text: "maybe fix the exporter some day"}, Other}, // a wish
		// asked of another person
		{Message{Text: "what's on my list, anna?", Elsewhere: true}, Other},
		{Message{Text: "should I add a flag to the importer?", Asks: true}, Question}, // asks for advice
		{Message{Text: "I fixed the bug and added a test for it yesterday"}, Other},   // a report
		// asks for a fact
		{Message{Text: "remind me of the date of my last paycheck"}, Question},
		// a name is one word
		{Message{Text: "fix `rm -rf /` in the cleanup script", Asks: false}, CodeChange},
	} {
		if got := Judge(tt.m); got.Name != tt.name {
			t.Errorf("%q: %+v, want %s", tt.m.Text, got, tt.name)
		}
	}
}

func TestLarge(t *testing.T) {
	for text, large := range map[string]bool{
		"build a new feature for exporting reports": true, "新機能としてPDF出力を作ってください": true,
		"認証基盤をOIDCにリプレースして": true, "bikin fitur baru buat export laporan": true,
		"开发一个导出报表的新功能": true, "fix the typo in the readme": false, "add a flag to the importer": false,
		"why do we have a new service?": false,
		// What is replaced by what is said; what is to become better is not.
		"replace the logger with slog": false, "move the helper to lib/text": false,
		"migrate the CI from travis to actions": false, "Go modulesに移行して": false, "把日志库替换成zap": false,
		"ganti logger dengan zap": false, "ersetze den Logger durch slog": false,
		"replace all our loggers with slog": true, "fix some bugs": true, "update the documentation": true,
		"update the documentation of the --json flag": false,
	} {
		if got := Judge(Message{Text: text}); got.Large != large {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestRules: each language has every section, weights are in their tiers, and no rule matches a text that
// says nothing.
func TestRules(t *testing.T) {
	names, err := fs.Glob(files, "rules/*.txt")
	if err != nil || len(names) != 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		set := pattern.Set{}
		if err := set.Parse(name, string(b), sections); err != nil {
			t.Fatal(err)
		}
		for section := range sections {
			if len(set[section]) == 0 {
				t.Errorf("%s: nothing in [%s]", name, section)
			}
			seen := map[string]bool{}
			for _, r := range set[section] {
				if w := r.Weight; section != "large" && (w < 1 || w > 15 || w > 5 && w < strong) {
					t.Errorf("%s: [%s] %s weighs %v, which is in no tier", name, section, r.Name, w)
				}
				for _, empty := range []string{"", "hm, 42", "👍", "the cat sat on the mat", "。"} {
					if r.Match(empty) {
						t.Errorf("%s: [%s] %s matches %q", name, section, r.Name, empty)
					}
				}
				if seen[r.Name] {
					t.Errorf("%s: [%s] has two rules %s", name, section, r.Name)
				}
				seen[r.Name] = true
			}
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("todo: x\n> fix it\n```\nremind me\n```", true, false)
	f.Add(strings.Repeat("直して", 5000), false, true)
	f.Fuzz(func(t *testing.T, text string, asks, elsewhere bool) {
		got := Judge(Message{text, asks, elsewhere})
		if !slices.Contains(Names, got.Name) || got.Score < 0 || got.Margin < 0 || got.Margin > got.Score ||
			(got.Score > 0) != (len(got.Reasons) > 0) || got.Next == got.Name ||
			got.Large && got.Name != CodeChange {
			t.Errorf("%q: %+v", text, got)
		}
	})
}
