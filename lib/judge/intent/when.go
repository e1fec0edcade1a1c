package intent

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"tri/lib/base/lazyregexp"
)

// A time is written as a length from now ("in 2 hours"), or as a day ("tomorrow", "on Friday", "12 June"), a
// time of day ("at 9:00", "3pm"), or both.
const (
	amount = `([0-9]{1,3}(?:[.,][0-9])?|an?|one|two|three|half an|ein(?:er?|em)?|zwei|drei|un[ae]?|uma?|dos|tres|deux|trois|dois|duas|três|se|sebuah|satu|dua|tiga|一|二|两|兩|三|半)\s*(?:个|か|ヶ)?\s*` +
		`(?:((?:minutes?|mins?|m|menit|minuten|minutos?)\b|分钟?|分鐘|分)|((?:hours?|hrs?|h|jam|stunden?|horas?|heures?)\b|小时|小時|時間|h([0-9]{2}))|` +
		`((?:days?|hari|tage?n?|d[ií]as?|jours?)\b|天|日)|((?:weeks?|minggu|wochen?|semanas?|semaines?)\b|周|週間)|((?:months?|bulan|monate?n?|mes(?:es)?|mois|mês)\b|月))`
	lengths = `(` + amount + `(?:[\s,]*(?:(?:and|und|y|et|e|dan) )?` + amount + `)*)`
	names   = `(jan(?:uar[iy]?|eiro|vier)?|enero)|(feb(?:ruar[iy]?|rero)?|fevereiro|février)|(mar(?:ch|et|zo|s)?|märz|março)|(apr(?:il)?|abril|avril)|(mayo?|maio?|mei)|(jun(?:[ei]|io|ho)?|juin)|` +
		`(jul(?:[yi]|io|ho)?|juillet)|(aug(?:ust)?|agustus|agosto|août)|(sep(?:t|tember|tiembre|tembre)?|setembro)|(o[ck]t(?:ober|obre)?|octubre|outubro)|(nov(?:ember|iembre|embro|embre)?)|(de[cz](?:ember|embro)?|desember|diciembre|décembre)`
)

var (
	length = lazyregexp.New(amount)
	ahead  = lazyregexp.New(`(?:^|[^\pL])(?:in|en|dans|em|daqui a|dalam) ` + lengths + `|` + lengths + `\s*(?:from now|later|lagi|后|後|以后|之后|間後)`)
	// unread are forms of a time that would be taken for another one.
	unread = lazyregexp.New(`\b(?:[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2,4}|half past|quarter (?:past|to)|midnight|mitternacht|medianoche|minuit|halb [a-z]+)\b|\bat (?:one|two|three|four|five|six|seven|eight|ten|eleven|twelve)\b|` +
		amount + `\s*(?:before|vor|antes|avant|sebelum|前)`)
	// matter begins what a time is for: before it, a day or a length decides.
	matter = lazyregexp.New(`:\s|\b(?:to|zu|um zu|untuk|para|pour) [\pL"'“]|\b(?:that|about|dass|daran|bahwa|que)\b`)
	date   = lazyregexp.New(`\b(?:([0-9]{4})[-/年]([0-9]{1,2})[-/月]|([0-9]{1,2})月)([0-9]{1,2})(?:[^0-9]|$)`)
	dotted = lazyregexp.New(`\bam ([0-9]{1,2})\.([0-9]{1,2})\.( |$)`)
	slash  = lazyregexp.New(`(?:^|[^0-9/])([0-9]{1,2})/([0-9]{1,2})(?:/(20[0-9]{2}))?(?:[^0-9/]|$)`)
	month  = lazyregexp.New(`\b([0-9]{1,2})(?:st|nd|rd|th|er|\.|º)?(?: de| of)? (?:` + names + `)\b(?:,? (?:de )?([0-9]{4})\b)?|` +
		`\b(?:` + names + `)\.? ([0-9]{1,2})(?:st|nd|rd|th)?(?:,? ([0-9]{4}))?(?:[^0-9:]|$)`)
	clock = lazyregexp.New(`(?:^|[^0-9:.$€£])([0-9]{1,2})(?:[:h]([0-9]{2})(?:\s*(am|pm)\b|\b)|(?:[:.]([0-9]{2}))?\s*(?:(am|pm|uhr|o'clock)\b|[点點](?:([0-9]{1,2})分)?|時(?:([0-9]{1,2})分|[^間]|$))(半)?)|` +
		`(?:\b(?:jam|pukul|at|um|a las)|às?|@)\s*([0-9]{1,2})(?:[:.h]([0-9]{2})|h)?(?:\s*(am|pm)\b|\s*uhr ([0-9]{2})\b|[^0-9:%\pL]|$)`)
	// part has the parts of the day that begin at 10, 12 and 17.
	part = lazyregexp.New(`(\b(?:noon|mittags?|mediodía|midi|meio-dia|siang)\b|中午|正午)|(\b(?:afternoon|nachmittags?|tarde|après-midi|sore)\b|下午|午後)|` +
		`(\b(?:evening|tonight|night|abends?|noche|soir|noite|malam)\b|晚上|今晚|夜|晩)`)
	// days has the words for a day that is 2, 1, 0 or 7 days from today.
	days = lazyregexp.New(`(?:de|por|en) la mañana|(?:guten|am) morgen|` +
		`(day after tomorrow|übermorgen|pasado mañana|après-demain|depois de amanhã|\blusa\b|明後日|あさって|[后後]天)|` +
		`(\b(?:tomorrow|morgen|mañana|demain|besok)\b|amanhã|明日|あした|明天)|` +
		`(\b(?:today|tonight|heute|hoy|esta noche|aujourd'hui|ce soir|hoje|hari ini|nanti malam|malam ini)\b|今日|今夜|今晩|今天|今晚)|` +
		`(\b(?:next week|nächste woche|la próxima semana|la semaine prochaine|semana que vem|minggu depan)\b|来週|下周|下週)`)
	weekday = lazyregexp.New(`(\b(?:sunday|sonntag|domingo|dimanche|hari minggu)\b|日曜|[周週][日天]|星期[日天])|(\b(?:monday|montag|lunes|lundi|segunda|senin)\b|月曜|[周週]一|星期一)|` +
		`(\b(?:tuesday|dienstag|martes|mardi|terça|selasa)\b|火曜|[周週]二|星期二)|(\b(?:wednesday|mittwoch|miércoles|mercredi|quarta|rabu)\b|水曜|[周週]三|星期三)|` +
		`(\b(?:thursday|donnerstag|jueves|jeudi|quinta|kamis)\b|木曜|[周週]四|星期四)|(\b(?:friday|freitag|viernes|vendredi|sexta|jumat|jum'at)\b|金曜|[周週]五|星期五)|` +
		`(\b(?:saturday|samstag|sábado|samedi|sabtu)\b|土曜|[周週]六|星期六)`)
	eastern = lazyregexp.New(`\p{Han}|\p{Hiragana}`)
)

// hours are those of a reminder whose text names a day only, or also a part of it.
var hours = [...]int{9, 12, 15, 19}

// begins are the hours at which the parts of a day begin.
var begins = [...]int{0, 10, 12, 17}

// near is how many bytes may separate a time of day and the part of the day that it is in.
const near = 8

// reading is what a text names: a day (or a length), a time of day, or nothing.
type reading struct {
	at         time.Time
	day, clock bool
	bad        bool // it names two times, or one that does not exist
}

// When returns the time that a text names, in the zone of now and after it. ok is false if it names none, one
// that is past, or two: then a person is asked.
func When(said string, now time.Time) (at time.Time, ok bool) {
	s := strings.ToLower(norm.NFKC.String(said))
	if len(s) > 4<<10 {
		s = s[:4<<10]
	}
	s = dotted.ReplaceAllString(s, "${2}月${1} ")
	all := read(s, now)
	r := all
	for _, m := range matter.FindAllStringIndex(s, 8) {
		head := read(s[:m[0]], now)
		if head.day || head.clock || head.bad {
			r = head
			r.bad = r.bad || !head.day && all.day
			break
		}
	}
	return r.at, !r.bad && (r.day || r.clock) && r.at.After(now)
}

func read(s string, now time.Time) (r reading) {
	if unread.MatchString(s) {
		return reading{bad: true}
	}
	hour, minute, timed, two := clockOf(s)
	if at, whole, ok := after(s, now); ok {
		if whole && timed {
			at = time.Date(at.Year(), at.Month(), at.Day(), hour, minute, 0, 0, now.Location())
		}
		return reading{at: at, day: true, bad: whole && two}
	}
	day, named, bad := dayOf(s, now)
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, now.Location())
	if !named && !at.After(now) {
		at = time.Date(day.Year(), day.Month(), day.Day()+1, hour, minute, 0, 0, now.Location())
	}
	return reading{at, named, timed, bad || two}
}

// after reads the lengths from now. whole is whether they are of days.
func after(s string, now time.Time) (at time.Time, whole, ok bool) {
	counts := map[string]float64{"half an": 0.5, "半": 0.5}
	for i, all := range []string{"two zwei dos deux dois duas dua 二 两 兩", "three drei tres trois três tiga 三"} {
		for _, word := range strings.Fields(all) {
			counts[word] = float64(i + 2)
		}
	}
	var months, days float64
	var rest time.Duration
	for _, m := range length.FindAllStringSubmatch(ahead.FindString(s), -1) {
		n, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", "."), 64)
		if err != nil {
			if n = counts[m[1]]; n == 0 {
				n = 1
			}
		}
		switch {
		case m[2] != "":
			rest += time.Duration(n * float64(time.Minute))
		case m[3] != "":
			rest += time.Duration(n*float64(time.Hour)) + time.Duration(number(m[4]))*time.Minute
		case m[5] != "":
			days += n
		case m[6] != "":
			days += 7 * n
		default:
			months += math.Floor(n)
			days += 30 * (n - math.Floor(n))
		}
		ok = true
	}
	at, whole = now, rest == 0
	if months+days > 0 {
		at = now.AddDate(0, int(months), int(days))
	}
	return at.Add(rest + time.Duration((days-math.Floor(days))*24*float64(time.Hour))), whole, ok
}

// dayOf returns the day that a text names, today if it names none. A word such as tomorrow is preferred to a
// date such as 1/2 and to a day of the week.
func dayOf(s string, now time.Time) (day time.Time, named, bad bool) {
	day = now
	name := func(d time.Time, ok bool) {
		bad = bad || !ok || named && !same(d, day)
		day, named = d, true
	}
	week := false
	for _, m := range days.FindAllStringSubmatch(s, 8) {
		switch add, ok := group(m[1:]); {
		case ok && add == 3:
			week = true
		case ok:
			name(now.AddDate(0, 0, 2-add), true)
		}
	}
	relative := named
	for _, m := range month.FindAllStringSubmatch(s, 8) {
		i, _ := group(append(m[2:14:14], m[15:27]...))
		name(calendar(number(m[14]+m[28]), i%12+1, number(m[1]+m[27]), now))
	}
	for _, m := range date.FindAllStringSubmatch(s, 8) {
		name(calendar(number(m[1]), number(m[2]+m[3]), number(m[4]), now))
	}
	if m := slash.FindStringSubmatch(s); m != nil && !named {
		year, x, y := number(m[3]), number(m[1]), number(m[2])
		a, ok := calendar(year, x, y, now)
		if b, other := calendar(year, y, x, now); other && !eastern.MatchString(s) {
			bad = ok && !same(a, b)
			a, ok = b, true
		}
		name(a, ok)
	}
	on, dated := -1, named
	for _, m := range weekday.FindAllStringSubmatch(s, 8) {
		i, _ := group(m[1:])
		bad = bad || !relative && (on >= 0 && on != i || dated && int(day.Weekday()) != i)
		on = i
	}
	switch {
	case dated:
		bad = bad || week && !relative
	case week && on >= 0:
		return now.AddDate(0, 0, 7-(int(now.Weekday())+6)%7+(on+6)%7), true, bad
	case week:
		return now.AddDate(0, 0, 7), true, bad
	case on >= 0:
		return now.AddDate(0, 0, (on-int(now.Weekday())+6)%7+1), true, bad
	}
	return day, named, bad
}

// group returns the index of the first group that is not empty.
func group(m []string) (int, bool) {
	i := slices.IndexFunc(m, func(s string) bool { return s != "" })
	return max(i, 0), i >= 0
}

func same(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }

// calendar returns a day of a year, or, if the year is 0, the next such day. A date such as 31 June is none.
func calendar(year, m, d int, now time.Time) (time.Time, bool) {
	of := func(year int) time.Time { return time.Date(year, time.Month(m), d, 0, 0, 0, 0, now.Location()) }
	day := of(max(year, now.Year()))
	if year == 0 && !same(day, now) && day.Before(now) {
		day = of(now.Year() + 1)
	}
	return day, day.Day() == d && int(day.Month()) == m && year >= 0 && (year == 0 || day.Year() == year)
}

// clockOf returns the time of day that a text names, or the hour of a reminder without one. bad is whether it
// names two, or one that does not exist.
func clockOf(s string) (hour, minute int, timed, bad bool) {
	parts := part.FindAllStringSubmatchIndex(s, 8)
	kind := func(at []int) int {
		for i := range 3 {
			if at[2*i+2] >= 0 {
				return i + 1
			}
		}
		return 0
	}
	hour = hours[0]
	if len(parts) > 0 {
		hour, timed = hours[kind(parts[0])], kind(parts[0]) == 1
	}
	noon := timed
	for _, at := range clock.FindAllStringSubmatchIndex(s, 8) {
		m := func(i int) string { return s[max(0, at[2*i]):max(0, at[2*i+1])] }
		h, min, from := number(m(1)+m(9)), number(m(2)+m(4)+m(6)+m(7)+m(10)+m(12)), 0
		if m(8) != "" {
			min = 30
		}
		for _, p := range parts {
			if p[0]-at[1] <= near && at[0]-p[1] <= near {
				from = begins[kind(p)]
			}
		}
		switch m(3) + m(5) + m(11) {
		case "am":
			h, from = h%12, 0
		case "pm":
			from = 12
		}
		bad = bad || h >= 24 || min >= 60
		for was := h; h < from && was <= 12; {
			h += 12
		}
		bad = bad || timed && !noon && (h != hour || min != minute)
		hour, minute, timed, noon = h, min, true, false
	}
	return hour, minute, timed, bad
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
