// Package stats computes shares and medians with 95% confidence intervals, and compares
// them with a threshold.
package stats

import (
	"math"
	"slices"
)

// z is the quantile of the normal distribution for two-sided 95%.
const z = 1.959964

// Share is so many of so many.
type Share struct {
	Hits int `json:"hits"`
	N    int `json:"n"`
}

// Add counts one more.
func (s *Share) Add(hit bool) {
	s.N++
	if hit {
		s.Hits++
	}
}

// Value is the share, 0 where nothing was counted.
func (s Share) Value() float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.N)
}

// Interval is the 95% interval (Wilson's score: right for small counts and for
// shares near 0 and 1); 0 to 1 where nothing was counted.
func (s Share) Interval() (low, high float64) {
	if s.N == 0 {
		return 0, 1
	}
	p, n := s.Value(), float64(s.N)
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, mid-half), min(1, mid+half)
}

// Median is the middle of what was measured, with the 95% interval that the order
// of the measured gives it: it assumes no shape. The interval is open (from the
// least to infinity) where fewer than six were measured. xs is sorted in place.
func Median(xs []float64) (median, low, high float64) {
	slices.Sort(xs)
	n := len(xs)
	if n == 0 {
		return 0, 0, math.Inf(1)
	}
	median = xs[n/2]
	if n%2 == 0 {
		median = (xs[n/2-1] + xs[n/2]) / 2
	}
	r := rank(n)
	if r < 0 {
		return median, 0, math.Inf(1)
	}
	return median, xs[r], xs[n-1-r]
}

// rank is the largest r for which the median lies outside [x(r), x(n-1-r)] (from
// 0) with a chance of at most 5%; -1 where there is none.
func rank(n int) int {
	if n > 1000 { // the normal distribution is exact enough
		return int(float64(n)/2 - z*math.Sqrt(float64(n))/2 - 1)
	}
	sum, r := 0.0, -1
	for k := range n / 2 { // P(at most k of n below the median)
		sum += math.Exp(choose(n, k) - float64(n)*math.Ln2)
		if sum > 0.025 {
			break
		}
		r = k
	}
	return r
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// Results of holding an estimate against a bar.
const (
	Pass   = "pass"
	Fail   = "fail"
	Unsure = "not enough data"
)

// Within holds an interval against a range that is met from least to most: it is
// met where the whole interval lies inside, missed where it lies outside, and
// open where it holds an end of the range.
func Within(low, high, least, most float64) string {
	switch {
	case low >= least && high <= most:
		return Pass
	case high < least || low > most:
		return Fail
	}
	return Unsure
}
