package main

import "math"

// interval is a share with its 95% interval (Wilson's score: right for small
// counts and for shares near 0 and 1).
func interval(hits, n int) (share, low, high float64) {
	if n == 0 {
		return math.NaN(), 0, 1
	}
	const z = 1.959964
	p, m := float64(hits)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return p, max(0, mid-half), min(1, mid+half)
}
