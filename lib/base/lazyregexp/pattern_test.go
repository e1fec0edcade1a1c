package lazyregexp_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	"tri/lib/base/lazyregexp"
)

// A pattern behaves like the regular expression, also under concurrent first use.
func TestAsRegexp(t *testing.T) {
	const text = "a1 b22 c333"
	p, re := lazyregexp.New(`([a-z])(\d+)`), regexp.MustCompile(`([a-z])(\d+)`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !p.MatchString(text) || !slices.Equal(p.FindStringSubmatch(text),
				re.FindStringSubmatch(text)) || p.ReplaceAllString(text, "$2$1") != "1a 22b 333c" {
				t.Error("it does otherwise")
			}
		})
	}
	all.Wait()
	if !slices.EqualFunc(p.FindAllStringSubmatchIndex(text, -1), re.FindAllStringSubmatchIndex(text, -1),
		slices.Equal) ||
		!slices.Equal(p.FindAllString(text, 2), re.FindAllString(text, 2)) {
		t.Error("it finds otherwise")
	}
}
