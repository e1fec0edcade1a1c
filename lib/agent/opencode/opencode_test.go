package opencode

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
		Tokens: true, Cost: true,
		Say: func(text string) string {
			return `{"type":"step_start","sessionID":"ses_e01654b49ffeJn7afLbBctEUZB","part":{}}
{"type":"text","sessionID":"ses_e01654b49ffeJn7afLbBctEUZB","part":{"text":` + agenttest.Quote(text) + `}}
{"type":"step_finish","sessionID":"ses_e01654b49ffeJn7afLbBctEUZB","part":{"reason":"stop","tokens":{"input":1000,"output":50,"reasoning":1,"cache":{"write":0,"read":3}},"cost":0.25}}
`
		},
		Act: func(thought, tool, file string) string {
			return `{"type":"text","sessionID":"ses_e01654b49ffeJn7afLbBctEUZB","part":{"text":` +
				agenttest.Quote(thought) + `}}
{"type":"tool_use","sessionID":"ses_e01654b49ffeJn7afLbBctEUZB","part":{"tool":` + agenttest.Quote(tool) +
				`,"state":{"input":{"filePath":` + agenttest.Quote(file) + `}}}}
`
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"type":"error","sessionID":"ses_e0","error":{"name":"APIError","data":{"message":"no","statusCode":%d}}}'; exit 1`, status)
		},
	})
}

func FuzzLine(f *testing.F) {
	for _, text := range []string{
		`{"type":"step_start","sessionID":"ses_1"}`,
		`{"type":"text","part":{"text":"x"}}`,
		`{"type":"tool_use","part":{"tool":"t","state":{"input":{"path":"x"}}}}`,
		`{"type":"step_finish","part":{"reason":"stop","cost":1e308,"tokens":{"input":1,"cache":{"read":2}}}}`,
		`{"type":"error","error":{"name":"ProviderAuthError"}}`,
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
