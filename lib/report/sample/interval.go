package sample

import (
	"math"
	"tri/lib/base/stats"
)

// interval returns the exact 95% bounds on the number of misses in a frame of n messages, if x of a
// simple random sample of m of them are misses: the numbers K for which neither x or more misses
// nor x or fewer have a probability below 2.5% (the hypergeometric counterpart of the
// Clopper-Pearson interval). It is valid for any sample size.
func interval(x, m, n int) (low, high int) {
	low, high = x, n-(m-x) // the bounds that the sample itself implies
	// The probability of x or more grows with K, that of x or fewer falls.
	low = firstWhere(low, high, func(k int) bool { return upper(x, m, k, n) >= 0.025 })
	high = firstWhere(low, high+1, func(k int) bool { return k > n-(m-x) || lower(x, m, k, n) < 0.025 }) - 1
	return low, max(low, high)
}

// firstWhere returns the first k of [low, high] for which ok is true; ok must be monotonic.
func firstWhere(low, high int, ok func(int) bool) int {
	for low < high {
		if mid := (low + high) / 2; ok(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
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
