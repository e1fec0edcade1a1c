package program

import "tri/lib/agent"

// Gemini is the settings that Gemini CLI and its fork Qwen Code have in common:
// those for the tools and the tool servers of a turn. names are what the program
// calls the abilities, more are further tools.
func Gemini(t Turn, names map[string][]string, more ...string) map[string]any {
	servers := t.Servers()
	allowed := []string{"-"} // none
	for _, s := range t.Task.Servers {
		to := servers[s.Name]
		to["includeTools"], to["trust"] = s.Tools, true
		allowed = append(allowed, s.Name)
	}
	return map[string]any{
		"privacy":    map[string]any{"usageStatisticsEnabled": false},
		"telemetry":  map[string]any{"enabled": false},
		"tools":      map[string]any{"core": append(Tools(t, names), more...), "allowed": geminiShell(t.Task)},
		"mcpServers": servers,
		"mcp":        map[string]any{"allowed": allowed},
	}
}

// geminiShell are the commands that need no asking: there is nobody to ask.
func geminiShell(t agent.Task) []string {
	allowed := []string{}
	for _, command := range Commands(t) {
		allowed = append(allowed, "run_shell_command("+command+")")
	}
	return allowed
}

// Named are the arguments with the session's name, as Claude Code and those who
// follow it have them.
func (t Turn) Named() []string {
	switch {
	case t.Again:
		return []string{"--resume", t.Session}
	case t.Session != "":
		return []string{"--session-id", t.Session}
	}
	return nil
}
