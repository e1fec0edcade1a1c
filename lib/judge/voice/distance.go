package voice

import (
	"slices"
	"strings"
)

// Distance returns how differently two texts are worded, from 0 to 1: one minus the Dice coefficient of
// their pairs of neighbouring words, in lower case. 0 means the same words in the same order.
func Distance(a, b string) float64 {
	was, is := pairs(a), pairs(b)
	if len(was)+len(is) == 0 {
		return 0
	}
	common := 0
	for p, n := range was {
		common += min(n, is[p])
	}
	return 1 - 2*float64(common)/float64(count(was)+count(is))
}

func pairs(s string) map[[2]string]int {
	words := slices.Concat([]string{"^"}, strings.Fields(strings.ToLower(s)), []string{"$"})
	all := map[[2]string]int{}
	for i := range words[1:] {
		if len(words) > 2 {
			all[[2]string{words[i], words[i+1]}]++
		}
	}
	return all
}

func count(all map[[2]string]int) (n int) {
	for _, k := range all {
		n += k
	}
	return n
}
