package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tri/lib/base/config"
)

// more are the programs that are spoken to by the Agent Client Protocol.
func more() []program {
	npm := filepath.Join(os.Getenv("PEERS"), "npm")
	acp := func(name string, args ...string) config.Agent {
		return config.Agent{Agent: "acp",
			Command: append([]string{filepath.Join(npm, name, "node_modules/.bin", name)}, args...)}
	}
	var all []program
	for _, p := range programs() {
		switch p.name {
		case "opencode":
			p.cfg = acp("opencode", "acp")
			settings, _ := json.Marshal(map[string]any{ // strings and maps
				"autoupdate": false, "share": "disabled", "model": "stub/stub-model",
				"small_model": "stub/stub-model",
				"provider": map[string]any{"stub": map[string]any{
					"npm": "@ai-sdk/openai-compatible", "name": "stub",
					"options": map[string]any{"baseURL": "{env:OPENAI_BASE_URL}", "apiKey": "x"},
					"models": map[string]any{"stub-model": map[string]any{"name": "stub",
						"limit": map[string]any{"context": 200000, "output": 8192}}},
				}},
			})
			p.env = append(p.env, "OPENCODE_CONFIG_CONTENT="+string(settings))
		case "gemini":
			p.cfg = acp("gemini", "--acp", "--skip-trust", "-m", "gemini-2.5-pro")
		case "qwen":
			p.cfg = acp("qwen", "--acp", "--auth-type", "openai")
		default:
			continue
		}
		p.cfg.Steer = map[string]string{"opencode": config.SteerPrompt, "qwen": config.SteerPrompt,
			"gemini": config.SteerLoad}[p.name]
		p.name = "acp:" + p.name
		all = append(all, p)
	}
	return all
}
