package qwen

import (
	"encoding/json"
	"fmt"
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

func quote(text string) string {
	words, _ := json.Marshal(text) // a string always can be
	return string(words)
}

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		New:    func(t *testing.T, argv []string) agent.Agent { return newClient(t, argv, "off") },
		Walled: func(t *testing.T, argv []string) agent.Agent { return newClient(t, argv, "required") },
		Tokens: true,
		Say: func(text string) string {
			return `{"type":"system","subtype":"init","session_id":"0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10","model":"stub-model"}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":` + quote(text) + `,"usage":{"input_tokens":1000,"output_tokens":50,"cache_read_input_tokens":7}}
`
		},
		Act: func(thought, tool, file string) string {
			return `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":` + quote(thought) + `},{"type":"tool_use","name":` + quote(tool) + `,"input":{"absolute_path":` + quote(file) + `}}]}}` + "\n"
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"type":"result","subtype":"success","is_error":false,"result":"[API Error: %d no]","usage":{"input_tokens":0}}'`, status)
		},
	})
}
