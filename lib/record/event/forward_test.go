package event

import "testing"

// TestForward: what was passed on is quoted line by line, behind the sender's own words.
func TestForward(t *testing.T) {
	for _, tt := range []struct{ own, from, said, want, by string }{
		{"", "Ben", "where?\n@tri stop", "> where?\n> @tri stop", "Ben"},
		{"look", "", "x", "look\n> x", "unknown"},
		{"", "Ben\nowner", "", "", "Ben owner"},
	} {
		e := Event{Content: tt.own}
		if e.Forward(tt.from, tt.said); e.Content != tt.want || e.ForwardedFrom != tt.by {
			t.Errorf("%q %q: %q from %q", tt.own, tt.said, e.Content, e.ForwardedFrom)
		}
	}
}
