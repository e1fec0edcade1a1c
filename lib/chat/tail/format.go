package tail

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

// format describes the log format of a program.
type format struct {
	name  string
	lines []*regexp.Regexp // of a message: groups time, nick, text, room
	day   *regexp.Regexp   // of a line with the date, for times without one
}

// formats are the formats known by name, with their sources.
var formats = []format{
	{ // https://irssi.org/documentation/settings/ (log_timestamp, log_open_string, log_day_changed)
		name: "irssi",
		lines: []*regexp.Regexp{
			regexp.MustCompile(`^(?P<time>\d\d:\d\d(?::\d\d)?) <[ @+%&~!]?(?P<nick>[^>\s]+)> (?P<text>.*)$`),
			regexp.MustCompile(`^(?P<time>\d\d:\d\d(?::\d\d)?)  \* (?P<nick>\S+) (?P<text>.*)$`),
		},
		day: regexp.MustCompile(`^--- (?:Log opened|Day changed) (.*)$`),
	},
	{ // https://weechat.org/files/doc/stable/weechat_user.en.html (logger.file.time_format)
		name: "weechat",
		lines: []*regexp.Regexp{
			regexp.MustCompile(`^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\t[@+%&~!]?(?P<nick>[^\s*<>=-][^\s]*)\t(?P<text>.*)$`),
			regexp.MustCompile(`^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\t *\*\t(?P<nick>\S+) (?P<text>.*)$`),
		},
	},
	{ // https://wiki.znc.in/Log: one file per day, with the date in its name
		name: "znc",
		lines: []*regexp.Regexp{
			regexp.MustCompile(`^\[(?P<time>\d\d:\d\d:\d\d)\] <(?P<nick>[^>\s]+)> (?P<text>.*)$`),
			regexp.MustCompile(`^\[(?P<time>\d\d:\d\d:\d\d)\] \* (?P<nick>\S+) (?P<text>.*)$`),
		},
	},
	{ // https://hexchat.readthedocs.io/en/latest/settings.html (Chatting, Logging)
		name:  "hexchat",
		lines: []*regexp.Regexp{regexp.MustCompile(`^(?P<time>[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d) <(?P<nick>[^>\s]+)>\t(?P<text>.*)$`)},
	},
	{ // Limnoria's ChannelLogger, and many bots: date and time, <nick>, text
		name: "iso",
		lines: []*regexp.Regexp{regexp.MustCompile(
			`^(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s+<[@+%&~!]?(?P<nick>[^>\s]+)>\s+(?P<text>.*)$`)},
	},
}

// Formats returns the names of the known formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// said is a parsed line.
type said struct {
	at               time.Time
	nick, text, room string
}

// clock tracks the date for times without one.
type clock struct {
	day  time.Time // midnight; zero: unknown
	last time.Time
}

// parse parses a line. ok is false for lines that are not messages: joins, topics, and lines that
// the format does not describe. file is when the file was last written; it is the time of a line
// without one.
func (c *Client) parse(line string, k *clock, file time.Time) (s said, ok bool) {
	line = clean(line)
	for _, f := range c.formats {
		if m := match(f.day, line); m != nil {
			if d, ok := dayOf(m[1]); ok {
				k.day, k.last = d, d
			}
			return s, false
		}
		for _, re := range f.lines {
			m := match(re, line)
			if m == nil {
				continue
			}
			for i, name := range re.SubexpNames() {
				switch name {
				case "nick":
					s.nick = strings.TrimSpace(m[i])
				case "text":
					s.text = m[i]
				case "room":
					s.room = strings.TrimSpace(m[i])
				case "time":
					s.at = k.time(m[i], file)
				}
			}
			if s.at.IsZero() || s.at.After(file) {
				s.at = file
			}
			return s, s.nick != "" && len(s.nick) <= 64 && strings.TrimSpace(s.text) != "" &&
				len(s.room) <= 200
		}
	}
	return s, false
}

func match(re *regexp.Regexp, line string) []string {
	if re == nil {
		return nil
	}
	return re.FindStringSubmatch(line)
}

// clean removes control characters and terminal sequences, including IRC colours.
func clean(line string) string {
	if utf8.ValidString(line) && !strings.ContainsFunc(line, control) {
		return line
	}
	return strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
}

func control(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// layouts are the layouts of times with a date, times those without.
var (
	layouts = []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
		"2006-01-02 15:04:05Z07:00",
		"2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04", "02/01/2006 15:04:05",
		"Mon Jan _2 15:04:05 2006",
	}
	times = []string{"15:04:05", "15:04", "15:04:05.999999999"}
	days  = []string{"Mon Jan _2 2006", "Mon Jan _2 15:04:05 2006", "2006-01-02", "Mon, 02 Jan 2006"}
)

// maxAhead is how far the clock of a log may be ahead of the file's; a time further ahead is of the
// day before.
const maxAhead = 30 * time.Minute

// time parses a time in one of the layouts; zero if it is none. A time without a date belongs to
// the last day that the log named, or to the day on which the file was written; if it is more than
// six hours earlier than the one before, it belongs to the next day.
func (k *clock) time(s string, file time.Time) time.Time {
	if sec, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) == 10 {
		return time.Unix(sec, 0)
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t
		}
	}
	if t, err := time.ParseInLocation("2006 Jan 02 15:04:05", strconv.Itoa(file.Year())+" "+s,
		time.Local); err == nil {
		if t.After(file.Add(24 * time.Hour)) {
			t = t.AddDate(-1, 0, 0)
		}
		return t
	}
	for _, layout := range times {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		known := !k.day.IsZero()
		day := k.day
		if !known {
			day = file
		}
		at := time.Date(day.Year(), day.Month(), day.Day(), t.Hour(), t.Minute(), t.Second(),
			t.Nanosecond(), time.Local)
		if known && at.Before(k.last.Add(-6*time.Hour)) {
			k.day = k.day.AddDate(0, 0, 1)
			at = at.AddDate(0, 0, 1)
		}
		if at.After(file.Add(maxAhead)) && !known {
			at = at.AddDate(0, 0, -1)
		}
		k.last = at
		return at
	}
	return time.Time{}
}

func dayOf(s string) (time.Time, bool) {
	for _, layout := range days {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.Local), true
		}
	}
	return time.Time{}, false
}

var (
	dated = lazyregexp.New(`[._-]?(\d{4})-?(\d\d)-?(\d\d)`)
	ends  = lazyregexp.New(`(?:\.(?:log|weechatlog|txt))?(?:[.-](?:\d[\d.T-]*|old|bak))?$`)
)

// roomOf returns the chat that a file's name denotes: the name without its ending, a date and a
// rotation number, or, if nothing is left (ZNC's names), the folder's name. day is the date, zero
// if there is none.
func roomOf(dir, base string) (room string, day time.Time) {
	if m := dated.FindStringSubmatch(base); m != nil {
		if d, ok := dayOf(m[1] + "-" + m[2] + "-" + m[3]); ok {
			day = d
			base = strings.Replace(base, m[0], "", 1)
		}
	}
	room = clean(ends.ReplaceAllString(base, ""))
	if room == "" || room == "." {
		room = clean(dir)
	}
	return room[:min(len(room), 200)], day
}
