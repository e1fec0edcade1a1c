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

// TestWhenIsSure: a reminder has the time that its words name, or none, whatever else they say.
func TestWhenIsSure(t *testing.T) {
	now := time.Date(2026, 11, 23, 15, 37, 0, 0, time.UTC) // a Monday
	for _, tt := range []struct{ text, want string }{
		{"in 2h to check the deploy", "2026-11-23 17:37"},
		{"tomorrow to answer 3 mails", "2026-11-24 09:00"},
		{"tomorrow at 9:00 to prepare the Friday demo", "2026-11-24 09:00"},
		{"to prepare the Friday demo tomorrow at 9:00", "2026-11-24 09:00"},
		{"on Friday to send the Monday report", "2026-11-27 09:00"},
		{"to send the Monday report on Friday", ""},
		{"at 10:00 to prepare the Friday demo", ""},
		{"at 10:00 to be at the 11:00 meeting", "2026-11-24 10:00"},
		{"tomorrow at 10:00 to review PR 1/2", "2026-11-24 10:00"},
		{"at 10:00 please review PR 1/2", ""},
		{"in 1 hour 30 minutes to call", "2026-11-23 17:07"}, {"in 1h30 please", "2026-11-23 17:07"},
		{"in 1 hour and 30 minutes to call", "2026-11-23 17:07"},
		{"on 25/12 at 9:00", "2026-12-25 09:00"}, {"on 12/25 at 9:00", "2026-12-25 09:00"},
		{"on 5/6 at 9:00", ""}, {"on 6/6 at 9:00", "2027-06-06 09:00"}, {"on 31/31 at 9:00", ""},
		{"12/1 9:00にリマインド", "2026-12-01 09:00"}, {"on 31 november at 9:00", ""},
		{"tomorrow at 9:00 about the 3 outages", "2026-11-24 09:00"},
		{"make 2 decisions", ""}, {"at 9 set up the room", "2026-11-24 09:00"},
		{"tomorrow to release 1.20", "2026-11-24 09:00"}, {"release 1.20 tomorrow", "2026-11-24 09:00"},
		{"tomorrow to pay $10.50", "2026-11-24 09:00"}, {"tomorrow pay $10:50", "2026-11-24 09:00"},
		{"on 2025-12-30", ""}, {"on 2027-01-02 at 9:00", "2027-01-02 09:00"},
		{"May 5 2028", "2028-05-05 09:00"}, {"5 May 2028 at 10:00", "2028-05-05 10:00"}, {"5 May 2024", ""},
		{"tomorrow evening at 7", "2026-11-24 19:00"}, {"tomorrow at 7 in the evening", "2026-11-24 19:00"},
		{"tomorrow evening", "2026-11-24 19:00"}, {"tomorrow at noon", "2026-11-24 12:00"},
		{"tomorrow at 9:00 to check the evening run", "2026-11-24 09:00"},
		{"tomorrow at 9:00, then look at the evening run", "2026-11-24 09:00"},
		{"tonight", "2026-11-23 19:00"}, {"tonight at 12", "2026-11-24 00:00"}, {"besok jam 2 siang", "2026-11-24 14:00"},
		{"tonight at 16:30", "2026-11-23 16:30"}, {"tonight at 3", "2026-11-24 03:00"},
		{"at 7 pm", "2026-11-23 19:00"}, {"at 7:15 pm", "2026-11-23 19:15"}, {"morgen um 14 Uhr 30", "2026-11-24 14:30"},
		{"at 12:30 am", "2026-11-24 00:30"}, {"at 12:30 pm", "2026-11-24 12:30"},
		{"in 30m", "2026-11-23 16:07"}, {"in 1.5 hours", "2026-11-23 17:07"}, {"in 2 months", "2027-01-23 15:37"},
		{"in 2 days at 9:00", "2026-11-25 09:00"}, {"2 hours before the meeting at 20:00", ""},
		{"tomorrow at half past nine", ""}, {"tomorrow at ten", ""}, {"tomorrow at midnight", ""},
		{"today or tomorrow at 18:00", ""}, {"tomorrow at 9:00 or at 10:00", ""}, {"tomorrow at 29:00", ""},
		{"Friday 27 November", "2026-11-27 09:00"}, {"Friday 28 November", ""},
		{"下周五9点提醒我", "2026-12-04 09:00"}, {"明天9点30分提醒我", "2026-11-24 09:30"},
		{"guten Morgen, erinnere mich am Freitag um 9", "2026-11-27 09:00"},
		{"am 25.12. um 9", "2026-12-25 09:00"}, {"am 25.12.2027 um 9", ""}, {"release 1.20. at 10:00", "2026-11-24 10:00"},
		{"recuérdame hoy a las 9 de la noche", "2026-11-23 21:00"},
	} {
		for _, order := range []string{"", "remind me "} {
			at, ok := When(order+tt.text, now)
			if got := at.Format("2006-01-02 15:04"); ok != (tt.want != "") || ok && got != tt.want {
				t.Errorf("%q: %s %v, want %q", order+tt.text, got, ok, tt.want)
			}
		}
	}
}

// TestWhenKeepsTheHour: a day is one of the calendar, also where the clocks change.
func TestWhenKeepsTheHour(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	before := time.Date(2026, 10, 24, 12, 0, 0, 0, zone) // a Saturday; on Sunday it is an hour more
	for text, want := range map[string]string{"in 2 days": "10-26 12:00", "in 1 week": "10-31 12:00",
		"in 24 hours": "10-25 11:00"} {
		if at, ok := When(text, before); !ok || at.Format("01-02 15:04") != want {
			t.Errorf("%q: %s %v, want %s", text, at, ok, want)
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
		"put the badge order on my to do list": "the badge order", "throw eggs on the shopping list": "eggs",
		"buy a new chair": "buy a new chair", "note to self, clean up": "clean up", "记一下待办，问法务": "问法务",
	} {
		if got := Subject(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	long, at := "add "+strings.Repeat("a ", 1<<19)+"to my list", time.Now()
	if got := Subject(long); got != long || time.Since(at) > time.Second {
		t.Error(time.Since(at))
	}
	if got := Subject(strings.Repeat("a", 1<<16)); len(got) != 1<<16 {
		t.Error(len(got))
	}
}
