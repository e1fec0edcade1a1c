package goose

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
			first, last := said[:len(said)/2], said[len(said)/2:]
			return `{"type":"message","message":{"id":"m0","role":"assistant","created":1,"content":[{"type":"text","text":"I begin {"}],"metadata":{}}}` + "\n" +
				fmt.Sprintf(`{"type":"message","message":{"id":"m1","role":"assistant","created":1,"content":[{"type":"text","text":%s}],"metadata":{}}}`, agenttest.Quote(first)) + "\n" +
				fmt.Sprintf(`{"type":"message","message":{"id":"m1","role":"assistant","created":1,"content":[{"type":"text","text":%s}],"metadata":{}}}`, agenttest.Quote(last)) + "\n" +
				`{"type":"complete","total_tokens":12,"input_tokens":5,"output_tokens":7}` + "\n"
		},
		Act: func(thought, tool, file string) string {
			return fmt.Sprintf(`{"type":"message","message":{"id":"t","role":"assistant","content":[{"type":"text","text":%s},{"type":"toolRequest","id":"1","toolCall":{"status":"success","value":{"name":%s,"arguments":{"path":%s}}}}]}}`, agenttest.Quote(thought), agenttest.Quote(tool), agenttest.Quote(file)) + "\n"
		},
		Tokens: true, Open: true,
	})
}

// The older format has a single total, which cannot be split.
func TestTotalTokensAreUnknown(t *testing.T) {
	s := new(program.Seen)
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
		s := new(program.Seen)
		new(reader).line(b, s)
	})
}
