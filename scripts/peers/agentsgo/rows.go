package main

import (
	"os"
	"path/filepath"

	"tri/lib/base/config"
)

// row is one program.
type row struct {
	name    string
	command []string
	use     string   // model
	env     []string // KEY=value for the configuration's variables
	claude  bool     // its model is the one that speaks Anthropic's API
	answer  string   // the model's word for a final answer
	status  bool     // it tells the endpoint's HTTP status
	tokens  bool
	cost    bool
	tells   bool // it tells what it does while it does it
	// Calls of tools, as the model makes them: %s is the file, or the command.
	read, write, shell string
	find               string // of the tool find of the server peer; "": it is given no servers
	offered            bool   // the scripted model cannot call such a tool: see that it is offered
	commands           bool

	agent   string                // its name in the configuration; "" is name
	change  func(c *config.Agent) // what else stands there; may be nil
	forgets bool                  // it has no sessions
	trusts  bool                  // it goes on with a session that it does not have
	inside  bool                  // it is not a program, and only reads
}

func (r row) model() string {
	if r.claude {
		return "anthropic"
	}
	return "openai"
}

func rows(anthropic, openai string) []row {
	npm := filepath.Join(os.Getenv("PEERS"), "npm")
	bin := func(dir, name string) []string {
		return []string{filepath.Join(npm, dir, "node_modules/.bin", name)}
	}
	base := "http://127.0.0.1:" + openai
	keys := []string{"OPENAI_API_KEY=k-dummy", "OPENAI_BASE_URL=" + base + "/v1"}
	return append([]row{
		{
			name: "claude", command: bin("claude-latest", "claude"), claude: true, answer: "JSON",
			status: true, tokens: true, cost: true, tells: true,
			env:  []string{"ANTHROPIC_API_KEY=k-dummy", "ANTHROPIC_BASE_URL=http://127.0.0.1:" + anthropic},
			read: `Read {"file_path":"%s"}`, write: `Write {"file_path":"%s","content":"written"}`,
			shell: `Bash {"command":"%s"}`,
			find:  `mcp__peer__find {"what":"x"}`, commands: true,
		},
		{
			name: "codex", command: bin("codex", "codex"), use: "stub-model", env: keys, answer: "SAY",
			status: true, tokens: true, tells: true,
			read: `exec_command {"cmd":"cat %s"}`, write: `exec_command {"cmd":"echo written >%s"}`,
			offered: true,
		},
		{
			name: "gemini", command: bin("gemini", "gemini"), use: "gemini-2.5-pro", answer: "SAY",
			status: true, tokens: true, tells: true,
			env:  []string{"GEMINI_API_KEY=k-dummy", "GOOGLE_GEMINI_BASE_URL=" + base},
			read: `read_file {"file_path":"%s"}`, write: `write_file {"file_path":"%s","content":"written"}`,
			shell: `run_shell_command {"command":"%s"}`, find: `mcp_peer_find {"what":"x"}`,
		},
		{
			name: "opencode", command: bin("opencode", "opencode"), use: "stub-model", env: keys,
			answer: "SAY", status: true, tokens: true, tells: true,
			read: `read {"filePath":"%s"}`, write: `write {"filePath":"%s","content":"written"}`,
			shell: `bash {"command":"%s","description":"x"}`, find: `peer_find {"what":"x"}`,
		},
		{
			name: "qwen", command: bin("qwen", "qwen"), use: "stub-model", env: keys, answer: "SAY",
			status: true, tokens: true, tells: true,
			read: `read_file {"file_path":"%s"}`, write: `write_file {"file_path":"%s","content":"written"}`,
			shell: `run_shell_command {"command":"%s","is_background":false}`,
			find:  `mcp__peer__find {"what":"x"}`,
		},
		{
			name: "continue", command: bin("continue", "cn"), use: "stub-model", env: keys, answer: "SAY",
			status: true, tokens: true,
			read: `Read {"filepath":"%s"}`, write: `Write {"filepath":"%s","content":"written"}`,
			shell: `Bash {"command":"%s"}`, find: `find {"what":"x"}`,
		},
	}, more(bin, anthropic, openai)...)
}
