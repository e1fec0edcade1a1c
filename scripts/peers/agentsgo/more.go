package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tri/lib/base/config"
)

// more are the programs that are spoken to by a protocol, and endpoints without
// any program.
func more(bin func(dir, name string) []string, anthropic, openai string) []row {
	base := "http://127.0.0.1:" + openai
	speaking := func(name string, command []string, args ...string) row {
		return row{name: "acp " + name, agent: "acp", command: append(command, args...),
			answer: "SAY", tells: true}
	}
	opencode := speaking("opencode", bin("opencode", "opencode"), "acp")
	opencode.tokens, opencode.find = true, `peer_find {"what":"x"}`
	opencode.read, opencode.write = `read {"filePath":"%s"}`, `write {"filePath":"%s","content":"written"}`
	opencode.env, opencode.change = []string{"OPENCODE_BASE_URL=" + base + "/v1",
		"OPENCODE_CONFIG=" + file("opencode.json", opencodeConfig)}, func(c *config.Agent) {
		c.Env, c.Read = []string{"OPENCODE_CONFIG", "OPENCODE_BASE_URL"},
			[]string{file("opencode.json", opencodeConfig)}
	}
	gemini := speaking("gemini", bin("gemini", "gemini"), "--acp", "--skip-trust", "-m", "gemini-2.5-pro")
	gemini.tokens, gemini.find = true, `mcp_peer_find {"what":"x"}`
	gemini.read, gemini.write = `read_file {"file_path":"%s"}`,
		`write_file {"file_path":"%s","content":"written"}`
	gemini.env = []string{"GEMINI_API_KEY=k-dummy", "GOOGLE_GEMINI_BASE_URL=" + base,
		"GEMINI_CLI_NO_RELAUNCH=true"}
	gemini.change = func(c *config.Agent) {
		c.Env = []string{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_CLI_NO_RELAUNCH"}
	}
	qwen := speaking("qwen", bin("qwen", "qwen"), "--acp", "--auth-type", "openai", "-m", "stub-model")
	qwen.tokens, qwen.trusts, qwen.find = true, true, `mcp__peer__find {"what":"x"}`
	qwen.read, qwen.write = gemini.read, gemini.write
	qwen.env = []string{"OPENAI_API_KEY=k-dummy", "OPENAI_BASE_URL=" + base + "/v1"}
	qwen.change = func(c *config.Agent) { c.Env = []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"} }
	login := file("providers.json", fmt.Sprintf(clineLogin, base))
	cline := row{
		name: "cline", command: bin("cline", "cline"), use: "stub-model", answer: "SAY", tokens: true,
		tells: true, forgets: true,
		read: `read_files {"files":[{"path":"%s"}]}`, write: `editor {"path":"%s","new_text":"written"}`,
		find:   `peer__find {"what":"x"}`,
		change: func(c *config.Agent) { c.Read = []string{login} },
	}
	return []row{opencode, gemini, qwen, cline, endpoint("anthropic", "http://127.0.0.1:"+anthropic),
		endpoint("openai", base+"/v1")}
}

// endpoint is a model without a program.
func endpoint(api, base string) row {
	r := row{
		name: "api " + api, agent: "api", use: "stub-model", answer: "SAY", status: true, tokens: true,
		cost: true, tells: true, inside: true,
		claude: api == "anthropic", env: []string{"PEER_KEY=k-dummy"},
		read: `read_file {"path":"%s"}`, write: `write_file {"path":"%s","content":"written"}`,
		find: `mcp__peer__find {"what":"x"}`,
	}
	r.change = func(c *config.Agent) {
		c.API, c.BaseURL, c.KeyEnv, c.Prices = api, base, "PEER_KEY", &config.Prices{Input: 3, Output: 15}
	}
	return r
}

// file is one beside the models' logs.
func file(name, text string) string {
	at := filepath.Join(os.Args[3], name)
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return at
}

// opencodeConfig has it ask us before it changes or runs anything.
const opencodeConfig = `{"autoupdate":false,"share":"disabled","permission":{"edit":"ask","bash":"ask"},
"provider":{"stub":{"npm":"@ai-sdk/openai-compatible","name":"stub","options":{"baseURL":"{env:OPENCODE_BASE_URL}","apiKey":"k-dummy"},"models":{"stub-model":{"name":"stub"}}}},
"model":"stub/stub-model","small_model":"stub/stub-model"}`

// clineLogin is what `cline auth` would have written.
const clineLogin = `{"version":1,"lastUsedProvider":"openai-compatible","providers":{"openai-compatible":{"settings":{"provider":"openai-compatible",
"apiKey":"k-dummy","model":"stub-model","baseUrl":"%s/v1"},"updatedAt":"2026-01-01T00:00:00.000Z","tokenSource":"manual"}}}`
