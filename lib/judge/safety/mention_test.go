package safety

import "testing"

func TestCrowdsInMarkup(t *testing.T) {
	for text, want := range map[string]bool{
		"_@channel_ look": true, "__@all__": true, ".@here": true, "ask team.@channel please": true,
		"x_@here": true,
		"你@all":   true, "@here": true, "mail me@here": false, "user@allied.com": false, "@herein": false,
		"@alloc": false,
	} {
		if got := len(mentions(text)) > 0; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
