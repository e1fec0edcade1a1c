package event

import (
	"bytes"
	"fmt"
	"time"
)

// UnixTime parses a create_time, RFC 3339, to seconds since 1970. The usual form has a fast path,
// since every record of a log has one.
func UnixTime(b []byte) (int64, error) {
	if len(b) == len("2006-01-02T15:04:05Z") && b[19] == 'Z' && b[4] == '-' && b[7] == '-' && b[10] == 'T' &&
		b[13] == ':' && b[16] == ':' {
		year, month, day := digits(b[0:4]), digits(b[5:7]), digits(b[8:10])
		hour, minute, second := digits(b[11:13]), digits(b[14:16]), digits(b[17:19])
		if year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= 28 && uint(hour) < 24 &&
			uint(minute) < 60 && uint(second) < 60 {
			return days(year, month, day)*86400 + int64(hour*3600+minute*60+second), nil
		}
	}
	t, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return 0, fmt.Errorf("create_time %q is not an RFC 3339 time",
			bytes.ToValidUTF8(b[:min(len(b), 40)], nil))
	}
	return t.Unix(), nil
}

// digits returns the number in b, or a large negative number if b is not a number.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1 << 20
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// days counts from 1970-01-01. Its years begin in March, so that the leap day comes last.
func days(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	return int64(365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468)
}
