package program

import (
	"slices"

	"tri/lib/agent"
)

// Servers returns the turn's tool servers by name, each with command and args, the form that most
// programs take.
func (t Turn) Servers() map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, s := range t.Task.Servers {
		all[s.Name] = map[string]any{"command": s.Command[0], "args": s.Command[1:]}
	}
	return all
}

// Tools returns the program's names of the task's tools. names maps a tool to those names; its
// entry "Write" lists the tools that change files, and is included if the task may write.
func Tools(t Turn, names map[string][]string) []string {
	all := []string{}
	for _, ability := range t.Task.Tools {
		all = append(all, names[ability]...)
	}
	if t.Task.Write {
		all = append(all, names["Write"]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reading are read-only commands, for programs without a list of their own.
var reading = []string{
	"cat", "git blame", "git diff", "git log", "git show", "git status", "grep", "head", "ls", "rg",
	"tail", "wc",
}

// Commands returns the commands that a task may run, by their first words.
func Commands(t agent.Task) []string {
	switch {
	case !slices.Contains(t.Tools, "Bash"):
		return nil
	case t.Shell == nil:
		return reading
	}
	return t.Shell
}

// GeminiSettings returns the settings that Gemini CLI and its fork Qwen Code share: the tools and tool
// servers of a turn. names maps an ability to the program's tool names; more are further tools.
func GeminiSettings(t Turn, names map[string][]string, more ...string) map[string]any {
	servers := t.Servers()
	allowed := []string{"-"} // none
	for _, s := range t.Task.Servers {
		to := servers[s.Name]
		to["includeTools"], to["trust"] = s.Tools, true
		allowed = append(allowed, s.Name)
	}
	return map[string]any{
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		"tools": map[string]any{"core": append(Tools(t, names), more...),
			"allowed": geminiShell(t.Task)},
		"mcpServers": servers,
		"mcp":        map[string]any{"allowed": allowed},
	}
}

// geminiShell returns the commands that run without confirmation: there is no person to confirm
// them.
func geminiShell(t agent.Task) []string {
	allowed := []string{}
	for _, command := range Commands(t) {
		allowed = append(allowed, "run_shell_command("+command+")")
	}
	return allowed
}

// Named returns the arguments that set the session's name, in the form of Claude Code and the
// programs that follow it.
func (t Turn) Named() []string {
	switch {
	case t.Again:
		return []string{"--resume", t.Session}
	case t.Session != "":
		return []string{"--session-id", t.Session}
	}
	return nil
}
