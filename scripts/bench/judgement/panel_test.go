package main

import (
	"math"
	"testing"
)

// TestPanel compares each arm with the share that its probabilities give.
func TestPanel(t *testing.T) {
	var all []item
	for i := range uint64(8000) {
		all = append(all, item{"number", i, clean})
	}
	g, own, other := genericCatch, ownCatch, otherCatch
	two := 2*own*other*(1-other) + (1-own)*other*other // exactly two of three lenses
	three := own * other * other
	one := own*(1-other)*(1-other) + 2*(1-own)*other*(1-other)
	// In a debate those who are outvoted join the majority: it decides.
	independent := []float64{0, g, 1 - (1-g)*(1-g), other, 1 - (1-g)*(1-other), one + two + three,
		two + three, two + three, 1 - (1-g)*(1-g)*(1-g), 1 - (1-g)*(1-g)}
	// two of three need otherCatch, any needs ownCatch
	// two models: two normal draws correlated at otherModel, at least one of which is in its lowest g
	same := []float64{0, g, g, other, g, own, other, other, g, 0.615}
	for common, want := range map[float64][]float64{0: independent, 1: same} {
		for n := range arms {
			refused, tokens := ask(&arms[n], all, prices{100, 10, 1}, common, 0)
			got := float64(trues(refused)) / float64(len(all))
			if math.Abs(got-want[n]) > 0.02 {
				t.Errorf("%s, errors correlated at %.0f: %.3f caught, want %.3f", arms[n].name, common,
					got, want[n])
			}
			if per := tokens / float64(len(all)); n == 4 && per != 110 || n == 7 && (per < 31 || per > 62) {
				t.Errorf("%s: %.1f tokens a draft", arms[n].name, per)
			}
		}
	}
	if n := effective(all, []int{0, 1}, 0); math.Abs(n-2) > 0.05 {
		t.Errorf("two independent reviewers are worth %.2f votes", n)
	}
	if n := effective(all, []int{0, 1}, 1); math.Abs(n-1) > 0.01 {
		t.Errorf("two reviewers who err together are worth %.2f votes", n)
	}
}

func TestMcNemar(t *testing.T) {
	for _, c := range []struct {
		a, b int
		want float64
	}{{0, 0, 1}, {5, 0, 0.0625}, {1, 8, 0.0390625}, {4, 4, 1}} {
		if got := mcNemar(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("mcNemar(%d, %d) is %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
