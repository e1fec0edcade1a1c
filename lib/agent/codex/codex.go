// Package codex runs OpenAI's Codex: `codex exec --json`, or `codex app-server` where it receives
// messages while it works. Its behaviour was observed with version
// 0.169.0 and a scripted model (scripts/peers/agents repeats this):
//
//   - it names a new session itself; usage is the session's total;
//   - an item of type error is a warning: turn.failed is the failure, and the endpoint's
//     status is only in its text;
//   - it reads files by running commands, so it has no tools to select, and commands cannot
//     be restricted;
//   - its own sandbox does not start inside another: in ours it is off;
//   - that sandbox needs helper programs that it does not create below a temporary folder, so
//     TMPDIR differs from the folder of its home;
//   - it supports few of the features of JSON Schema: the value is checked here.
package codex

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// New takes program, model and environment from cfg. For a login instead of a key, name the file
// auth.json under `read:`.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "codex", func(c *program.Client) {
		c.AssignsSessionID, c.Servers, c.Since, c.LoginAt = true, true, program.TokensSince,
			".codex/auth.json"
		c.Models = []program.Model{program.OpenAI}
		c.Can = agent.Capabilities{Resumes: true, Forks: true, Steers: agent.Cut, Writes: true, Servers: true}
		c.Start = call
	})
}

func call(t program.Turn) (program.Call, error) {
	call := program.Call{
		Set: []string{"CODEX_HOME=" + filepath.Join(t.Home, ".codex"),
			"TMPDIR=" + filepath.Join(t.Home, "tmp")},
		Reach: t.Endpoint(program.OpenAI.Usual, "OPENAI_BASE_URL"), Line: line, Exit: exit,
	}
	if t.Login() != "" {
		call.Reach = append(call.Reach, "chatgpt.com:443", "auth.openai.com:443")
	}
	if err := t.Folders(".codex", "tmp"); err != nil {
		return call, err
	}
	call.Args = []string{"exec"}
	if t.Again {
		call.Args = append(call.Args, "resume")
	}
	call.Args = append(call.Args, "--json", "--skip-git-repo-check", "--ignore-rules")
	var set []string
	for _, s := range settings(t) {
		text, err := json.Marshal(s.value) // JSON strings, lists and numbers are valid TOML
		if err != nil {
			return call, sysexit.With(sysexit.Software, err)
		}
		set = append(set, "-c", s.key+"="+string(text))
	}
	if t.Task.Words != nil {
		serve(t, &call, set)
		return call, nil
	}
	call.Args = append(call.Args, set...)
	if t.Again {
		call.Args = append(call.Args, t.Session)
	}
	call.Args = append(call.Args, "-")
	return call, nil
}

type setting struct {
	key   string
	value any
}

// settings returns the program's settings, besides the defaults of an empty home.
func settings(t program.Turn) []setting {
	all := []setting{
		{"sandbox_mode", mode(t)}, {"approval_policy", "never"}, {"web_search", "disabled"},
		{"check_for_update_on_startup", false}, {"analytics.enabled", false},
	}
	if t.Model != "" {
		all = append(all, setting{"model", t.Model})
	}
	if t.Login() == "" {
		base := cmp.Or(t.Base("OPENAI_BASE_URL"), program.OpenAI.Usual)
		const p = "model_providers.tri."
		all = append(all, setting{"model_provider", "tri"}, setting{p + "name", "tri"},
			setting{p + "base_url", base},
			setting{p + "env_key", "OPENAI_API_KEY"}, setting{p + "wire_api", "responses"},
			setting{p + "request_max_retries", 2}, setting{p + "stream_max_retries", 2})
	}
	for _, s := range t.Task.Servers {
		p := "mcp_servers." + s.Name + "."
		all = append(all, setting{p + "enabled_tools", s.Tools}, setting{p + "command", s.Command[0]},
			setting{p + "args", s.Command[1:]})
	}
	return all
}

// mode returns the setting of the program's own sandbox: off in ours.
func mode(t program.Turn) string {
	switch {
	case t.Walled():
		return "danger-full-access"
	case t.Task.Write:
		return "workspace-write"
	}
	return "read-only"
}

// event holds the parsed fields of a line.
type event struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"` // of error
	Error    struct {
		Message string `json:"message"`
	} `json:"error"` // of turn.failed
	Usage *struct {
		Input  int64 `json:"input_tokens"` // including cached tokens
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Item struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Message string `json:"message"`
		Command string `json:"command"`
		Server  string `json:"server"`
		Tool    string `json:"tool"`
		Query   string `json:"query"`
		Changes []struct {
			Path string `json:"path"`
		} `json:"changes"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"item"`
}

func line(line []byte, s *program.Seen) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "thread.started":
		s.Session(e.ThreadID)
	case "item.started":
		e.tool(s)
	case "item.completed":
		e.item(s)
	case "error":
		s.Milestone(e.Message) // it retries
	case "turn.completed":
		if u := e.Usage; u != nil {
			s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = u.Input, u.Output, true
		}
		s.End()
	case "turn.failed":
		s.Err = program.Refused(httpStatus(e.Error.Message), e.Error.Message, "OPENAI_API_KEY")
		s.End()
	}
}

func (e *event) tool(s *program.Seen) {
	switch i := e.Item; i.Type {
	case "command_execution":
		s.Tool("shell", i.Command)
	case "mcp_tool_call":
		s.Tool(strings.TrimPrefix(i.Server+"."+i.Tool, "."), program.On(i.Arguments))
	case "web_search":
		s.Tool(i.Type, i.Query)
	}
}

func (e *event) item(s *program.Seen) {
	switch i := e.Item; i.Type {
	case "reasoning":
		s.Thought(i.Text)
	case "agent_message":
		s.Thought(i.Text)
		s.Say(i.Text)
	case "file_change":
		for _, c := range i.Changes {
			s.Tool("edit", c.Path)
		}
	case "error":
		s.Milestone(i.Message)
	}
}

// exit handles the message about an unknown session, which is text and not a record.
func exit(e proc.Exit, s *program.Seen) {
	if !s.Ended() && strings.Contains(e.Stderr, "no rollout found") {
		s.Err = program.NoSession(e.Stderr)
	}
}

var status = lazyregexp.New(`\bstatus:? (\d{3})\b`)

// httpStatus returns the endpoint's status, 0 if it is not reported.
func httpStatus(said string) int {
	if m := status.FindStringSubmatch(said); m != nil {
		n, _ := strconv.Atoi(m[1]) // three digits
		return n
	}
	if strings.Contains(said, "high demand") { // its message for any 5xx
		return 503
	}
	return 0
}
