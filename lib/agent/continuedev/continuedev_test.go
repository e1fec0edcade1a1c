package continuedev

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
	c.program.Linger, c.program.Grace = 100*time.Millisecond, 100*time.Millisecond
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
		Plain:  true,
		Begin:  `mkdir -p "$HOME/.continue/sessions"; echo '{"sessionId":"79ad2959-6c7f-4472-a818-97a9346f6965","usage":{}}' >"$HOME/.continue/sessions/79ad2959-6c7f-4472-a818-97a9346f6965.json"`,
		Say: func(text string) string {
			if json.Valid([]byte(text)) {
				return text + "\n"
			}
			return `{"response":` + quote(text) + `,"status":"success","note":"Response was not valid JSON, so it was wrapped in a JSON object"}` + "\n"
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"status":"error","message":"%d no"}' >&2; exit 1`, status)
		},
	})
}
