package exec

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/agent/program"
	"tri/lib/base/config"
)

var newClient = agenttest.Maker(New, func(c *program.Client) (linger, grace *time.Duration) {
	return &c.Linger, &c.Grace
})

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make:  agenttest.As(newClient),
		Say:   func(text string) string { return text + "\n" },
		Plain: true, Open: true,
	})
}

func TestNeedsACommand(t *testing.T) {
	if _, err := New(config.Agent{}, "off"); err == nil {
		t.Error("no command was taken for one")
	}
}

// TestKey: a command that is given a model's key and its address gets a token, and a proxy that adds the
// key; without the address it has the key itself, and the run says so.
func TestKey(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "asked with "+r.Header.Get("Authorization"))
	}))
	defer model.Close()
	t.Setenv("OPENAI_API_KEY", "sk-the-real-key")
	t.Setenv("OPENAI_BASE_URL", model.URL+"/v1")
	const ask = `echo "has $OPENAI_API_KEY"; at=${OPENAI_BASE_URL#http://}; at=${at%/v1}; [ "$at" ] || exit 0
exec 3<>"/dev/tcp/${at/://}"
printf 'GET /v1/models HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n' "$OPENAI_API_KEY" >&3; tail -n1 <&3`
	run := func(env ...string) (text, told string) {
		c, err := New(config.Agent{Command: []string{"bash", "-c", ask}, Env: env}, "off")
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Run(context.Background(), agent.Task{Codebase: t.TempDir(), Watch: func(e agent.Event) {
			if e.Kind == agent.Milestone {
				told += e.Text
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Text, told
	}
	text, told := run("OPENAI_API_KEY", "OPENAI_BASE_URL")
	if !strings.HasPrefix(text, "has tri-") || !strings.Contains(text, "asked with Bearer sk-the-real-key") ||
		told != "" {
		t.Errorf("with the address: %q, told %q", text, told)
	}
	text, told = run("OPENAI_API_KEY")
	if !strings.HasPrefix(text, "has sk-the-real-key") || !strings.Contains(told, "has $OPENAI_API_KEY: ") {
		t.Errorf("without the address: %q, told %q", text, told)
	}
}
