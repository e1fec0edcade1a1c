// Package qwen runs Qwen Code: `qwen -o stream-json`, with an endpoint of the OpenAI kind. Its
// behaviour was observed with version 0.15.10 and a scripted model (scripts/peers/agents repeats
// this):
//
//   - its lines have the format of Claude Code's, without cost, and with tokens that are
//     session totals;
//   - an error of the endpoint is reported as a successful result whose text begins with
//     "[API Error: 401";
//   - a 429 is retried for minutes: the run's time ends first;
//   - system settings override those of the codebase, so ours are system settings.
package qwen

import (
	"strconv"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
)

// tools maps a task's tools to the names that the program has for them.
var tools = map[string][]string{
	"Read": {"read_file", "list_directory"}, "Grep": {"grep_search"}, "Glob": {"glob"},
	"Bash":  {"run_shell_command"},
	"Write": {"edit", "write_file"},
}

// New takes program, model and environment from cfg.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "qwen", func(c *program.Client) {
		c.Servers, c.Since, c.Settings = true, program.TokensSince, []string{".qwen", ".env"}
		c.Models = []program.Model{{Key: "OPENAI_API_KEY", Header: program.Bearer, Base: "OPENAI_BASE_URL",
			Usual: "https://dashscope.aliyuncs.com/compatible-mode/v1"}}
		c.Can = agent.Capabilities{Resumes: true, Forks: true, Writes: true, Servers: true, Narrows: true}
		c.Start = call
	})
}

func call(t program.Turn) (program.Call, error) {
	messages := &program.Messages{Variables: "OPENAI_API_KEY", Inclusive: true}
	call := program.Call{
		Reach: t.Endpoint("https://dashscope.aliyuncs.com", "OPENAI_BASE_URL"), Exit: exit,
		Line: func(line []byte, s *program.Seen) {
			messages.Line(line, s)
			if s.Ended() && s.Err == nil {
				s.Err = apiError(s.Text())
			}
		},
	}
	file, err := t.WriteJSON("settings.json", settings(t))
	if err != nil {
		return call, err
	}
	call.Set = []string{"QWEN_CODE_SYSTEM_SETTINGS_PATH=" + file, "QWEN_CODE_NO_RELAUNCH=true", "NO_COLOR=1"}
	call.Args = []string{"--output-format", "stream-json", "--auth-type", "openai", "--extensions", "none",
		"--approval-mode", "default"}
	if t.Task.Write {
		call.Args[len(call.Args)-1] = "auto-edit"
	}
	call.Option("--model", t.Model)
	if t.Task.MaxTurns > 0 {
		call.Args = append(call.Args, "--max-session-turns", strconv.Itoa(t.Task.MaxTurns))
	}
	call.Args = append(call.Args, t.Named()...)
	return call, nil
}

// settings returns the system settings, which nothing can override.
func settings(t program.Turn) map[string]any {
	deny := []string{}
	for _, name := range t.Task.Hidden {
		deny = append(deny, "Read(./"+name+")", "Read(./"+name+"/**)", "Edit(./"+name+"/**)")
	}
	all := program.GeminiSettings(t, tools)
	all["permissions"] = map[string]any{"deny": deny}
	all["general"] = map[string]any{"enableAutoUpdate": false}
	all["disableAllHooks"] = true
	// saves model calls for a home that is not kept
	all["memory"] = map[string]any{"enableManagedAutoMemory": false}
	return all
}

var refused = lazyregexp.New(`^\[API Error: (\d{3})?`)

// apiError returns the error that a text represents, nil if the text is an answer.
func apiError(words string) error {
	m := refused.FindStringSubmatch(words)
	if m == nil {
		return nil
	}
	status, _ := strconv.Atoi(m[1]) // three digits, or none: 0
	return program.Refused(status, words, "OPENAI_API_KEY")
}

const exitTurns = 53

func exit(e proc.Exit, s *program.Seen) {
	switch {
	case e.Status == exitTurns:
		s.Err = program.Spent(e.Stderr)
	case !s.Ended() && strings.Contains(e.Stderr, "No saved session found"):
		s.Err = program.NoSession(e.Stderr)
	}
}
