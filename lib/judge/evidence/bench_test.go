package evidence

import (
	"testing"
)

// BenchmarkClaims judges what is said of code, place by place.
func BenchmarkClaims(b *testing.B) {
	all := blocks(b, "claims-tuned.txt")
	n := 0
	for b.Loop() {
		for _, x := range all {
			for _, c := range x.right {
				x.judge(c)
				n++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/claim")
}
