package event

import (
	"testing"
	"time"
)

func TestUnixTime(t *testing.T) {
	for _, s := range []string{"1970-01-01T00:00:00Z", "2000-02-29T23:59:59Z", "2024-02-28T00:00:00Z",
		"2024-03-01T01:02:03Z", "1969-12-31T23:59:59Z", "2026-12-28T12:00:00.5+07:00"} {
		want, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := UnixTime([]byte(s)); err != nil || got != want.Unix() {
			t.Errorf("%s: %d, %v; want %d", s, got, err, want.Unix())
		}
	}
	for _, s := range []string{"", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
		"2026-01-0xT00:00:00Z", "0x26-01-01T00:00:00Z"} {
		if _, err := UnixTime([]byte(s)); err == nil {
			t.Errorf("%q accepted", s)
		}
	}
}
