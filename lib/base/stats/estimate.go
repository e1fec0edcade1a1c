// Package stats computes shares and medians with 95% confidence intervals, and compares
// them with a threshold.
package stats

import (
	"math"
	"slices"
)

// z is the quantile of the normal distribution for two-sided 95%.
const z = 1.959964

// Share is a proportion: Hits of N.
type Share struct {
	Hits int `json:"hits"`
	N    int `json:"n"`
}

// Add counts one observation.
func (s *Share) Add(hit bool) {
	s.N++
	if hit {
		s.Hits++
	}
}

// Value returns the share, 0 if N is 0.
func (s Share) Value() float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.N)
}

// Interval returns the 95% interval (Wilson score: valid for small counts and for shares near 0
// and 1); 0 to 1 if N is 0.
func (s Share) Interval() (low, high float64) {
	if s.N == 0 {
		return 0, 1
	}
	p, n := s.Value(), float64(s.N)
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, mid-half), min(1, mid+half)
}

// Median returns the median with its 95% interval from order statistics, which assumes no
// distribution. With fewer than six values the interval is unbounded (from the smallest to
// infinity). xs is sorted in place.
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

// rank returns the largest r for which the median lies outside [x(r), x(n-1-r)] (from 0) with a
// probability of at most 5%; -1 if there is none.
func rank(n int) int {
	if n > 1000 { // the normal approximation is exact enough
		return int(float64(n)/2 - z*math.Sqrt(float64(n))/2 - 1)
	}
	sum, r := 0.0, -1
	for k := range n / 2 { // P(at most k of n below the median)
		sum += math.Exp(Choose(n, k) - float64(n)*math.Ln2)
		if sum > 0.025 {
			break
		}
		r = k
	}
	return r
}

// Choose returns the logarithm of the binomial coefficient.
func Choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// Results of comparing an estimate with a threshold.
const (
	Pass   = "pass"
	Fail   = "fail"
	Unsure = "not enough data"
)

// Within compares an interval with the range from least to most: Pass if the interval lies inside,
// Fail if it lies outside, Unsure if it contains an end of the range.
func Within(low, high, least, most float64) string {
	switch {
	case low >= least && high <= most:
		return Pass
	case high < least || low > most:
		return Fail
	}
	return Unsure
}
