package dispatch

import (
	"strings"
	"testing"

	"tri/lib/record/thread"
)

// TestOutdated: a version of a message that arrives after a later one counts for nothing, in the same run or
// after a restart.
func TestOutdated(t *testing.T) {
	type version struct {
		text    string
		seconds int
	}
	for _, tt := range []struct {
		name  string
		reads []version
		want  string // texts of the item's messages; "": no item
	}{
		{"an edit before its message", []version{{"why does it fail on staging?", 20},
			{"why does it fail?", 0}}, "why does it fail on staging?"},
		{"a deletion before its message", []version{{"", 20}, {"why does it fail?", 0}}, ""},
		{"a deletion before an edit", []version{{"why does it fail?", 0}, {"", 20},
			{"why does it fail?", 10}}, "-"},
		{"an edit before an earlier one", []version{{"why does it fail?", 0}, {"why does 3 fail?", 30},
			{"why does 2 fail?", 20}}, "why does 3 fail?"},
		{"in their order", []version{{"why does it fail?", 0}, {"why does 2 fail?", 20},
			{"why does 3 fail?", 30}}, "why does 3 fail?"},
	} {
		for _, restart := range []bool{false, true} {
			b := newBench(t)
			for _, v := range tt.reads {
				if b.version("1", v.text, v.seconds); restart {
					b.run()
				}
			}
			b.run()
			th := b.thread("1")
			got := strings.Join(thread.Texts(th.Messages), " | ")
			if th.Status == thread.Closed {
				got = "-"
			}
			if got != tt.want {
				t.Errorf("%s, restart %v: the item has %q, want %q", tt.name, restart, got, tt.want)
			}
		}
	}
}
