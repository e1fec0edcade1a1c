package main

import (
	"reflect"
	"testing"
)

// TestFitWeights: a value of what is wanted weighs for it, one of the rest against it, a rare one not at all;
// a ridge makes weights smaller, and the same rows give the same weights.
func TestFitWeights(t *testing.T) {
	var s rows
	for i := range 40 {
		on := []uint32{uint32(i % 2), 2}
		if i < 4 {
			on = append(on, 3)
		}
		s.add(fitRoom{community: "elm"}, on, i%2 == 0)
	}
	ridge := func(x float64) func(uint32) float64 { return func(uint32) float64 { return x } }
	w, flat := s.fit(ridge(1)), s.fit(ridge(50))
	if w.by[0] <= 0.5 || w.by[1] >= -0.5 || w.by[3] != 0 || flat.by[0] >= w.by[0]/2 {
		t.Errorf("%v, with a larger ridge %v", w, flat)
	}
	if again := s.fit(ridge(1)); !reflect.DeepEqual(again, w) {
		t.Errorf("%v, then %v", w, again)
	}
	if s.much[0] != slackMuch {
		t.Errorf("a message of Slack counts %v", s.much[0])
	}
}
