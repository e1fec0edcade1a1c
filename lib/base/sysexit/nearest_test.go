package sysexit

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"approvers", "members", "helpers", "box", "brief"}
	for word, want := range map[string]string{"aprovers": "approvers", "helper": "helpers",
		"membres": "members", "zzz": "", "": "", "x": "", "foo": "", "breif": "brief", "bxo": "box",
		"boxes": "", "b": ""} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
