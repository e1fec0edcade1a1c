package lazyregexp_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	_ "tri/lib/agent/all"
	_ "tri/lib/base/broker"
	"tri/lib/base/lazyregexp"
	_ "tri/lib/base/subcommand"
	_ "tri/lib/chat/export"
	_ "tri/lib/chat/sinks"
	_ "tri/lib/chat/sources"
	_ "tri/lib/flow/box"
	_ "tri/lib/flow/dispatch"
	_ "tri/lib/flow/panel"
	_ "tri/lib/flow/reply"
	_ "tri/lib/flow/setup"
	_ "tri/lib/flow/sweep"
	_ "tri/lib/flow/worker"
	_ "tri/lib/judge/voice"
	_ "tri/lib/report"
	_ "tri/lib/report/health"
	_ "tri/lib/report/memory"
)

// Every pattern of the packages that use this compiles.
func TestCompile(t *testing.T) {
	if n := lazyregexp.Compile(); n < 180 {
		t.Errorf("%d patterns: they are not found any more", n)
	}
}

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
