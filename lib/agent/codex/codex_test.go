package codex

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
			return `{"type":"thread.started","thread_id":"01a1fe98-23c5-77d2-8704-74540d63b908"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found"}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":` + agenttest.Quote(text) + `}}
{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":10,"output_tokens":50}}
`
		},
		Act: func(thought, tool, file string) string {
			return `{"type":"item.completed","item":{"type":"reasoning","text":` +
				agenttest.Quote(thought) + `}}
{"type":"item.started","item":{"type":"mcp_tool_call","tool":` + agenttest.Quote(tool) +
				`,"arguments":{"path":` + agenttest.Quote(file) + `}}}
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
		s := new(program.Seen)
		line(text, s)
		line(text, s)
		if len(s.Text()) > 2*len(text)*3 { // an invalid byte becomes three
			t.Errorf("%d bytes of words from %q", len(s.Text()), text)
		}
	})
}
