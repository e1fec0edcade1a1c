package autoreply

import (
	"fmt"
	"strings"
	"time"
)

// Hours are the hours of a week in which a person could intervene. The zero value is never.
type Hours struct {
	text  string
	zone  *time.Location
	spans [7][]span // by time.Weekday
}

// span is a part of a day, in minutes; to is exclusive.
type span struct{ from, to int }

var days = map[string]time.Weekday{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

// parseHours parses "Mon-Fri 09:00-17:00", or several of these separated by commas, in an IANA time zone
// ("" is UTC). "" is never.
func parseHours(text, zone string) (Hours, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return Hours{}, err
	}
	h := Hours{text: strings.TrimSpace(text), zone: loc}
	if h.text == "" {
		return h, nil
	}
	for _, part := range strings.Split(h.text, ",") {
		if err := h.add(strings.Fields(part)); err != nil {
			return Hours{}, fmt.Errorf("%q: %w", strings.TrimSpace(part), err)
		}
	}
	return h, nil
}

func (h *Hours) add(fields []string) error {
	if len(fields) != 2 {
		return fmt.Errorf("want days and times, as Mon-Fri 09:00-17:00")
	}
	first, last, ranged := strings.Cut(fields[0], "-")
	if !ranged {
		last = first
	}
	from, ok1 := days[strings.ToLower(first)]
	to, ok2 := days[strings.ToLower(last)]
	if !ok1 || !ok2 {
		return fmt.Errorf("days are Mon Tue Wed Thu Fri Sat Sun")
	}
	begin, end, ok := strings.Cut(fields[1], "-")
	s := span{minutes(begin), minutes(end)}
	if !ok || s.from < 0 || s.to < 0 || s.from >= s.to {
		return fmt.Errorf("times are 09:00-17:00, the first before the second")
	}
	for d := from; ; d = (d + 1) % 7 {
		h.spans[d] = append(h.spans[d], s)
		if d == to {
			return nil
		}
	}
}

// minutes parses HH:MM, -1 for anything else; 24:00 is the end of the day.
func minutes(s string) int {
	if s == "24:00" {
		return 24 * 60
	}
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != 5 {
		return -1
	}
	return t.Hour()*60 + t.Minute()
}

// Set reports whether any hours are set.
func (h Hours) Set() bool { return h.text != "" }

// Hold reports whether an instant is within the hours.
func (h Hours) Hold(at time.Time) bool {
	if !h.Set() {
		return false
	}
	at = at.In(h.zone)
	m := at.Hour()*60 + at.Minute()
	for _, s := range h.spans[at.Weekday()] {
		if s.from <= m && m < s.to {
			return true
		}
	}
	return false
}

func (h Hours) say(at time.Time) string {
	if !h.Set() {
		return "auto_reply.hours is not set: never"
	}
	return at.In(h.zone).Format("Mon 15:04 MST") + said(h.Hold(at), " is in ", " is not in ") + h.text
}
