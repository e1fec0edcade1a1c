package codex

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
			return `{"type":"thread.started","thread_id":"01a1fe98-23c5-77d2-8704-74540d63b908"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found"}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":` + quote(text) + `}}
{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":10,"output_tokens":50}}
`
		},
		Act: func(thought, tool, file string) string {
			return `{"type":"item.completed","item":{"type":"reasoning","text":` + quote(thought) + `}}
{"type":"item.started","item":{"type":"mcp_tool_call","tool":` + quote(tool) + `,"arguments":{"path":` + quote(file) + `}}}
`
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"type":"turn.failed","error":{"message":"unexpected status %d Unauthorized: no, url: http://x/"}}'; exit 1`, status)
		},
	})
}

func FuzzLine(f *testing.F) {
	for _, text := range []string{
		`{"type":"thread.started","thread_id":"x"}`,
		`{"type":"item.started","item":{"type":"command_execution","command":"ls"}}`,
		`{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a"}]}}`,
		`{"type":"turn.completed","usage":{"input_tokens":-1}}`,
		`{"type":"turn.failed","error":{"message":"unexpected status 401"}}`,
		"{", "null", "[]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := new(session.Seen)
		line(text, s)
		line(text, s)
		if len(s.Text()) > 2*len(text)*3 { // three bytes for one that is none
			t.Errorf("%d bytes of words from %q", len(s.Text()), text)
		}
	})
}
