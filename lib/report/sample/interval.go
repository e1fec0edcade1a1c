package sample

import "math"

// Interval gives the exact 95% bounds on how many of a frame of n messages are
// misses, when x of a simple random sample of m of them are: those numbers K for
// which neither as many as x nor as few has a chance below 2.5% (the
// hypergeometric counterpart of Clopper and Pearson's). It holds for small
// samples and samples of nearly everything alike.
func Interval(x, m, n int) (low, high int) {
	low, high = x, n-(m-x) // what the sample itself shows
	// The chance of x or more grows with K, that of x or fewer falls.
	low = firstWhere(low, high, func(k int) bool { return upper(x, m, k, n) >= 0.025 })
	high = firstWhere(low, high+1, func(k int) bool { return k > n-(m-x) || lower(x, m, k, n) < 0.025 }) - 1
	return low, max(low, high)
}

// firstWhere is the first k of [low, high] for which ok holds; ok never goes back.
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

// upper is the chance of x or more misses in a sample of m when k of n are.
func upper(x, m, k, n int) (sum float64) {
	for i := x; i <= min(m, k); i++ {
		sum += chance(i, m, k, n)
	}
	return sum
}

// lower is the chance of x or fewer.
func lower(x, m, k, n int) (sum float64) {
	for i := max(0, m-(n-k)); i <= x; i++ {
		sum += chance(i, m, k, n)
	}
	return sum
}

// chance is that of exactly i misses in a sample of m when k of n are.
func chance(i, m, k, n int) float64 {
	if i < 0 || i > k || m-i < 0 || m-i > n-k {
		return 0
	}
	return math.Exp(choose(k, i) + choose(n-k, m-i) - choose(n, m))
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
