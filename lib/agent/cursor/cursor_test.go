package cursor

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
			return `{"type":"system","subtype":"init","apiKeySource":"env","session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff","model":"m","permissionMode":"default"}` + "\n" +
				`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"hm"}]},"session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff"}` + "\n" +
				fmt.Sprintf(`{"type":"result","subtype":"success","duration_ms":12,"is_error":false,"result":%s,"session_id":"c6b62c6f-7ead-4fd6-9922-e952131177ff"}`, agenttest.Quote(said)) + "\n"
		},
		Act: func(thought, tool, file string) string {
			return fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%s}]}}`, agenttest.Quote(thought)) + "\n" +
				fmt.Sprintf(`{"type":"tool_call","subtype":"started","call_id":"t1","tool_call":{"%sToolCall":{"args":{"path":%s}}}}`, tool, agenttest.Quote(file)) + "\n"
		},
	})
}

// Whatever a program prints, it is no more than a line that is passed over.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"type":"tool_call","subtype":"started","tool_call":{"x":null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return // never handed on
		}
		s := new(program.Seen)
		tool(b, s)
	})
}
