package exec

import (
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/config"
)

func newClient(t *testing.T, argv []string, sandbox string) *Client {
	t.Helper()
	c, err := New(config.Agent{Command: argv, Env: []string{agenttest.Variable}}, sandbox)
	if err != nil {
		t.Fatal(err)
	}
	c.program.Linger, c.program.Grace = 2*time.Second, 100*time.Millisecond
	return c
}

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		New:    func(t *testing.T, argv []string) agent.Agent { return newClient(t, argv, "off") },
		Walled: func(t *testing.T, argv []string) agent.Agent { return newClient(t, argv, "required") },
		Say:    func(text string) string { return text + "\n" },
		Plain:  true, Open: true,
	})
}

func TestNeedsACommand(t *testing.T) {
	if _, err := New(config.Agent{}, "off"); err == nil {
		t.Error("no command was taken for one")
	}
}
