package aider

import (
	"testing"
	"time"

	"tri/lib/agent/agenttest"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
)

var newClient = agenttest.Maker(New, func(c *program.Client) (linger, grace *time.Duration) {
	return &c.Linger, &c.Grace
})

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make: agenttest.As(newClient),
		Say: func(said string) string {
			return "Aider v0.86.1\nMain model: m with diff edit format\nGit repo: .git with 2 files\n\n" +
				said + "\n\nTokens: 1.2k sent, 300 received. Cost: $0.25 message, $0.50 session.\n"
		},
		Refuse: func(status int) string {
			name := map[int]string{401: "Authentication", 429: "RateLimit", 529: "InternalServer",
				400: "BadRequest"}[status]
			return "echo 'litellm." + name + "Error: no'"
		},
		Cost: true, Plain: true,
	})
}

// An error that was overcome by a retry is not reported.
func TestTriedAgain(t *testing.T) {
	s := new(program.Seen)
	for _, l := range []string{"litellm.RateLimitError: slow", "the answer"} {
		line([]byte(l), s)
	}
	if exit(proc.Exit{}, s); s.Err != nil || !s.Ended() {
		t.Errorf("%v, ended %v", s.Err, s.Ended())
	}
}

// Whatever a program prints, it is no more than a line that is passed over.
func FuzzLine(f *testing.F) {
	f.Add([]byte("Tokens: 1 sent, 2 received. Cost: $. message, $... session."))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return // never handed on
		}
		s := new(program.Seen)
		line(b, s)
	})
}
