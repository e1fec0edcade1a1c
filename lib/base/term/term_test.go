package term

import (
	"strings"
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for d, want := range map[time.Duration]string{
		0: "0s", -time.Hour: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m",
		time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d",
	} {
		if got := Age(now.Add(-d), now); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	if Age(time.Time{}, now) != "?" {
		t.Error("a time that is not known has an age")
	}
	if Is(strings.NewReader("")) {
		t.Error("a string is a terminal")
	}
}
