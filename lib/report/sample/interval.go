package sample

import (
	"math"
	"sort"

	"tri/lib/base/stats"
)

// interval returns the exact 95% bounds on the number of misses in a frame of n messages, if x of a
// simple random sample of m of them are misses: the numbers K for which neither x or more misses
// nor x or fewer have a probability below 2.5% (the hypergeometric counterpart of the
// Clopper-Pearson interval). It is valid for any sample size.
func interval(x, m, n int) (low, high int) {
	low, high = x, n-(m-x) // the bounds that the sample itself implies
	// The probability of x or more grows with K, that of x or fewer falls.
	low += sort.Search(high-low, func(i int) bool { return upper(x, m, low+i, n) >= 0.025 })
	past := sort.Search(high-low+1, func(i int) bool { return lower(x, m, low+i, n) < 0.025 })
	return low, low + max(0, past-1)
}

// upper returns the probability of x or more misses in a sample of m if k of n are misses.
func upper(x, m, k, n int) (sum float64) {
	for i := x; i <= min(m, k); i++ {
		sum += chance(i, m, k, n)
	}
	return sum
}

// lower returns the probability of x or fewer.
func lower(x, m, k, n int) (sum float64) {
	for i := max(0, m-(n-k)); i <= x; i++ {
		sum += chance(i, m, k, n)
	}
	return sum
}

// chance returns the probability of exactly i misses in a sample of m if k of n are misses.
func chance(i, m, k, n int) float64 {
	if i < 0 || i > k || m-i < 0 || m-i > n-k {
		return 0
	}
	return math.Exp(stats.Choose(k, i) + stats.Choose(n-k, m-i) - stats.Choose(n, m))
}
