package cmd_test

import (
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

// Every pattern of the programs compiles.
func TestCompile(t *testing.T) {
	if n := lazyregexp.Compile(); n < 180 {
		t.Errorf("%d patterns: they are not found any more", n)
	}
}
