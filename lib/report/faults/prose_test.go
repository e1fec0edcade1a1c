package faults

import (
	"math/rand/v2"
	"testing"
)

func rngOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// TestTurns: the result of each turn for a sentence; code, quotes and places are not changed.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name string
		turn turn
		in   string
		want []string // any of them
	}{
		{"unit", turnUnit, "It waits 5 minutes.",
			[]string{"It waits 5 seconds.", "It waits 5 hours.", "It waits 5 days.", "It waits 5 weeks.",
				"It waits 5 milliseconds."}},
		{"glued unit", turnUnit, "It waits 5s.", []string{"It waits 5ms.", "It waits 5min.", "It waits 5h."}},
		{"code", turnUnit, "See `5 minutes`.", nil},
		{"nothing", turnUnit, "It waits.", nil},
	} {
		s := &subject{Drill: &Drill{}, rng: rngOf(3)}
		got, _, ok := c.turn(s, c.in, nil)
		if ok != (c.want != nil) {
			t.Errorf("%s: ok %v, %q", c.name, ok, got)
			continue
		}
		fits := !ok
		for _, w := range c.want {
			fits = fits || got == w
		}
		if !fits {
			t.Errorf("%s: %q, want one of %q", c.name, got, c.want)
		}
	}
}

func TestSentences(t *testing.T) {
	text := "It is 5 (pay/retry.go:4). See main.go. `a. b` stays.\n\nEnd"
	var got []string
	for _, at := range sentences(text) {
		got = append(got, text[at[0]:at[1]])
	}
	want := []string{"It is 5 (pay/retry.go:4). ", "See main.go. ", "`a. b` stays.\n\n", "End"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}
