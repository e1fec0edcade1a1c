package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/sysexit"
)

func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

func TestLoad(t *testing.T) {
	c, err := load(t, `
team:
  approvers: [ana]
codebases:
  - {name: app, path: src}
  - {name: web, path: /srv/web}
watched_chats:
  - {chat_id: C1, codebase: web}
budget:
  investigations_per_day: 0
escalation:
classifier:
  ack_patterns: ["^roger$"]
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CodebaseFor("slack", "C1"); got != "/srv/web" {
		t.Errorf("codebase of C1: %q", got)
	}
	if got := c.CodebaseFor("slack", "C2"); got != filepath.Join(filepath.Dir(c.Path), "src") {
		t.Errorf("codebase of C2: %q", got)
	}
	if *c.Budget.InvestigationsPerDay != 0 || *c.Budget.InvestigationsPerPersonPerDay != 10 || c.Sandbox != "required" || c.Dispatch.Concurrency != 3 {
		t.Errorf("defaults: %+v", c)
	}
}

func TestEmptyIsDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "team:\n"} {
		if c, err := load(t, text); err != nil || c.Investigator.Agent != "search" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for _, tt := range []struct{ text, want, hint string }{
		{"team:\n  aprovers: [ana]\n", `config.yaml:2: unknown key "team.aprovers"`, `did you mean "approvers"`},
		{"sandbox: maybe\n", "config.yaml:1: sandbox:", ""},
		{"\ninvestigator:\n  agent: gpt\n", "config.yaml:3: investigator.agent:", ""},
		{"budget:\n  investigations_per_day: many\n", "config.yaml:2: budget.investigations_per_day:", ""},
		{"classifier:\n  ack_patterns:\n    - ok\n    - '('\n", "config.yaml:4: ack_patterns:", ""},
		{"watched_chats:\n  - chat_id: a\n    codebase: nope\n", `config.yaml:3: no codebase is called "nope"`, ""},
		{"classifier:\n  rules:\n    - name: x\n      when: .a\n      set: {content: y}\n", "config.yaml:5: unknown key", ""},
		{"team: {members: [a]}\nteam: {members: [b]}\n", "config.yaml:", ""},
		{"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "config.yaml", ""},
		{"team: [\n", "config.yaml:", ""},
		{"x: 1\n---\ny: 2\n", "config.yaml", ""},
		{"just words\n", "config.yaml:1", ""},
	} {
		_, err := load(t, tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
			continue
		}
		if status, _ := sysexit.Of(err); status != sysexit.Config {
			t.Errorf("%q: status %d", tt.text, status)
		}
	}
}

func TestSeveralFaultsAtOnce(t *testing.T) {
	_, err := load(t, "sandbox: maybe\nteam:\n  nobody: 1\n")
	if err == nil || strings.Count(err.Error(), "config.yaml:") != 2 {
		t.Errorf("%v", err)
	}
}

func TestSecret(t *testing.T) {
	c := Default()
	file := filepath.Join(t.TempDir(), "token")
	for _, tt := range []struct {
		env  string
		mode os.FileMode
		want string
		ok   bool
	}{{"from-env", 0o644, "from-env", true}, {"", 0o600, "from-file", true}, {"", 0o644, "", false}, {"", 0o640, "", false}} {
		t.Setenv("TRI_TEST_TOKEN", tt.env)
		if err := os.WriteFile(file, []byte("from-file\n"), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tt.mode); err != nil {
			t.Fatal(err)
		}
		got, err := c.Secret("TRI_TEST_TOKEN", file)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("team:\n  approvers: [ana]\n")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := load(t, text)
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
	})
}
