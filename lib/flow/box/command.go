package box

import (
	"fmt"
	"slices"
	"strings"
)

// command is a slash command that a run offers.
type command struct {
	name        string // of its file, without .md
	description string // short: it takes up model context
	hint        string
	tools       string // approved automatically while it runs
	body        string
	human       bool // only a person can call it
}

// text returns the content of the command's file.
func (c *command) text() string {
	return fmt.Sprintf("---\ndescription: %s\ndisable-model-invocation: %t\nallowed-tools: %s\nargument-hint: \"[%s]\"\n---\n%s\n",
		c.description, c.human, c.tools, c.hint, c.body)
}

// commandsOf returns the commands of a run.
func commandsOf(run string) []command {
	id, look := idOf(run), strings.Join(reads, ", ")
	safe := func(verb, description, hint, body string) command {
		return command{name: verb + "_" + id, description: description + " (run " + id + ")",
			hint: hint, tools: look,
			body: body + "\nRead only: change nothing, and write no file. What you find goes into your answer; the\nsupervisor of run " + run + " keeps it."}
	}
	human := func(verb, description, body string) command {
		return command{name: verb + "_" + id, description: description + " (run " + id + ")",
			hint: "options of tri-box merge", human: true,
			tools: "Bash(tri-box show:*), Bash(tri-box merge:*)",
			body:  "Only a person may call this.\n" + body}
	}
	return []command{
		safe("scout", "Look into the code", "question", "Investigate in this repository: $ARGUMENTS"),
		safe("plan", "Plan a change", "goal",
			"Plan, in steps that can be checked, how to reach this: $ARGUMENTS"),
		safe("summarize", "Sum up so far", "focus",
			"Sum up what is known so far, with file and line for each fact. $ARGUMENTS"),
		human("merge", "Merge the patch", "Show the patch with `tri-box show "+run+
			"`, then, if the person says yes, run `tri-box merge "+run+" --yes $ARGUMENTS`."),
		human("apply", "Try the patch", "Show the patch with `tri-box show "+run+
			"`, then run `tri-box merge "+run+" --check $ARGUMENTS`, which changes nothing."),
	}
}

// slashNames returns the names that the program gives the commands.
func slashNames(id string, names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, "/run_"+id+":"+n)
	}
	return out
}

// commandFiles returns a run's commands as agent.Task takes them. Claude Code names a command by folder
// and file: run_a1b2c3/scout_a1b2c3.md is /run_a1b2c3:scout_a1b2c3 (observed with 2.1.329).
func commandFiles(run string, commands []command) map[string]string {
	if len(commands) == 0 {
		return nil
	}
	files := map[string]string{}
	for _, c := range commands {
		files["run_"+idOf(run)+"/"+c.name+".md"] = c.text()
	}
	return files
}

// begins reports whether the box has a run with that id, or may have one.
func (b *Box) begins(id string) bool {
	names, err := b.names()
	return err != nil || slices.ContainsFunc(names, func(n string) bool { return idOf(n) == id })
}
