package goose

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
			first, last := said[:len(said)/2], said[len(said)/2:]
			return `{"type":"message","message":{"id":"m0","role":"assistant","created":1,"content":[{"type":"text","text":"I begin {"}],"metadata":{}}}` + "\n" +
				fmt.Sprintf(`{"type":"message","message":{"id":"m1","role":"assistant","created":1,"content":[{"type":"text","text":%s}],"metadata":{}}}`, text(first)) + "\n" +
				fmt.Sprintf(`{"type":"message","message":{"id":"m1","role":"assistant","created":1,"content":[{"type":"text","text":%s}],"metadata":{}}}`, text(last)) + "\n" +
				`{"type":"complete","total_tokens":12,"input_tokens":5,"output_tokens":7}` + "\n"
		},
		Act: func(thought, tool, file string) string {
			return fmt.Sprintf(`{"type":"message","message":{"id":"t","role":"assistant","content":[{"type":"text","text":%s},{"type":"toolRequest","id":"1","toolCall":{"status":"success","value":{"name":%s,"arguments":{"path":%s}}}}]}}`, text(thought), text(tool), text(file)) + "\n"
		},
		Tokens: true, Open: true,
	})
}

// The older form has no figures that could be told apart.
func TestTotalTokensAreUnknown(t *testing.T) {
	s := new(session.Seen)
	new(reader).line([]byte(`{"type":"complete","total_tokens":12}`), s)
	if s.Told || !s.Ended() {
		t.Errorf("told %v, ended %v", s.Told, s.Ended())
	}
}

// Whatever a program prints, it is no more than a line that is passed over.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"type":"message","message":{"role":"assistant","content":[{"type":"toolRequest"}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return // never handed on
		}
		s := new(session.Seen)
		new(reader).line(b, s)
	})
}
