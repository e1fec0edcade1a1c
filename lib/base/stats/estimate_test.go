package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestInterval compares with values of Wilson (1927) as Newcombe (1998) lists
// them: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
func TestInterval(t *testing.T) {
	for _, tt := range []struct {
		s         Share
		low, high float64
	}{
		{Share{81, 263}, 0.2553, 0.3662}, {Share{15, 148}, 0.0624, 0.1605}, {Share{0, 20}, 0, 0.1611},
		{Share{1, 29}, 0.0061, 0.1718}, {Share{}, 0, 1},
	} {
		if low, high := tt.s.Interval(); math.Abs(low-tt.low) > 5e-5 || math.Abs(high-tt.high) > 5e-5 {
			t.Errorf("%v: %.4f to %.4f, want %.4f to %.4f", tt.s, low, high, tt.low, tt.high)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		xs                []float64
		median, low, high float64
	}{
		{nil, 0, 0, math.Inf(1)},
		{[]float64{7}, 7, 0, math.Inf(1)},
		{[]float64{5, 1, 3, 2}, 2.5, 0, math.Inf(1)},
		{[]float64{6, 5, 4, 3, 2, 1}, 3.5, 1, 6}, // 2/64 < 5%
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5.5, 2, 9},
	} {
		if m, low, high := Median(tt.xs); m != tt.median || low != tt.low || high != tt.high {
			t.Errorf("%v: %g, %g to %g", tt.xs, m, low, high)
		}
	}
}

// TestMedianCovers: at least 95 of 100 samples hold the true median, whatever the
// shape, and large ones join small ones without a step.
func TestMedianCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 25, 400, 1500} {
		held := 0
		const rounds = 1000
		for range rounds {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = rng.ExpFloat64()
			}
			if _, low, high := Median(xs); low <= math.Ln2 && math.Ln2 <= high {
				held++
			}
		}
		if held < 935 {
			t.Errorf("n %d: %d of %d", n, held, rounds)
		}
	}
	if a, b := rank(1000), rank(1001); a-b > 1 || b-a > 1 {
		t.Errorf("%d then %d", a, b)
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		want      string
	}{{0.7, 0.8, Pass}, {0.5, 0.7, Unsure}, {0.1, 0.5, Fail}, {0.85, 0.95, Unsure}, {0.91, 1, Fail}} {
		if got := Within(tt.low, tt.high, 0.6, 0.9); got != tt.want {
			t.Errorf("%g to %g: %s", tt.low, tt.high, got)
		}
	}
}
