package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/sysexit"
)

func TestAgentFaultsAreNamed(t *testing.T) {
	const server = "mcp_servers:\n- name: logs\n  "
	const command = server + "commands:\n  - name: find\n    description: d\n    "
	for _, tt := range []struct{ text, want string }{
		{"investigator:\n  agent: acp\n", ":2: investigator.agent: acp needs a command"},
		{"investigator:\n  agent: api\n", ":2: investigator.agent: api needs a model"},
		{"investigator:\n  api: gpt\n",
			":2: investigator.api: is \"gpt\", should be one of: anthropic, openai"},
		{"investigator:\n  key_env: KEY=xyzzy\n",
			`:2: investigator.key_env: "KEY": a variable's name is wanted`},
		{"investigator:\n  base_url: ftp://x\n", ":2: investigator.base_url: want https"},
		{"investigator:\n  base_url: https://me:xyzzy@x\n",
			":2: investigator.base_url: want an address without a password"},
		{"investigator:\n  base_url: http://models.example.com\n",
			":2: investigator.base_url: \"models.example.com\": use https"},
		{"investigator:\n  network: [a:443, 'https://a']\n", ":2: investigator.network[1]:"},
		{"investigator:\n  network: ['*:443']\n", ":2: investigator.network[0]:"},
		{"investigator:\n  prices: {input: 3}\n", ":2: investigator.prices: lacks output"},
		{"investigator:\n  prices: {input: 3, output: -1}\n", ":2: investigator.prices.output: is -1"},
		{"mcp_servers:\n- name: logs\n  url: https://x\n", ":2: mcp_servers[0].name: needs tools"},
		{server + "url: https://x\n  tools: []\n", ":2: mcp_servers[0].name: needs tools"},
		{server + "tools: [a]\n", ":2: mcp_servers[0]: needs a command, a url or commands"},
		{server + "tools: [a]\n  url: https://x\n  command: [x]\n",
			":2: mcp_servers[0]: needs a command, a url or commands"},
		{server + "url: https://x\n  tools: ['*']\n",
			`:4: mcp_servers[0].tools[0]: "*": want the name of one tool`},
		{server + "url: https://x\n  tools: [search_logs, create_issue]\n",
			`:4: mcp_servers[0].tools[1]: "create_issue": its name suggests`},
		{server + "url: https://x\n  tools: [deleteMonitor]\n",
			`:4: mcp_servers[0].tools[0]: "deleteMonitor": its name suggests`},
		{server + "url: http://x\n  tools: [a]\n", ":3: mcp_servers[0].url:"},
		{server + "url: https://x\n  tools: [a]\n- name: logs\n  command: [x]\n  tools: [a]\n",
			`:5: mcp_servers[1].name: two servers are called "logs"`},
		{"mcp_servers:\n- name: My Logs\n  command: [x]\n  tools: [a]\n", ":2: mcp_servers[0].name:"},
		{server + "command: [x]\n  env: ['A=xyzzy']\n  tools: [a]\n",
			":4: mcp_servers[0].env[0]: \"A\": a variable's name"},
		{server + "url: https://x\n  tools: [a]\n  destructive: [b]\n",
			`:5: mcp_servers[0].destructive[0]: "b" is not among the tools`},
		{command + "argv: [x]\n  url: https://x\n", ":2: mcp_servers[0]: needs a command, a url or commands"},
		{command + "argv: [x]\n  tools: [find]\n", ":2: mcp_servers[0].name: its commands are the tools"},
		{command + "argv: []\n", ":4: mcp_servers[0].commands[0].name: needs argv"},
		{command + "argv: [x]\n    timeout_sec: 601\n", ":7: mcp_servers[0].commands[0].timeout_sec: is 601"},
		{command + "argv: [x]\n  - {name: find, description: d, argv: [x]}\n",
			`:7: mcp_servers[0].commands[1].name: two commands are called "find"`},
		{strings.Replace(command, "find", "drop_index", 1) + "argv: [x]\n",
			`:4: mcp_servers[0].commands[0].name: "drop_index": its name suggests`},
		{command + "argv: [x, 'a {q} b']\n    holes: [{name: q}]\n",
			`:6: mcp_servers[0].commands[0].argv[1]: "a {q} b": a hole is a whole argument`},
		{command + "argv: ['{q}']\n    holes: [{name: q}]\n", `:6: mcp_servers[0].commands[0].argv[0]: "{q}": a hole`},
		{command + "argv: [/bin/sh, -c, '{q}']\n    holes: [{name: q}]\n",
			`:6: mcp_servers[0].commands[0].argv[0]: "sh" executes text`},
		{command + "argv: [x, '{q}']\n", `:6: mcp_servers[0].commands[0].argv[1]: no hole is called "q"`},
		{command + "argv: [x]\n    holes: [{name: q}]\n", ":7: mcp_servers[0].commands[0].holes[0].name: no argument"},
		{command + "argv: [x, '{q}']\n    holes: [{name: q}, {name: q}]\n", `holes[1].name: two holes are called "q"`},
		{command + "argv: [x, '{q}']\n    holes: [{name: q, pattern: 'a)|(b'}]\n", "holes[0].name: error parsing"},
		{command + "argv: [x, '{q}']\n    holes: [{name: q, pattern: a, values: [a]}]\n",
			"holes[0].name: has values and a pattern"},
	} {
		_, err := load(t, tt.text)
		if err == nil || !strings.Contains(err.Error(), "config.yaml:") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "xyzzy") {
			t.Errorf("%q: a secret is repeated: %v", tt.text, err)
		}
		if status, _ := sysexit.Of(err); err != nil && status != sysexit.Config {
			t.Errorf("%q: status %d", tt.text, status)
		}
	}
}

// TestCommandsAreTools: commands are the tools of their server, and long_runs keeps one from other runs.
func TestCommandsAreTools(t *testing.T) {
	c, err := load(t, `mcp_servers:
- name: splunk
  commands:
  - {name: search, description: d, argv: [x, "--since={since}", --, "{query}"], holes: [{name: since}, {name: query}]}
  - {name: indexes, description: d, argv: [sh, -c, "x | y"], timeout_sec: 5}
- {name: browser, command: [x], tools: [a], long_runs: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Servers(false)
	if len(s) != 1 || fmt.Sprint(s[0].Tools) != "[search indexes]" || s[0].Commands[0].TimeoutSec != 60 ||
		s[0].Commands[1].TimeoutSec != 5 {
		t.Errorf("%+v", s)
	}
	if all := c.Servers(true); len(all) != 2 || all[1].Name != "browser" || len(c.MCPServers) != 2 {
		t.Errorf("long runs: %+v", all)
	}
}

func TestReadToolsPass(t *testing.T) {
	for _, name := range []string{"search_logs", "get-issue", "listMonitors", "query_prometheus",
		"settings.read", "address_lookup", "startup_times", "addresses"} {
		if err := readTool(name); err != nil {
			t.Error(err)
		}
	}
}

func TestAgentDefaults(t *testing.T) {
	c, err := load(t, "investigator: {agent: api, model: m, api: openai, key_file: keys/k}\nvalidator: {agent: api, model: m}\n")
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Investigator, c.Validator
	if a.BaseURL != "https://api.openai.com/v1" || a.KeyEnv != "" ||
		a.KeyFile != filepath.Join(filepath.Dir(c.Path), "keys/k") || a.MaxOutputTokens != 8192 {
		t.Errorf("%+v", a)
	}
	if b.BaseURL != "https://api.anthropic.com" || b.KeyEnv != "ANTHROPIC_API_KEY" || b.Prices != nil {
		t.Errorf("%+v", b)
	}
}

// The keys given to agents and servers are among the secrets that no draft may contain.
func TestSecretsOfAgentsAndServers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte("key-from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LOGS_TOKEN", "token-of-the-logs")
	t.Setenv("LOGS_COOKIE", "cookie-of-the-logs")
	t.Setenv("GEMINI_API_KEY", "key-of-another-agent") // as it may be in a user's environment
	t.Setenv("BOX_KEY", "key-of-the-box's-agent")
	c, err := load(t, "investigator: {agent: api, model: m, key_file: "+file+
		"}\nbox: {agent: {agent: claude, env: [BOX_KEY]}}\n"+
		"mcp_servers:\n- {name: logs, url: 'https://x', token_env: LOGS_TOKEN, tools: [a]}\n- {name: more, command: [x], env: [LOGS_COOKIE], tools: [a]}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"key-from-a-file", "token-of-the-logs", "cookie-of-the-logs",
		"key-of-another-agent", "key-of-the-box's-agent"} {
		if !slices.Contains(c.Secrets(), want) {
			t.Errorf("%q is not among the secrets", want)
		}
	}
}

// TestValidatorModel: a validator of the investigator's program uses its model, unless it names another.
func TestValidatorModel(t *testing.T) {
	for text, want := range map[string]string{
		"investigator: {agent: claude, model: m}\nvalidator: {agent: claude}\n":           "m",
		"investigator: {agent: claude, model: m}\nvalidator: {agent: claude, model: n}\n": "n",
		"investigator: {agent: claude, model: m}\nvalidator: {agent: codex}\n":            "",
		"investigator: {agent: claude, model: m}\n":                                       "",
	} {
		if c, err := load(t, text); err != nil || c.Validator.Model != want {
			t.Errorf("%s: %q, %v", text, c.Validator.Model, err)
		}
	}
}
