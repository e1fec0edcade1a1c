package config

import (
	"strings"
	"testing"
	"time"
)

func TestBox(t *testing.T) {
	c, err := Parse("config.yaml",
		[]byte("box:\n  agent: {agent: exec, command: [x]}\n  ops_commands: [kubectl get]\n  limits: {fix: {minutes: 2, cost_usd: 0}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	fix, scout := c.Box.Limits.Of("fix"), c.Box.Limits.Of("scout")
	if fix.Time() != 2*time.Minute || *fix.CostUSD != 0 || *fix.Turns != 200 ||
		scout.Time() != 15*time.Minute || *scout.CostUSD != 5 {
		t.Errorf("fix %v %v %v, scout %v %v", fix.Time(), *fix.CostUSD, *fix.Turns, scout.Time(),
			*scout.CostUSD)
	}
	for _, bad := range []string{"{ops_commands: ['kubectl get; rm']}", "{ops_commands: ['*']}",
		"{fix_commands: [' ']}", "{agent: {agent: exec}}", "{limits: {fix: {minutes: -1}}}"} {
		if _, err := Parse("config.yaml", []byte("box: "+bad+"\n")); err == nil ||
			!strings.Contains(err.Error(), "config.yaml:1: box.") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
