package intent

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"tri/lib/base/lazyregexp"
)

// A time is written as a length from now ("in 2 hours"), or as a day ("tomorrow", "on Friday", "12 June"), a
// time of day ("at 9:00", "3pm"), or both.
var (
	length = lazyregexp.New(`([0-9]{1,3}|an?|one|two|three|half an|ein(?:er?|em)?|zwei|drei|un[ae]?|uma?|dos|tres|deux|trois|dois|duas|três|se|sebuah|satu|dua|tiga|一|二|两|兩|三|半)\s*(?:个)?\s*` +
		`(minutes?|mins?|menit|minuten|minutos?|分钟?|分鐘|分|hours?|hrs?|jam|stunden?|horas?|heures?|小时|小時|時間|days?|hari|tage?n?|d[ií]as?|jours?|dias?|天|日|weeks?|minggu|wochen?|semanas?|semaines?|周|週間)`)
	ahead = lazyregexp.New(`(?:^|[^\pL])(?:in|en|dans|em|daqui a|dalam) $|^\s*(?:from now|later|lagi|später|后|後|以后|間後)`)
	date  = lazyregexp.New(`(?:([0-9]{4})[-/年])?([0-9]{1,2})[-/月]([0-9]{1,2})(?:日|号)?(?:[^0-9:]|$)`)
	month = lazyregexp.New(`([0-9]{1,2})(?:st|nd|rd|th|\.|º)?(?: de| of)? (jan|feb|fév|fev|mar|mär|apr|abr|avr|may|mai|mei|jun|juin|jul|juil|aug|ago|aoû|agu|sep|set|oct|okt|out|nov|dec|dez|dic|déc|des)\pL*|` +
		`(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\pL* ([0-9]{1,2})(?:st|nd|rd|th)?(?:[^0-9:]|$)`)
	clock = lazyregexp.New(`(下午|晚上|今晚|中午|午後|夜|malam|sore|siang|tonight|heute abend|ce soir|esta noche|hoje à noite)?\s*(?:jam|pukul|at|um|a las|à|às|@)?\s*` +
		`(?:([0-9]{1,2})[:.h]([0-9]{2})|([0-9]{1,2})\s*(am|pm|uhr|点|點|時|o'clock|h\b)(半)?|(?:jam|pukul|at|um|a las|às) ([0-9]{1,2}))\s*(am|pm|uhr|pagi|malam|sore|siang)?`)
)

// days are the words for a day, as days from today; weekdays those for a day of the week, Sunday first. The
// longest of them that a text has is meant.
var (
	days = map[string]int{
		"today": 0, "tonight": 0, "heute": 0, "hoy": 0, "esta noche": 0, "aujourd'hui": 0, "ce soir": 0,
		"hoje": 0, "hari ini": 0,
		"nanti malam": 0, "malam ini": 0, "今日": 0, "今夜": 0, "今晩": 0, "今天": 0, "今晚": 0,
		"tomorrow": 1, "morgen": 1, "mañana": 1, "demain": 1, "amanhã": 1, "besok": 1, "明日": 1,
		"あした": 1, "明天": 1,
		"day after tomorrow": 2, "übermorgen": 2, "pasado mañana": 2, "après-demain": 2,
		"depois de amanhã": 2, "lusa": 2, "明後日": 2, "あさって": 2, "后天": 2, "後天": 2,
		"next week": 7, "nächste woche": 7, "la próxima semana": 7, "la semaine prochaine": 7,
		"semana que vem": 7, "minggu depan": 7, "来週": 7, "下周": 7,
	}
	weekdays = [7][]string{
		{"sunday", "sonntag", "domingo", "dimanche", "hari minggu", "日曜", "周日", "星期日", "星期天"},
		{"monday", "montag", "lunes", "lundi", "segunda", "senin", "月曜", "周一", "星期一"},
		{"tuesday", "dienstag", "martes", "mardi", "terça", "selasa", "火曜", "周二", "星期二"},
		{"wednesday", "mittwoch", "miércoles", "mercredi", "quarta", "rabu", "水曜", "周三", "星期三"},
		{"thursday", "donnerstag", "jueves", "jeudi", "quinta", "kamis", "木曜", "周四", "星期四"},
		{"friday", "freitag", "viernes", "vendredi", "sexta", "jumat", "jum'at", "金曜", "周五", "星期五"},
		{"saturday", "samstag", "sábado", "samedi", "sabtu", "土曜", "周六", "星期六"},
	}
	months = []string{"jan", "feb fév fev", "mar mär", "apr abr avr", "may mai mei", "jun juin", "jul juil",
		"aug ago aoû agu", "sep set", "oct okt out", "nov", "dec dez dic déc des"}
	counts = map[string]float64{
		"half an": 0.5, "半": 0.5, "two": 2, "zwei": 2, "dos": 2, "deux": 2, "dois": 2, "duas": 2, "dua": 2,
		"二": 2, "两": 2, "兩": 2,
		"three": 3, "drei": 3, "tres": 3, "trois": 3, "três": 3, "tiga": 3, "三": 3,
	}
)

// earliest is the hour of a reminder whose text names only a day.
const earliest = 9

// When returns the time that a text names, in the zone of now and after it. ok is false if it names none, or
// one that is past.
func When(said string, now time.Time) (at time.Time, ok bool) {
	s := strings.ToLower(norm.NFKC.String(said))
	if len(s) > 4<<10 {
		s = s[:4<<10]
	}
	if at, ok := after(s, now); ok {
		return at, true
	}
	day, named := dayOf(s, now)
	hour, minute, timed := clockOf(s)
	switch {
	case !named && !timed:
		return time.Time{}, false
	case !timed:
		hour = earliest
	}
	at = time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, now.Location())
	if !named && !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, at.After(now)
}

// after reads a length from now.
func after(s string, now time.Time) (time.Time, bool) {
	for _, m := range length.FindAllStringSubmatchIndex(s, 8) {
		if !ahead.MatchString(s[:m[0]]) && !ahead.MatchString(s[m[1]:]) {
			continue
		}
		word, unit := s[m[2]:m[3]], s[m[4]:m[5]]
		n := counts[word]
		if n == 0 {
			n = 1
		}
		if k, err := strconv.Atoi(word); err == nil {
			n = float64(k)
		}
		of := time.Minute
		for _, u := range []struct {
			starts string
			of     time.Duration
		}{{"h 小 時 jam stund", time.Hour}, {"d hari tag j 天 日", 24 * time.Hour},
			{"w semana semaine minggu 周 週", 7 * 24 * time.Hour}} {
			for _, start := range strings.Fields(u.starts) {
				if strings.HasPrefix(unit, start) && (start != "j" || unit != "jam") {
					of = u.of
				}
			}
		}
		at := now.Add(time.Duration(n * float64(of)))
		return at, at.After(now)
	}
	return time.Time{}, false
}

// dayOf returns the day that a text names, today if it names none.
func dayOf(s string, now time.Time) (day time.Time, named bool) {
	if m := month.FindStringSubmatch(s); m != nil {
		d, name := m[1]+m[4], m[2]+m[3]
		for i, names := range months {
			for _, n := range strings.Fields(names) {
				if n == name {
					return calendar(0, i+1, number(d), now)
				}
			}
		}
	}
	if m := date.FindStringSubmatch(s); m != nil {
		return calendar(number(m[1]), number(m[2]), number(m[3]), now)
	}
	best, add := "", 0
	for word, n := range days {
		if len(word) > len(best) && holds(s, word) {
			best, add = word, n
		}
	}
	for i, names := range weekdays {
		for _, word := range names {
			if !holds(s, word) {
				continue
			}
			n := (i - int(now.Weekday()) + 7) % 7
			if n == 0 {
				n = 7
			}
			return now.AddDate(0, 0, n), true
		}
	}
	return now.AddDate(0, 0, add), best != ""
}

// holds reports whether a text has a word, as a whole where words are separated.
func holds(s, word string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if word[0] >= 0x80 && word[0] != 0xc3 || !letter(s, i-1) && !letter(s, i+len(word)) {
			return true
		}
		from = i + len(word)
	}
}

// letter reports whether the byte at i is of a Latin letter.
func letter(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] == 0xc3)
}

// calendar returns a day of this year, of the next if it is past. A date such as 31 June is none.
func calendar(year, m, d int, now time.Time) (time.Time, bool) {
	of := func(year int) time.Time { return time.Date(year, time.Month(m), d, 0, 0, 0, 0, now.Location()) }
	day := of(max(year, now.Year()))
	if day.Day() != d || int(day.Month()) != m {
		return now, false
	}
	if year == 0 && day.AddDate(0, 0, 1).Before(now) {
		day = of(now.Year() + 1)
	}
	return day, true
}

// clockOf returns the time of day that a text names.
func clockOf(s string) (hour, minute int, ok bool) {
	for _, m := range clock.FindAllStringSubmatch(s, 8) {
		before, after := m[1], m[5]+m[8]
		hour, minute = number(m[2]+m[4]+m[7]), number(m[3])
		if m[6] != "" {
			minute = 30
		}
		switch {
		case after == "am" && hour == 12:
			hour = 0
		case hour < 12 && hour > 0 && (after == "pm" || late(before) || late(after)):
			hour += 12
		}
		if hour < 24 && minute < 60 {
			return hour, minute, true
		}
	}
	return 0, 0, false
}

// late reports whether a word before or after a time of day makes it one after noon.
func late(word string) bool {
	return word != "" && !strings.ContainsAny(word, "点點時") && word != "am" && word != "pm" && word != "uhr" &&
		word != "pagi" && word != "h" && word != "o'clock"
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
