package exec

import (
	"testing"
	"time"

	"tri/lib/agent/agenttest"
	"tri/lib/base/config"
)

var newClient = agenttest.Maker(New, func(c *Client) (linger, grace *time.Duration) {
	return &c.program.Linger, &c.program.Grace
})

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make:  agenttest.As(newClient),
		Say:   func(text string) string { return text + "\n" },
		Plain: true, Open: true,
	})
}

func TestNeedsACommand(t *testing.T) {
	if _, err := New(config.Agent{}, "off"); err == nil {
		t.Error("no command was taken for one")
	}
}
