package evidence

import (
	"strings"
	"testing"
)

// TestDeniedValue: a claim that a name has not the value which the lines assign to it is contradicted; one
// that denies another value, sets a condition, or is about another name, is not.
func TestDeniedValue(t *testing.T) {
	for _, tt := range []struct {
		claim, lines string
		contrary     bool
	}{
		{"`requestTimeout` is not `0` by default.", "server.requestTimeout = 0;", true},
		{"`requestTimeout` is not `0` by default.", "  requestTimeout: number = 0,", true},
		{"`requestTimeout` is not `0` by default.", `  "requestTimeout": 0,`, true},
		{"`requestTimeout` isn't 0.", "requestTimeout: 0", true},
		{"`requestTimeout` does not default to `0`.", "const requestTimeout = 0", true},
		{"By default `requestTimeout` is not set to `0`.", "requestTimeout := 0", true},
		{"`MaxRetries` is not 5.", "const MaxRetries = 5", true},
		{"The `retries` are not 5.", "retries = 5", true},
		{"`keepAlive` is not `true` by default.", `"keepAlive": true,`, true},
		{"`keepAlive` does not default to `true`.", "keepAlive: boolean = true", true},
		{"`level` is never `info`.", `level = "info"`, true},

		{"`requestTimeout` is not `0` by default.", "server.requestTimeout = 300000;", false},
		{"`requestTimeout` is not `0` if `secure` is set.", "requestTimeout = 0", false},
		{"`requestTimeout` is not `0` by default.", "requestTimeout = 0\nrequestTimeout = 300000", false},
		{"`requestTimeout` is `0` by default.", "requestTimeout = 0", false},
		{"`headersTimeout` is not `0` by default.", "requestTimeout = 0", false},
		{"`MaxRetries` is not more than 5.", "const MaxRetries = 5", false},
		{"`MaxRetries` is not only 5.", "const MaxRetries = 5", false},
		{"`MaxRetries` is not 6.", "const MaxRetries = 5", false},
		{"`keepAlive` is not `true` by default.", `"keepAlive": false,`, false},
		{"`keepAlive` is not a `boolean` by default.", `keepAlive = true`, false},
	} {
		why := FromText("the claim", tt.claim).Contrary(FromLines("a.ts", strings.Split(tt.lines, "\n"), 1))
		if (why != "") != tt.contrary {
			t.Errorf("%q beside %q: %q", tt.claim, tt.lines, why)
		}
	}
}

// TestBesideIsCited: what a number is of must be said in the cited lines themselves. A comment directly above
// them is not shown to the person who approves, nor compared again before a post.
func TestBesideIsCited(t *testing.T) {
	lines := []string{"// tried is how often a charge is sent again.", "const limit = 5"}
	claim := FromText("the claim", "A charge is sent again 5 times.")
	for first, want := range map[int]int{1: 0, 2: 1} {
		own := FromLines("a.go", lines[first-1:], first)
		got := apart(claim.sentences, claim.tokens, []*Text{own}, []*Text{FromLines("a.go", lines, 1)})
		if len(got) != want {
			t.Errorf("cited from line %d: not decided %q", first, got)
		}
	}
}
