package gemini

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
			return `{"type":"init","session_id":"0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10","model":"gemini-2.5-pro"}
{"type":"message","role":"user","content":"{\"answer\":1}"}
{"type":"message","role":"assistant","content":"","delta":true}
{"type":"message","role":"assistant","content":` + agenttest.Quote(text) + `,"delta":true}
{"type":"result","status":"success","stats":{"total_tokens":1050,"input_tokens":1000,"output_tokens":50}}
`
		},
		Act: func(thought, tool, file string) string {
			return `{"type":"message","role":"assistant","content":` + agenttest.Quote(thought) +
				`,"delta":true}
{"type":"tool_use","tool_name":` + agenttest.Quote(tool) + `,"tool_id":"1","parameters":{"file_path":` +
				agenttest.Quote(file) + `}}
`
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"type":"result","status":"error","error":{"type":"unknown","message":"no"},"stats":{"input_tokens":0}}'; exit %d`, status&0xff)
		},
	})
}

func FuzzLine(f *testing.F) {
	for _, text := range []string{
		`{"type":"init","session_id":"x","model":"m"}`,
		`{"type":"message","role":"assistant","content":"x","delta":true}`,
		`{"type":"tool_use","tool_name":"t","parameters":[1]}`,
		`{"type":"result","status":"error","error":{"message":"no"},"stats":{"input_tokens":1}}`,
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
