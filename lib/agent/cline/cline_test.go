package cline

import (
	"fmt"
	"testing"
	"time"

	"tri/lib/agent/agenttest"
	"tri/lib/agent/program"
)

var newClient = agenttest.Maker(New, func(c *program.Client) (linger, grace *time.Duration) {
	return &c.Linger, &c.Grace
})

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make: agenttest.As(newClient),
		Say: func(said string) string {
			return `{"ts":"x","type":"hook_event","hookEventName":"agent_start","agentId":"a","taskId":"c","parentAgentId":null}` + "\n" +
				fmt.Sprintf(`{"ts":"x","type":"run_result","finishReason":"completed","iterations":1,"usage":{"inputTokens":5,"outputTokens":7,"totalCost":0.5},"durationMs":1,"text":%s,"model":{"id":"m","provider":"p"}}`, agenttest.Quote(said)) + "\n"
		},
		Act: func(thought, tool, file string) string {
			return fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_end","contentType":"text","text":%s}}`, agenttest.Quote(thought)) + "\n" +
				fmt.Sprintf(`{"type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":%s,"input":{"path":%s}}}`, agenttest.Quote(tool), agenttest.Quote(file)) + "\n"
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
		s := new(program.Seen)
		line(b, s)
	})
}
