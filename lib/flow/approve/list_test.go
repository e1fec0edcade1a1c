package approve

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestListOnATerminal: confidence, age, asker, what the checks say and the question can be read in any width.
func TestListOnATerminal(t *testing.T) {
	const badge = "1 of 2 sentences covered, quotes checked"
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("why does it fail? ", 20)
	item := func(room, who, question string) *Item {
		return &Item{ID: "abcdef", Kind: Draft, Since: "2026-01-02T11:59:00Z", ChatName: room, Who: who,
			Confidence: "low", Badge: badge, Question: question}
	}
	rooms, people := "the-room-of-operations", "maximilian.mustermann"
	for _, tt := range []struct {
		width uint16
		item  *Item
		want  string
	}{
		{80, item("dev", "ana", "where is the retry limit?"),
			"abcdef  1m  dev  ana  low  1 of 2 sentences covered, quotes checked\n" +
				"        where is the retry limit?\n"},
		{80, item(rooms, people, long), "abcdef  1m  the-room-of-operati…  maximilian.musterma…  low  " +
			"1 of 2 sentences…\n" +
			"        why does it fail? why does it fail? why does it fail? why does it fail?…\n"},
		{120, item("dev", "ana", "where is the retry limit?"),
			"abcdef  1m  dev  ana  low  1 of 2 sentences covered, quotes checked  where is the retry limit?\n"},
		{120, item(rooms, people, "where?"), "abcdef  1m  the-room-of-operati…  maximilian.musterma…  low  " +
			"1 of 2 sentences covered, quotes checked\n        where?\n"},
	} {
		keyboard, screen := terminal(t)
		if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ,
			&unix.Winsize{Row: 24, Col: tt.width}); err != nil {
			t.Fatal(err)
		}
		if err := printList(screen, []*Item{tt.item}, now); err != nil {
			t.Fatal(err)
		}
		if _, err := screen.WriteString("\x00"); err != nil { // the end
			t.Fatal(err)
		}
		got, err := bufio.NewReader(keyboard).ReadString(0)
		if err != nil {
			t.Fatal(err)
		}
		if got = strings.ReplaceAll(strings.TrimSuffix(got, "\x00"), "\r", ""); got != tt.want {
			t.Errorf("%d columns:\n%swant\n%s", tt.width, got, tt.want)
		}
	}
}
