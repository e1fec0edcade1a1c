package qwen

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
		Make:   agenttest.As(newClient),
		Tokens: true,
		Say: func(text string) string {
			return `{"type":"system","subtype":"init","session_id":"0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10","model":"stub-model"}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":` + agenttest.Quote(text) +
				`,"usage":{"input_tokens":1000,"output_tokens":50,"cache_read_input_tokens":7}}
`
		},
		Act: func(thought, tool, file string) string {
			return `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":` +
				agenttest.Quote(thought) + `},{"type":"tool_use","name":` + agenttest.Quote(tool) +
				`,"input":{"absolute_path":` + agenttest.Quote(file) + `}}]}}` + "\n"
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"type":"result","subtype":"success","is_error":false,"result":"[API Error: %d no]","usage":{"input_tokens":0}}'`, status)
		},
	})
}
