package all

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
)

// TestTokens: a program that is given a model's key and its address gets a token and a proxy.
func TestTokens(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-the-real-key")
	for name, base := range map[string]string{
		"acp": "OPENAI_BASE_URL", "aider": "OPENAI_API_BASE", "goose": "OPENAI_HOST", "exec": "OPENAI_BASE_URL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(base, "https://model.example")
			out := filepath.Join(t.TempDir(), "environment")
			a, err := New(config.Agent{Agent: name, Env: []string{"OPENAI_API_KEY", base},
				Command: []string{"bash", "-c", "env >" + out}}, "off")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			_, _ = a.Run(ctx, agent.Task{Codebase: t.TempDir()}) // it returns nothing
			env, err := os.ReadFile(out)
			if err != nil || strings.Contains(string(env), "sk-the-real-key") ||
				!strings.Contains(string(env), "OPENAI_API_KEY=tri-") ||
				!strings.Contains(string(env), base+"=http://127.0.0.1:") {
				t.Errorf("%s, %v", env, err)
			}
		})
	}
}
