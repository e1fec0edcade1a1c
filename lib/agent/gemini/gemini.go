// Package gemini runs Google's Gemini CLI: `gemini -o stream-json`. Its behaviour was observed
// with version 0.61.0 and a scripted model (scripts/peers/agents repeats this):
//
//   - the prompt is standard input, without -p;
//   - the codebase's settings override ours, and system settings must be owned by root: in
//     the sandbox the codebase's settings are hidden;
//   - the exit status is the endpoint's status, modulo 256;
//   - if its tools are listed, those of servers must be listed as well;
//   - its text before a tool call is reported like the text after it.
package gemini

import (
	"encoding/json"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
)

// tools maps a task's tools to the names that the program has for them.
var tools = map[string][]string{
	"Read": {"read_file", "list_directory"}, "Grep": {"grep_search"}, "Glob": {"glob"},
	"Bash":  {"run_shell_command"},
	"Write": {"replace", "write_file"},
}

// New takes program, model and environment from cfg. For a login instead of a key, name the file
// oauth_creds.json under `read:`.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "gemini", func(c *program.Client) {
		c.Servers, c.LoginAt, c.Settings = true, ".gemini/oauth_creds.json", []string{".gemini"}
		c.Models = []program.Model{program.Gemini}
		c.Can = agent.Capabilities{Resumes: true, Forks: true, Writes: true, Servers: true, Narrows: true}
		c.Start = call
	})
}

func call(t program.Turn) (program.Call, error) {
	call := program.Call{
		Reach: t.Endpoint("https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL"),
		Set:   []string{"GEMINI_CLI_NO_RELAUNCH=true", "NO_COLOR=1"},
		Line:  line, Exit: exit,
	}
	if t.Login() != "" {
		call.Reach = append(call.Reach, "cloudcode-pa.googleapis.com:443", "oauth2.googleapis.com:443")
	}
	if _, err := t.WriteJSON(".gemini/settings.json", settings(t)); err != nil {
		return call, err
	}
	call.Args = []string{"--output-format", "stream-json", "--skip-trust", "--extensions", "none",
		"--approval-mode", "default"}
	if t.Task.Write {
		call.Args[len(call.Args)-1] = "auto_edit"
	}
	call.Option("--model", t.Model)
	call.Args = append(call.Args, t.Named()...)
	return call, nil
}

// settings returns the user settings.
func settings(t program.Turn) map[string]any {
	auth := "gemini-api-key"
	if t.Login() != "" {
		auth = "oauth-personal"
	}
	var named []string
	for _, s := range t.Task.Servers {
		for _, tool := range s.Tools {
			named = append(named, "mcp_"+s.Name+"_"+tool)
		}
	}
	all := program.GeminiSettings(t, tools, named...)
	all["security"] = map[string]any{"auth": map[string]any{"selectedType": auth}}
	all["general"] = map[string]any{"enableAutoUpdate": false, "maxAttempts": 3}
	all["hooksConfig"] = map[string]any{"enabled": false}
	all["advanced"] = map[string]any{"ignoreLocalEnv": true}
	if t.Task.MaxTurns > 0 {
		all["model"] = map[string]any{"maxSessionTurns": t.Task.MaxTurns}
	}
	return all
}

// event holds the parsed fields of a line.
type event struct {
	Type       string          `json:"type"`
	SessionID  string          `json:"session_id"`
	Model      string          `json:"model"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	ToolName   string          `json:"tool_name"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Error      struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Message string `json:"message"` // of error
	Stats   struct {
		Input  int64 `json:"input_tokens"` // including cached tokens
		Output int64 `json:"output_tokens"`
	} `json:"stats"`
}

func line(line []byte, s *program.Seen) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch {
	case e.Type == "init":
		s.Model = e.Model
		s.Session(e.SessionID)
	case e.Type == "message" && e.Role == "assistant":
		s.Thought(e.Content)
		s.Add(e.Content)
	case e.Type == "tool_use":
		s.Call(e.ToolName, e.Parameters)
		s.Say("") // the text before was not the answer
	case e.Type == "error":
		s.Milestone(e.Message)
	case e.Type == "result":
		if e.Stats.Input > 0 || e.Stats.Output > 0 {
			s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = e.Stats.Input, e.Stats.Output, true
		}
		if e.Status != "success" {
			s.Err = program.Refused(0, e.Error.Message, "")
		}
		s.End()
	}
}

// Exit statuses of the program itself.
const (
	exitAuth  = 41
	exitTurns = 53
)

// exit evaluates the status, which says more than the lines.
func exit(e proc.Exit, s *program.Seen) {
	said := e.Stderr
	if s.Err != nil {
		said = s.Err.Error()
	}
	switch {
	case e.Status == exitTurns:
		s.Err = program.Spent(said)
	case e.Status == exitAuth:
		s.Err = program.Refused(401, said, "GEMINI_API_KEY")
	case strings.Contains(e.Stderr, "Error resuming session"):
		s.Err = program.NoSession(said)
	case s.Err != nil && !e.Stopped && httpStatus(e.Status) > 0:
		s.Err = program.Refused(httpStatus(e.Status), said, "GEMINI_API_KEY")
	}
}

// httpStatus returns the endpoint's status, 0 if the exit status does not encode one.
func httpStatus(exit int) int {
	switch {
	case exit >= 400&0xff: // 400 to 511
		return exit + 256
	case exit >= 512&0xff && exit < 600&0xff && exit != 1: // 512 to 599
		return exit + 512
	}
	return 0
}
