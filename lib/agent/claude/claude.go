// Package claude runs Anthropic's Claude Code: `claude -p` with its stream of JSON lines. Its
// behaviour was observed with version 2.1.329 and a scripted model (scripts/peers/agents repeats
// this):
//
//   - stream-json is refused without --verbose;
//   - a schema with a "$schema" member is refused;
//   - a failed call has the subtype "success": is_error and the exit status decide;
//   - --json-schema may be violated silently: the value is checked here;
//   - the process may hang after its result: the result is the end;
//   - some versions sum the cost over a session's runs;
//   - with --input-format stream-json a message is in the next call of the model; one that comes with
//     the last answer begins a turn, so a process may give several results;
//   - with --restricted, and with --setting-sources user, settings and commands of the
//     codebase are ignored.
package claude

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

// set applies to every run: no updates, no telemetry, and a bad key fails in seconds, not in the
// three minutes that ten retries take.
var set = []string{
	"CLAUDE_CODE_MAX_RETRIES=2", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
}

// private are files that must not be read even in the codebase. It keeps an honest agent from
// quoting them; the sandbox confines any other.
var private = []string{"**/.env", "**/.env.*", "**/*.pem", "**/*.key", "**/id_rsa*", "**/.netrc",
	"**/.git/**"}

// New takes program, model, budget and environment from cfg.
//
// HOME is below the run's own folder, so that the program finds neither the user's keys nor
// settings, and leaves its session there. For a login instead of a key, set
// CLAUDE_CODE_OAUTH_TOKEN (`claude setup-token` prints one), or name the file .credentials.json
// under `read:`.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "claude", func(c *program.Client) {
		c.Servers, c.Since, c.LoginAt = true, program.CostSince, ".claude/.credentials.json"
		c.Models = []program.Model{program.Anthropic, program.AnthropicToken}
		c.Can = agent.Capabilities{
			Resumes: true, Commands: true, Writes: true, Servers: true, Cost: true, Narrows: true,
			Steers: agent.Next, Forks: true,
		}
		c.Start = call
	})
}

// call returns the command line of a turn. Nothing from a chat is in it.
func call(t program.Turn) (program.Call, error) {
	messages := &program.Messages{Variables: "ANTHROPIC_API_KEY", Whole: !t.Again}
	call := program.Call{
		Set: set, Line: messages.Line,
		Reach: t.Endpoint("https://api.anthropic.com", "ANTHROPIC_BASE_URL"),
	}
	var input []string
	if t.Task.Words != nil {
		talk := newTalk(t, messages)
		call.Talk, call.Line, call.Word, call.Cancel = talk.begin, talk.line, talk.word, talk.cancel
		input = []string{"--input-format", "stream-json"}
	}
	settings, err := settings(t)
	if err != nil {
		return call, err
	}
	call.Args = append([]string{"-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config",
		"--permission-prompts", "none"}, input...)
	call.Args = append(call.Args, settings...)
	call.Option("--json-schema", plain(t.Task.Schema))
	call.Option("--model", t.Model)
	if most := t.MaxCost(); most > 0 {
		call.Args = append(call.Args, "--max-budget-usd", strconv.FormatFloat(most, 'f', -1, 64))
	}
	if t.Task.MaxTurns > 0 {
		call.Args = append(call.Args, "--max-turns", strconv.Itoa(t.Task.MaxTurns))
	}
	call.Args = append(call.Args, t.Named()...)
	return call, nil
}

// settings returns the arguments that set the agent's permissions.
func settings(t program.Turn) ([]string, error) {
	tools, mode := slices.Clone(t.Task.Tools), "default"
	if t.Task.Write {
		tools, mode = append(tools, "Edit", "Write"), "acceptEdits"
	}
	args := []string{"--tools", strings.Join(tools, ","), "--permission-mode", mode}
	if len(t.Task.Commands) > 0 {
		if len(t.Task.Callable) > 0 {
			args[1] += ",Skill"
		}
		if err := placeCommands(t); err != nil {
			return nil, err
		}
		args = append(args, "--setting-sources", "user")
	} else {
		args = append(args, "--restricted")
	}
	allow, err := allowed(t.Task)
	if err != nil {
		return nil, err
	}
	var deny []string
	for _, name := range private {
		deny = append(deny, "Read("+name+")")
	}
	for _, name := range t.Task.Hidden {
		deny = append(deny, "Read(./"+name+")", "Read(./"+name+"/**)", "Edit(./"+name+"/**)")
	}
	text, err := json.Marshal(map[string]any{
		"permissions": map[string]any{"allow": allow, "deny": deny}, "disableAllHooks": true,
	})
	if err != nil {
		return nil, sysexit.With(sysexit.Software, err)
	}
	args = append(args, "--settings", string(text))
	if len(t.Task.Servers) == 0 {
		return args, nil
	}
	file, err := servers(t)
	return append(args, "--mcp-config", file), err
}

// placeCommands writes the run's commands into the program's HOME. It deletes what an earlier turn
// may have left there, since settings in HOME take effect.
func placeCommands(t program.Turn) error {
	if err := t.Folders(".claude"); err != nil {
		return err
	}
	home, err := os.OpenRoot(t.Home) // the agent could write here: no link out of it is followed
	if err == nil {
		defer home.Close()
		err = errors.Join(home.RemoveAll(".claude/commands"), home.RemoveAll(".claude/settings.json"))
	}
	for name, text := range t.Task.Commands {
		if err == nil {
			_, err = t.Write(path.Join(".claude/commands", name), []byte(text))
		}
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "place commands: %w", err)
	}
	return nil
}

// allowed returns the permission rules: commands, and tools of servers.
func allowed(t agent.Task) ([]string, error) {
	allow := []string{}
	for _, command := range t.Shell {
		if command == "" || strings.ContainsAny(command, "()*\n") {
			return nil, sysexit.Errorf(sysexit.Config,
				"a command that it may run is called %q: want its first words, without ( ) or *", command)
		}
		allow = append(allow, "Bash("+command+")", "Bash("+command+" *)")
	}
	for _, command := range t.Callable {
		allow = append(allow, "Skill("+command+")")
	}
	for _, s := range t.Servers {
		for _, tool := range s.Tools {
			allow = append(allow, "mcp__"+s.Name+"__"+tool)
		}
	}
	return allow, nil
}

// servers writes the file that configures the tool servers.
func servers(t program.Turn) (string, error) {
	all := t.Servers()
	for _, s := range all {
		s["type"] = "stdio"
	}
	return t.WriteJSON("mcp.json", map[string]any{"mcpServers": all})
}

// plain returns a schema without "$schema" and "$id": the program refuses a schema that names its
// dialect. "" if there is none: the value is checked here in any case.
func plain(schema []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		return ""
	}
	delete(members, "$schema")
	delete(members, "$id")
	text, err := json.Marshal(members)
	if err != nil {
		return ""
	}
	return string(text)
}
