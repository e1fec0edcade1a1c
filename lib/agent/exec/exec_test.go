package exec

import (
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/config"
	"tri/lib/sysexit"
)

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		New: func(t *testing.T, argv []string) agent.Agent {
			c, err := New(config.Agent{Command: argv, Env: []string{agenttest.Variable}}, "off")
			if err != nil {
				t.Fatal(err)
			}
			c.program.Linger, c.program.Grace = 100*time.Millisecond, 100*time.Millisecond
			return c
		},
		Say:   func(text string) string { return text + "\n" },
		Plain: true, Open: true,
	})
}

func TestNeedsSandboxOffInSoManyWords(t *testing.T) {
	for _, sandbox := range []string{"", "required", "Off", "no"} {
		_, err := New(config.Agent{Command: []string{"true"}}, sandbox)
		if status, _ := sysexit.Of(err); status != sysexit.Config || len(sysexit.Hints(err)) == 0 {
			t.Errorf("sandbox %q: %v", sandbox, err)
		}
	}
	if _, err := New(config.Agent{}, "off"); err == nil {
		t.Error("no command was taken for one")
	}
}
