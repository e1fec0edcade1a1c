package evidence

import (
	"strings"
	"unicode"
)

// Dimensions of a quantity. A count has none.
const (
	noDim    = 0
	duration = 't' // in seconds
	size     = 'b' // in bytes
	ratio    = '%' // as a share of 1
)

// unit is the unit of a number. People do not distinguish binary and decimal prefixes of sizes: KB is
// either.
type unit struct {
	dim   byte
	scale float64
}

const day = 24 * 3600

// units are the units by name, in lower case except where case is significant.
var units = map[string]unit{}

func init() {
	add := func(dim byte, scale float64, names string) {
		for _, n := range strings.Fields(names) {
			units[n] = unit{dim, scale}
		}
	}
	add(duration, 1e-9, "ns nanosecond nanoseconds nanos nsec")
	add(duration, 1e-6, "us µs μs microsecond microseconds micros usec")
	add(duration, 1e-3, "ms millisecond milliseconds millis msec msecs milidetik 毫秒 ミリ秒 밀리초")
	add(duration, 1, "s sec secs second seconds detik 秒 秒钟 秒鐘 秒間 초 segundo segundos sekunde sekunden seconde secondes giây секунда секунды секунд секунду วินาที ثانية ثوان सेकंड")
	add(duration, 60, "m min mins minute minutes menit 分 分钟 分鐘 分間 분 minuto minutos minuten phút минута минуты минут минуту นาที دقيقة دقائق मिनट")
	add(duration, 3600, "h hr hrs hour hours jam 小时 小時 時間 시간 hora horas stunde stunden heure heures giờ час часа часов ชั่วโมง ساعة ساعات घंटे")
	add(duration, day, "d day days hari 天 日 日間 일 día días dia dias tag tage tagen jour jours ngày день дня дней วัน يوم أيام दिन")
	add(duration, 7*day, "w week weeks minggu pekan 周 週 週間 주 semana semanas woche wochen semaine semaines tuần неделя недели недель")
	add(duration, 30*day, "month months bulan mes meses mês monat monate mois tháng 个月 ヶ月 개월")
	add(duration, 365*day, "year years tahun año años ano anos jahr jahre ans năm 年 년")
	add(size, 1.0/8, "bits")
	add(size, 1, "B byte bytes octet octets bita 字节 バイト 바이트")
	add(size, 1<<10, "kb kib Ki kilobyte kilobytes kibibyte kibibytes")
	add(size, 1<<20, "mb mib Mi megabyte megabytes mebibyte mebibytes")
	add(size, 1<<30, "gb gib Gi gigabyte gigabytes gibibyte gibibytes")
	add(size, 1<<40, "tb tib Ti terabyte terabytes")
	add(ratio, 0.01, "% percent pct persen prozent パーセント")
}

// unitOf returns the unit named by a word; ok is false if there is none.
func unitOf(w string) (unit, bool) {
	if u, ok := units[w]; ok {
		return u, true
	}
	u, ok := units[strings.ToLower(w)]
	return u, ok
}

// hintOf returns the unit in the words of a name: SLOT_WAIT_MS, timeout-minutes, from_secs. A single
// letter is no hint, nor is min, which is also a bound.
func hintOf(name string) (unit, bool) {
	parts := identifierWords(name)
	for i := len(parts) - 1; i >= 0; i-- {
		if p := parts[i]; len(p) > 1 && p != "min" && p != "day" && p != "second" && p != "week" &&
			p != "month" && p != "year" && p != "hour" {
			if u, ok := unitOf(p); ok {
				return u, true
			}
		}
	}
	return unit{}, false
}

// identifierWords splits an identifier into lower-case words.
func identifierWords(name string) []string {
	var out []string
	rs := []rune(name)
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, strings.ToLower(string(rs[start:end])))
		}
		start = -1
	}
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'':
			flush(i)
		case start < 0:
			start = i
		case unicode.IsUpper(r) && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])):
			flush(i)
			start = i
		}
	}
	flush(len(rs))
	return out
}

// wide are the zeros of the digits of other scripts that people type.
var wide = []rune{'０', '٠', '۰', '०', '০', '๐'}

// Fold replaces digits of other scripts, and the punctuation typed with them, by ASCII: a check must not
// depend on the input method.
func Fold(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		for _, zero := range wide {
			if r >= zero && r <= zero+9 {
				return '0' + r - zero
			}
		}
		switch {
		case r >= 0x1D7CE && r <= 0x1D7FF: // mathematical digits, five alphabets
			return '0' + (r-0x1D7CE)%10
		case r == '：':
			return ':'
		case r == '％':
			return '%'
		case r == '．':
			return '.'
		case r == '’', r == '‘':
			return '\''
		case r == '‑', r == '−':
			return '-'
		case r == '\u00a0', r == '\u202f', r == '\u3000':
			return ' '
		}
		return r
	}, s)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
