package program

import "tri/lib/agent"

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
