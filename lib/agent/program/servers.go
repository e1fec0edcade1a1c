package program

import (
	"slices"

	"tri/lib/agent"
)

// Servers are a turn's tool servers in the shape that most programs take them in,
// by name: command and args.
func (t Turn) Servers() map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, s := range t.Task.Servers {
		all[s.Name] = map[string]any{"command": s.Command[0], "args": s.Command[1:]}
	}
	return all
}

// Tools are what a program calls the abilities of a task, by names: "Write" stands
// for those that change files, and is among them when the task may write.
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

// reading are commands that only read, for programs that have no list of their own.
var reading = []string{
	"cat", "git blame", "git diff", "git log", "git show", "git status", "grep", "head", "ls", "rg", "tail", "wc",
}

// Commands are those that a task may run, by their first words.
func Commands(t agent.Task) []string {
	switch {
	case !slices.Contains(t.Tools, "Bash"):
		return nil
	case t.Shell == nil:
		return reading
	}
	return t.Shell
}
