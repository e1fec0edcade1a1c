package notice

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, form string
		ok         bool
	}{
		{"begun", "On it.", true}, {"status", Forms[Status], true},
		{"begun", "", false}, {"begun", " x", false}, {"Begun", "x", false}, {"begun", "{name}", false},
		{"begun", "{minutes", false},
		{"begun", "a}", false}, {"begun", "a\nb", false}, {"begun", "a\u202eb", false},
		{"begun", "\xff", false},
		{"begun", strings.Repeat("x", MaxForm+1), false},
	} {
		if err := Check(c.name, c.form); (err == nil) != c.ok {
			t.Errorf("%q %q: %v", c.name, c.form, err)
		}
	}
}

// TestFilled: each proposed form has only holes that are filled, and others are named.
func TestFilled(t *testing.T) {
	for name, form := range Forms {
		if err := Filled(name, form); err != nil {
			t.Error(err)
		}
	}
	if Filled(Begun, "On it ({state}).") == nil || Filled("own", "{tasks}") != nil {
		t.Error("a hole of begun is filled, or one of an unknown name is not allowed")
	}
}

func TestRender(t *testing.T) {
	for _, c := range []struct {
		form string
		h    Holes
		want string // "": refused
	}{
		{"On it.", Holes{}, "On it."},
		{"{state}, {minutes} min", Holes{State: "running", Minutes: 7}, "running, 7 min"},
		{"{state}", Holes{State: "fine"}, ""}, {"{state}", Holes{}, ""},
		{"{minutes}", Holes{Minutes: 1000}, ""}, {"{minutes}", Holes{Minutes: -1}, ""},
		{"{tasks}", Holes{}, ""}, {"{tasks}", Holes{Tasks: 5}, "5"}, {"{files}", Holes{Files: 9999}, "9999"},
		{"{when}", Holes{When: 1}, "1 minute ago"}, {"{when}", Holes{When: 125}, "2 hours ago"},
		{"{when}", Holes{}, "just now"},
		{"{when}", Holes{When: Month + 1}, ""}, {"{name}", Holes{}, ""},
	} {
		got, err := Render(c.form, c.h)
		if (err == nil) != (c.want != "") || err == nil && got != c.want {
			t.Errorf("%q: %q, %v; want %q", c.form, got, err, c.want)
		}
	}
	if got := Extremes("{state} {minutes}"); len(got) != 6 {
		t.Errorf("%q", got)
	}
}
