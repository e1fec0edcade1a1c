package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/durable"
)

// TestNats: what tri-nats status says is judged; without nats.url nothing is asked.
func TestNats(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for name, tt := range map[string]struct {
		on, prints string
		want       []string
	}{
		"all well": {config.Queue, `{"version":"2.15.2","tri":"v1","logs":[{"name":"events","bytes":10,"here":10}],
			"workers":[{"worker":"w1","version":"v1","slots":2,"running":1}]}`,
			[]string{"ok nats server 2.15.2", "ok nats logs 1 logs", "ok nats worker w1 1 of 2"}},
		"behind, skewed, other version": {"", `{"tri":"v1","skew_s":-9,"logs":[
			{"name":"events","bytes":10,"here":100000},{"name":"replies","bytes":100000,"here":10}],
			"workers":[{"worker":"w\u001b[2J","version":"v0","slots":1}]}`,
			[]string{"warn nats clock", "warn nats events the server lacks 99990",
				"warn nats replies this machine lacks 99990", "has version v0, this machine v1"}},
		"nobody":           {config.Queue, `{"workers":[]}`, []string{"warn nats workers none answers"}},
		"nobody, and jobs": {"", `{"waiting":3}`, []string{"fail nats workers none answers, and 3 jobs wait"}},
		"no server":        {"", `"`, []string{"fail nats no servers"}},
	} {
		script := "#!/bin/sh\ncat <<'X'\n" + tt.prints + "\nX\n"
		if strings.HasPrefix(tt.prints, `"`) {
			script = "#!/bin/sh\necho no servers >&2\nexit 69\n"
		}
		if err := os.WriteFile(filepath.Join(bin, "tri-nats"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		x := &checker{config: config.Default(), home: h}
		if x.nats(t.Context()); len(x.checks) > 0 {
			t.Errorf("%s: asked without nats.url: %v", name, x.checks)
		}
		x.config.Nats.URL, x.config.Investigator.On = "nats://127.0.0.1:1", tt.on
		x.nats(t.Context())
		var got strings.Builder
		for _, c := range x.checks {
			got.WriteString(c.Status + " " + c.Name + " " + c.Message + "\n")
		}
		for _, want := range tt.want {
			if !strings.Contains(got.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, got.String())
			}
		}
		if strings.Contains(got.String(), "\x1b") {
			t.Errorf("%s: raw", name)
		}
	}
}
