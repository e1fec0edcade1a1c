// Package cursor runs Cursor's command line agent: `agent -p` with its stream of JSON lines. It
// could not be installed during development: its behaviour is taken from its manual, and the
// adapter was tested against scripts that print the manual's lines.
//
//   - a failure has no record: only status and standard error report it;
//   - it reports neither tokens nor cost;
//   - in the mode `ask` it only reads;
//   - the codebase's own tool servers (.cursor) would be approved together with ours: such a
//     codebase is refused or hidden.
//
// https://cursor.com/docs/cli/reference/output-format,
// https://cursor.com/docs/cli/reference/permissions
package cursor

import (
	"encoding/json"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
)

// New takes program, model and environment from cfg.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "cursor", func(c *program.Client) {
		c.AssignsSessionID, c.Servers, c.Settings = true, true, []string{".cursor"}
		c.Can, c.Start = agent.Capabilities{Resumes: true, Writes: true, Servers: true}, call
	})
}

func call(t program.Turn) (program.Call, error) {
	messages := &program.Messages{Variables: "CURSOR_API_KEY"}
	call := program.Call{
		Reach: []string{"api2.cursor.sh:443", "api5.cursor.sh:443"},
		Line: func(line []byte, s *program.Seen) {
			tool(line, s)
			messages.Line(line, s)
		},
		Exit: exit,
	}
	if _, err := t.WriteJSON(".cursor/cli-config.json", map[string]any{"version": 1,
		"editor": map[string]bool{"vimMode": false}, "permissions": permissions(t.Task)}); err != nil {
		return call, err
	}
	call.Args = []string{"-p", "--output-format", "stream-json"}
	if len(t.Task.Servers) > 0 {
		if _, err := t.WriteJSON(".cursor/mcp.json", map[string]any{"mcpServers": t.Servers()}); err != nil {
			return call, err
		}
		call.Args = append(call.Args, "--approve-mcps") // there are no servers but ours
	}
	if t.Task.Write {
		call.Args = append(call.Args, "--force") // what the permissions deny stays denied
	} else {
		call.Args = append(call.Args, "--mode", "ask")
	}
	call.Option("--model", t.Model)
	if t.Again {
		call.Args = append(call.Args, "--resume", t.Session)
	}
	return call, nil
}

// permissions returns the program's permission rules.
func permissions(t agent.Task) map[string][]string {
	allow, deny := []string{"Read(**)"}, []string{"Read(**/.env*)", "Read(**/*.pem)", "Read(**/*.key)",
		"Read(**/.git/**)"}
	for _, name := range t.Hidden {
		deny = append(deny, "Read("+name+"/**)", "Write("+name+"/**)")
	}
	if t.Write {
		allow = append(allow, "Write(**)")
	} else {
		deny = append(deny, "Write(**)")
	}
	for _, s := range t.Servers {
		for _, tool := range s.Tools {
			allow = append(allow, "Mcp("+s.Name+":"+tool+")")
		}
	}
	commands := program.Commands(t)
	for _, command := range commands {
		allow = append(allow, "Shell("+command+")")
	}
	if commands == nil {
		deny = append(deny, "Shell(**)")
	}
	return map[string][]string{"allow": allow, "deny": deny}
}

// tool parses the lines that only this program prints: {"type":"tool_call",
// "subtype":"started","tool_call":{"readToolCall":{"args":{…}}}}.
func tool(line []byte, s *program.Seen) {
	var m struct {
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
		ToolCall map[string]struct {
			Args json.RawMessage `json:"args"`
		} `json:"tool_call"`
	}
	if json.Unmarshal(line, &m) != nil || m.Type != "tool_call" || m.Subtype != "started" {
		return
	}
	for name, call := range m.ToolCall {
		s.Call(strings.TrimSuffix(name, "ToolCall"), call.Args)
	}
}

var unauthorized = lazyregexp.New(`(?i)not logged in|authentication|unauthori[sz]ed|invalid api key|\b401\b`)

// exit detects a failure, which only standard error reports.
func exit(e proc.Exit, s *program.Seen) {
	if e.Status != 0 && !e.Stopped && !s.Ended() && unauthorized.MatchString(e.Stderr) {
		s.Err = program.Refused(401, e.Stderr, "CURSOR_API_KEY")
	}
}
