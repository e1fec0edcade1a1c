package intent

import (
	"strings"
	"testing"
	"time"
)

// A Monday.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.FixedZone("", 9*3600))

func TestWhen(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"remind me tomorrow at 9 to call the hosting provider", "03-03 09:00"},
		{"remind me tomorrow to call", "03-03 09:00"},
		{"ping me in 2 hours about the rollback", "03-02 14:00"},
		{"in half an hour", "03-02 12:30"},
		{"in 10 min please", "03-02 12:10"},
		{"next monday at 10:00 that the freeze starts", "03-09 10:00"},
		{"on friday", "03-06 09:00"},
		{"set a reminder for 3pm: check the backups", "03-02 15:00"},
		{"remind me at 9am", "03-03 09:00"},
		{"the dentist on 12 june at 14:30", "06-12 14:30"},
		{"on june 12 at 14:30", "06-12 14:30"},
		{"tonight 20:00", "03-02 20:00"},
		{"the day after tomorrow at 8:15", "03-04 08:15"},
		{"on 2026-04-01 at 10:00", "04-01 10:00"},
		{"明日の9時に電話するようリマインドして", "03-03 09:00"},
		{"2時間後に教えて", "03-02 14:00"},
		{"30分後に", "03-02 12:30"},
		{"来週月曜10時に", "03-09 10:00"},
		{"15時にバックアップ確認", "03-02 15:00"},
		{"6月12日14:30の歯医者", "06-12 14:30"},
		{"明天早上9点提醒我", "03-03 09:00"},
		{"两小时后提醒我", "03-02 14:00"},
		{"周五提醒我发发票", "03-06 09:00"},
		{"明天下午3点半", "03-03 15:30"},
		{"今晚20点", "03-02 20:00"},
		{"今晚8点", "03-02 20:00"},
		{"ingetin aku besok jam 9", "03-03 09:00"},
		{"ingatkan 2 jam lagi", "03-02 14:00"},
		{"senin depan jam 10:00", "03-09 10:00"},
		{"12 juni 14:30", "06-12 14:30"},
		{"nanti malam jam 8 malam", "03-02 20:00"},
		{"erinnere mich morgen um 9", "03-03 09:00"},
		{"in 3 Stunden", "03-02 15:00"},
		{"am Freitag um 14 Uhr", "03-06 14:00"},
		{"recuérdame mañana a las 9", "03-03 09:00"},
		{"en 2 horas", "03-02 14:00"},
		{"rappelle-moi demain à 9h30", "03-03 09:30"},
		{"dans 2 jours", "03-04 12:00"},
		{"me lembra amanhã às 15", "03-03 15:00"},
		{"em 2 semanas", "03-16 12:00"},
		{"on 31 june", ""}, {"in 3 shops", ""}, {"soon", ""}, {"", ""}, {"we have 20 minutes of video", ""},
		{"today at 9:00", ""}, {"version 2.5 is out", ""}, {"at 29:00", ""},
	} {
		at, ok := When(tt.text, monday)
		if got := at.Format("01-02 15:04"); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%q: %s %v, want %q", tt.text, got, ok, tt.want)
		}
	}
}

func FuzzWhen(f *testing.F) {
	f.Add("tomorrow at 9:00", int64(1700000000))
	f.Add("999 weeks later 31/12 at 29:99 下午12点半", int64(0))
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%(1<<33), 0)
		if at, ok := When(text, now); ok && !at.After(now) {
			t.Errorf("%q at %s: %s", text, now, at)
		}
	})
}

func TestSubject(t *testing.T) {
	for text, want := range map[string]string{
		"add milk to my list": "milk", "todo: rotate the staging keys": "rotate the staging keys",
		`put "write release notes" on my todo list`: "write release notes",
		"add to my todos: ask legal":                "ask legal",
		"牛乳をリストに追加して":                               "牛乳", "把牛奶加到我的清单": "牛奶",
		"tambahin susu ke list aku": "susu", "タスク追加：資料の更新": "資料の更新",
		"buy a new chair": "buy a new chair", "note to self, clean up": "clean up", "记一下待办，问法务": "问法务",
	} {
		if got := Subject(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Subject(strings.Repeat("a", 1<<16)); len(got) != 1<<16 {
		t.Error(len(got))
	}
}
