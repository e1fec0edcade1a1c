// Package opencode runs opencode: `opencode run --format json`. Its behaviour was observed with
// version 1.18.33 and a scripted model (scripts/peers/agents repeats this):
//
//   - it names a new session itself, on every line;
//   - it has no final line: the step that ends without a tool call is the last;
//   - a cost of 0 means that it has no price for the model;
//   - denied tools are not offered to the model.
package opencode

import (
	"cmp"
	"encoding/json"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
)

// endpoints are those of the providers that it knows, by the first part of a model's name. Others
// are named under `network:`.
var endpoints = map[string]string{
	"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com",
	"google":     "https://generativelanguage.googleapis.com",
	"openrouter": "https://openrouter.ai", "opencode": "https://opencode.ai",
}

// models are the endpoints that need only a key; bases maps the providers to the variables with
// their addresses.
var (
	models = []program.Model{
		program.OpenAI,
		{Key: "ANTHROPIC_API_KEY", Header: program.XAPIKey, Base: "ANTHROPIC_BASE_URL",
			Usual: "https://api.anthropic.com/v1"},
		{Key: "GEMINI_API_KEY", Header: program.GoogleKey, Base: "GOOGLE_GEMINI_BASE_URL",
			Usual: "https://generativelanguage.googleapis.com/v1beta"},
		{Key: "OPENROUTER_API_KEY", Header: program.Bearer, Base: "OPENROUTER_BASE_URL",
			Usual: "https://openrouter.ai/api/v1"},
	}
	bases = map[string]string{"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL",
		"google": "GOOGLE_GEMINI_BASE_URL", "openrouter": "OPENROUTER_BASE_URL"}
)

// tools maps a task's tools to the names that the program has for them.
var tools = map[string][]string{"Read": {"read", "list"}, "Grep": {"grep"}, "Glob": {"glob", "list"},
	"Write": {"edit"}}

// set keeps it from downloading and from reading the codebase's configuration.
var set = []string{
	"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
	"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
	"OPENCODE_PURE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
	"OPENCODE_DISABLE_CLAUDE_CODE=1",
}

// New takes program, model (as provider/model) and environment from cfg. If OPENAI_BASE_URL is
// set, the model is one of that endpoint. For a login instead of a key, name the file auth.json
// under `read:`.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "opencode", func(c *program.Client) {
		c.AssignsSessionID, c.Servers, c.LoginAt, c.Models = true, true, ".local/share/opencode/auth.json",
			models
		c.Can = agent.Capabilities{Resumes: true, Forks: true, Writes: true, Servers: true, Cost: true,
			Narrows: true}
		c.Start = call
	})
}

func call(t program.Turn) (program.Call, error) {
	provider, _, _ := strings.Cut(t.Model, "/")
	call := program.Call{
		Args: []string{"run", "--format", "json", "--title", "tri"}, Set: set, Line: line, Exit: exit,
		Reach: t.Endpoint(endpoints[provider], "OPENAI_BASE_URL"),
	}
	if t.Again {
		call.Args = append(call.Args, "--session", t.Session)
	}
	_, err := t.WriteJSON(".config/opencode/opencode.json", settings(t))
	return call, err
}

func settings(t program.Turn) map[string]any {
	all := map[string]any{
		"autoupdate": false, "share": "disabled", "snapshot": false,
		"permission": permissions(t), "mcp": servers(t),
	}
	model := t.Model
	providers := map[string]any{}
	for name, variable := range bases {
		if at := t.Base(variable); at != "" {
			providers[name] = map[string]any{"options": map[string]string{"baseURL": at}}
		}
	}
	all["provider"] = providers
	if t.Variable("OPENAI_BASE_URL") != "" {
		name := cmp.Or(model[strings.Index(model, "/")+1:], "default")
		model = "tri/" + name
		providers["tri"] = map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "tri",
			"models": map[string]any{name: map[string]any{"name": name}},
			"options": map[string]string{"baseURL": t.Base("OPENAI_BASE_URL"),
				"apiKey": "{env:OPENAI_API_KEY}"},
		}
	}
	if model != "" {
		all["model"], all["small_model"] = model, model
	}
	return all
}

// rule is one permission. Of several that match the last counts, so their order matters.
type rule struct {
	Name string
	To   any
}

type rules []rule

func (r rules) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, one := range r {
		name, err := json.Marshal(one.Name)
		if err != nil {
			return nil, err
		}
		to, err := json.Marshal(one.To)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), to...)
	}
	return append(out, '}'), nil
}

// permissions denies everything that is not listed.
func permissions(t program.Turn) rules {
	paths := rules{{"*", "allow"}}
	for _, name := range t.Task.Hidden {
		// Relative to the root of a repository or, if there is none, of the file system.
		for _, at := range []string{name, "*/" + name} {
			paths = append(paths, rule{at, "deny"}, rule{at + "/*", "deny"})
		}
	}
	all := rules{{"*", "deny"}, {"external_directory", "deny"}}
	for _, name := range program.Tools(t, tools) {
		switch name {
		case "read", "edit":
			all = append(all, rule{name, paths})
		default:
			all = append(all, rule{name, "allow"})
		}
	}
	if commands := program.Commands(t.Task); commands != nil {
		shell := rules{{"*", "deny"}}
		for _, command := range commands {
			shell = append(shell, rule{command, "allow"}, rule{command + " *", "allow"})
		}
		all = append(all, rule{"bash", shell})
	}
	for _, s := range t.Task.Servers {
		for _, tool := range s.Tools {
			all = append(all, rule{s.Name + "_" + tool, "allow"})
		}
	}
	return all
}

// servers returns the tool servers in the program's format.
func servers(t program.Turn) map[string]any {
	all := map[string]any{}
	for _, s := range t.Task.Servers {
		all[s.Name] = map[string]any{"type": "local", "enabled": true, "command": s.Command}
	}
	return all
}

// event holds the parsed fields of a line.
type event struct {
	Type      string `json:"type"`
	SessionID string `json:"sessionID"`
	Error     struct {
		Name string `json:"name"`
		Data struct {
			Message    string `json:"message"`
			StatusCode int    `json:"statusCode"`
		} `json:"data"`
	} `json:"error"`
	Part struct {
		Text  string `json:"text"`
		Tool  string `json:"tool"`
		State struct {
			Input json.RawMessage `json:"input"`
		} `json:"state"`
		Reason string  `json:"reason"`
		Cost   float64 `json:"cost"`
		Tokens *struct {
			Input, Output, Reasoning int64
			Cache                    struct{ Read, Write int64 }
		} `json:"tokens"`
	} `json:"part"`
}

func line(line []byte, s *program.Seen) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	s.Session(e.SessionID)
	switch e.Type {
	case "step_start":
		s.Say("") // the text before was not the answer
	case "text":
		s.Thought(e.Part.Text)
		s.Add(e.Part.Text)
	case "reasoning":
		s.Thought(e.Part.Text)
	case "tool_use":
		s.Call(e.Part.Tool, e.Part.State.Input)
	case "step_finish":
		e.finish(s)
	case "error":
		status := e.Error.Data.StatusCode
		if e.Error.Name == "ProviderAuthError" {
			status = 401
		}
		s.Err = program.Refused(status, e.Error.Name+": "+e.Error.Data.Message, "the provider's API key")
		s.End()
	}
}

// finish handles the end of a step; the last step ends the run.
func (e *event) finish(s *program.Seen) {
	s.Usage.Turns++
	if u := e.Part.Tokens; u != nil {
		s.Usage.InputTokens += u.Input + u.Cache.Read + u.Cache.Write
		s.Usage.OutputTokens += u.Output + u.Reasoning
		s.Told = true
	}
	if e.Part.Cost > 0 {
		sum := e.Part.Cost
		if s.Usage.CostUSD != nil {
			sum += *s.Usage.CostUSD
		}
		s.Usage.CostUSD = &sum
	}
	if e.Part.Reason != "" && e.Part.Reason != "tool-calls" {
		s.End()
	}
}

func exit(e proc.Exit, s *program.Seen) {
	if !s.Ended() && strings.Contains(strings.ToLower(e.Stderr), "session not found") {
		s.Err = program.NoSession(e.Stderr)
	}
}
