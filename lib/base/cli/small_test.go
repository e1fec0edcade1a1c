package cli

import (
	"testing"
	"time"
)

// TestRests: memory is given back once after work, when there was none for a while,
// and now and then if there always is; a program at rest is left alone.
func TestRests(t *testing.T) {
	const work = little + 1
	begun := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	r := rester{worked: true}
	now, has := begun, uint64(0)
	look1 := func(made uint64) bool {
		now, has = now.Add(look), has+made
		return r.rests(now, has)
	}
	for i, step := range []struct {
		made uint64
		want bool
	}{
		{work, false},  // its beginning
		{little, true}, // past it
		{little, false},
		{0, false},
		{work, false}, // work,
		{work, false},
		{0, true}, // and rest
		{0, false},
	} {
		if got := look1(step.made); got != step.want {
			t.Errorf("look %d: %v", i, got)
		}
	}
	gave := now.Add(-look)
	for !look1(work) {
		if now.Sub(gave) > 2*often {
			t.Fatal("it never rests, and never gives back")
		}
	}
	if since := now.Sub(gave); since < often {
		t.Errorf("at work it gave back after %v", since)
	}
	if look1(work) {
		t.Error("at work it gave back twice in a row")
	}
}

func TestAllocated(t *testing.T) {
	before := allocated()
	sunk = make([]byte, 8<<20)
	if made := allocated() - before; made < 8<<20 {
		t.Errorf("%d bytes", made)
	}
}

var sunk []byte
