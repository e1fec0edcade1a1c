package cline

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/agent/session"
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

func text(s string) string {
	words, _ := json.Marshal(s) // a string always can be
	return string(words)
}

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		New:    func(t *testing.T, argv []string) agent.Agent { return newClient(t, argv, "off") },
		Walled: func(t *testing.T, argv []string) agent.Agent { return newClient(t, argv, "required") },
		Say: func(said string) string {
			return `{"ts":"x","type":"hook_event","hookEventName":"agent_start","agentId":"a","taskId":"c","parentAgentId":null}` + "\n" +
				fmt.Sprintf(`{"ts":"x","type":"run_result","finishReason":"completed","iterations":1,"usage":{"inputTokens":5,"outputTokens":7,"totalCost":0.5},"durationMs":1,"text":%s,"model":{"id":"m","provider":"p"}}`, text(said)) + "\n"
		},
		Act: func(thought, tool, file string) string {
			return fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":%s}}`, text(thought)) + "\n" +
				fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":%s,"input":{"path":%s}}}`, text(tool), text(file)) + "\n"
		},
		Tokens: true, Cost: true,
	})
}

// Whatever a program prints, it is no more than a line that is passed over.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"type":"run_result","usage":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return // never handed on
		}
		s := new(session.Seen)
		line(b, s)
	})
}
