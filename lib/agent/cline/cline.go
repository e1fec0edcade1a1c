// Package cline runs cline: `cline --json`. Its behaviour was observed with version 3.0.65 and a
// scripted model (scripts/peers/agents repeats this):
//
//   - it reads standard input only from a pipe, and only beside an argument of several words;
//   - it cannot resume a session and print JSON: --id is refused with --json;
//   - unless everything is approved even reading is denied, and the run aborted: so
//     everything is approved, in the mode `plan` for read-only runs. That mode still has a
//     shell: the sandbox confines it;
//   - an aborted run exits with status 0: finishReason decides;
//   - a cost of 0 means unknown;
//   - it leaves a server process behind, which ends with the run.
package cline

import (
	"cmp"
	"encoding/json"
	"io"

	"tri/lib/agent"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/durable"
)

// New takes program and model from cfg. Provider and key are in the file providers.json that
// `cline auth` writes (~/.cline/data/settings): name it under `read:`.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "cline", func(c *program.Client) {
		c.Stateless, c.Servers, c.LoginAt = true, true, ".cline/data/settings/providers.json"
		c.Can, c.Start = agent.Capabilities{Writes: true, Servers: true, Cost: true}, call
	})
}

// told is the argument that makes it read standard input.
const told = "The task stands on standard input."

func call(t program.Turn) (program.Call, error) {
	provider, reach := provider(t)
	servers := t.Servers()
	for _, s := range t.Task.Servers {
		servers[s.Name]["autoApprove"] = s.Tools
	}
	if _, err := t.WriteJSON(".cline/data/settings/cline_mcp_settings.json",
		map[string]any{"mcpServers": servers}); err != nil {
		return program.Call{}, err
	}
	call := program.Call{
		Args: []string{"--json", "--auto-approve", "true", "--retries", "3"}, Set: []string{"NO_COLOR=1"},
		Reach: reach, Serve: true, Line: line,
		Talk: func(in io.WriteCloser, _ *program.Seen) {
			go func() {
				_, _ = io.WriteString(in, t.Prompt) // a program that does not read it reports so by its exit
				_ = in.Close()
			}()
		},
	}
	if !t.Task.Write {
		call.Args = append(call.Args, "--plan")
	}
	call.Option("--provider", provider)
	call.Option("--model", t.Model)
	call.Args = append(call.Args, told)
	return call, nil
}

// endpoints are the endpoints of common providers.
var endpoints = map[string]string{
	"anthropic": "https://api.anthropic.com", "openai-native": "https://api.openai.com",
	"openrouter": "https://openrouter.ai",
	"gemini":     "https://generativelanguage.googleapis.com", "cline": "https://api.cline.bot",
}

// provider returns the login's provider and its endpoint.
func provider(t program.Turn) (name string, reach []string) {
	var login struct {
		Last      string `json:"lastUsedProvider"`
		Providers map[string]struct {
			Settings struct {
				BaseURL string `json:"baseUrl"`
			} `json:"settings"`
		} `json:"providers"`
	}
	text, err := durable.ReadPath(t.Login())
	if err != nil || json.Unmarshal(text, &login) != nil || !program.ValidID(login.Last) {
		return "", agent.Endpoint(endpoints["cline"])
	}
	return login.Last, agent.Endpoint(cmp.Or(login.Providers[login.Last].Settings.BaseURL,
		endpoints[login.Last]))
}

// event holds the parsed fields of a line.
type event struct {
	Type    string `json:"type"`
	Message string `json:"message"` // of error
	Event   struct {
		Type        string          `json:"type"`
		ContentType string          `json:"contentType"`
		Text        string          `json:"text"`
		ToolName    string          `json:"toolName"`
		Input       json.RawMessage `json:"input"`
	} `json:"event"` // of agent_event

	FinishReason string `json:"finishReason"` // of run_result
	Iterations   int    `json:"iterations"`
	Text         string `json:"text"`
	Usage        *struct {
		Input  int64   `json:"inputTokens"`
		Output int64   `json:"outputTokens"`
		Cost   float64 `json:"totalCost"`
	} `json:"usage"`
	Model struct {
		ID string `json:"id"`
	} `json:"model"`
}

func line(line []byte, s *program.Seen) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "error":
		s.Err = program.Refused(0, e.Message, "")
	case "agent_event":
		switch {
		case e.Event.Type == "content_start" && e.Event.ContentType == "tool":
			s.Call(e.Event.ToolName, e.Event.Input)
		case e.Event.Type == "content_end" && e.Event.ContentType != "tool":
			s.Thought(e.Event.Text)
		}
	case "run_result":
		s.Err = nil
		e.result(s)
	}
}

func (e *event) result(s *program.Seen) {
	s.Model, s.Usage.Turns = e.Model.ID, e.Iterations
	if u := e.Usage; u != nil && u.Input+u.Output > 0 {
		s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = u.Input, u.Output, true
		if u.Cost > 0 {
			s.Usage.CostUSD = &u.Cost
		}
	}
	s.Say(e.Text)
	switch e.FinishReason {
	case "completed":
	case "max_iterations", "mistake_limit":
		s.Err = program.Spent(e.FinishReason)
	default:
		s.Err = program.Refused(0, e.FinishReason+": "+e.Text, "")
	}
	s.End()
}
