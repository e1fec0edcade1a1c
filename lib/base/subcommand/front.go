// Package subcommand finds the toolkit's programs by their short names and runs them, as git does.
package subcommand

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

const prefix = "tri-"

// short matches valid short names: neither a path nor an option.
var short = lazyregexp.New(`^[a-z0-9][a-z0-9-]*$`)

// builtin are the commands of tri itself, for suggestions.
var builtin = []string{"demo", "down", "help", "init", "logs", "restore", "try", "up"}

// aliases are short forms of commands.
var aliases = map[string][]string{"up": {"supervise", "run", "--detach"}, "down": {"supervise", "stop"},
	"backup": {"backup", "save"}, "restore": {"backup", "restore"}}

// Exec replaces the process with the program of the short name args[0]. It returns only on
// failure.
func Exec(args []string) error {
	if len(args) == 0 {
		return sysexit.Hint(sysexit.Errorf(sysexit.Usage,
			"a command is missing; there are:\n%s\n"+"and the tools:%s", strings.TrimRight(begin(), "\n"),
			toolNames()), "tri help describes the tools; tri COMMAND -h shows how one is used")
	}
	if longer, ok := aliases[args[0]]; ok {
		args = slices.Concat(longer, args[1:])
	}
	path, err := Find(prefix + args[0])
	if err != nil {
		return err
	}
	argv := append([]string{prefix + args[0]}, args[1:]...)
	return sysexit.Errorf(sysexit.Unavailable, "run %q: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// Dir returns the folder of this program, which holds its siblings.
func Dir() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Dir(self)
}

// Find returns the path of a program. It looks for a program of the toolkit beside this one and on
// PATH, for any other on PATH.
func Find(program string) (string, error) {
	name, ours := strings.CutPrefix(program, prefix)
	if !ours {
		path, err := exec.LookPath(program)
		return path, sysexit.With(sysexit.Unavailable, err)
	}
	if short.MatchString(name) {
		if dir := Dir(); dir != "" {
			if path, err := exec.LookPath(filepath.Join(dir, prefix+name)); err == nil {
				return path, nil
			}
		}
		if path, err := exec.LookPath(prefix + name); err == nil {
			return path, nil
		}
	}
	err := sysexit.Errorf(sysexit.Usage, "unknown command %q", name)
	if near := sysexit.Nearest(name, append(names(), builtin...)); near != "" {
		return "", sysexit.Hint(err, fmt.Sprintf("did you mean %q?", near))
	}
	return "", sysexit.Hint(err, "tri help lists the commands")
}

// names returns the short names of all available programs, sorted.
func names() []string {
	var names []string
	for _, dir := range append([]string{Dir()}, filepath.SplitList(os.Getenv("PATH"))...) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a missing folder of PATH is not an error
		}
		for _, e := range entries {
			name, ok := strings.CutPrefix(e.Name(), prefix)
			if !ok || !short.MatchString(name) {
				continue
			}
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.Mode().IsRegular() &&
				info.Mode()&0o111 != 0 {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Complete writes completions for the words on the command line of tri: the commands, or the
// completions of the program that the first word names.
func Complete(w io.Writer, words []string) error {
	if len(words) > 0 {
		return Exec(append(slices.Clone(words), "--generate-bash-completion"))
	}
	all := append(names(), builtin...)
	slices.Sort(all)
	_, err := io.WriteString(w, strings.Join(slices.Compact(all), "\n")+"\n")
	return sysexit.With(sysexit.IO, err)
}

// purposes are the toolkit's programs in pipe order. A test compares them with each program's own
// description.
var purposes = []struct{ name, does string }{
	{"watch", "write the messages of a chat as events, each once"},
	{"thread", "find the conversation that a message continues"},
	{"turn", "group consecutive messages of one person into turns"},
	{"classify", "tag chat messages that ask for something"},
	{"dispatch", "move threads from a question to a checked draft"},
	{"investigate", "research a question in a codebase and draft the answer"},
	{"validate", "check every citation of a draft, and try to refute the draft"},
	{"drill", "plant faults in good returns and score the validator"},
	{"voice", "adapt drafts to the team's style, and cut long ones into messages"},
	{"panel", "manage personas, and ask them to judge drafts and changes"},
	{"approve", "decide what is posted"},
	{"task", "show all work as tasks, and direct or cancel them"},
	{"escalate", "run long investigations in persistent terminals"},
	{"memory", "show and manage the memory of approved answers"},
	{"reply", "post approved drafts"},
	{"report", "report what happened to a message, what waits, costs and quality"},
	{"box", "run an agent on a task and merge its patch"},
	{"sandbox", "run a command in the sandbox of the agents"},
	{"supervise", "start the pipeline and restart its stages"},
	{"nats", "copy logs to other machines and run agents there"},
	{"backup", "save a home to one file and restore it"},
	{"health", "find problems and print how to fix them"},
}

// begin lists the commands that a new user needs, one a line.
func begin() string {
	var b strings.Builder
	for _, c := range []struct{ name, does string }{
		{"demo", "show the whole path on this machine, in a minute"},
		{"try", "draft answers to the questions of an exported history"},
		{"init", "ask a few questions and write a configuration"},
		{"up", "start the pipeline"},
		{"logs", "show the messages of its stages"},
		{"down", "end it"},
	} {
		fmt.Fprintf(&b, "  tri %-12s %s\n", c.name, c.does)
	}
	return b.String()
}

// toolNames lists the short names of the tools, eight a line.
func toolNames() string {
	var b strings.Builder
	for i, p := range purposes {
		if i%8 == 0 {
			b.WriteString("\n ")
		}
		b.WriteString(" " + p.name)
	}
	return b.String()
}

// Help shows the usage of the program args[0]. Without an argument it lists the programs: the
// toolkit's in pipe order, then others.
func Help(w io.Writer, args []string) error {
	if len(args) > 0 && slices.Contains(builtin, args[0]) {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("show help of %s: %w", args[0], err)
		}
		return syscall.Exec(self, []string{"tri", args[0], "--help"}, os.Environ())
	}
	if len(args) > 0 {
		return Exec([]string{args[0], "--help"})
	}
	there := names()
	var b strings.Builder
	b.WriteString("Begin:\n" + begin())
	b.WriteString("\nThe tools, in the order of the pipe:\n")
	for _, p := range purposes {
		missing := ""
		if !slices.Contains(there, p.name) {
			missing = " (not installed)"
		}
		fmt.Fprintf(&b, "  tri %-12s %s%s\n", p.name, p.does, missing)
		there = slices.DeleteFunc(there, func(name string) bool { return name == p.name })
	}
	if len(there) > 0 {
		fmt.Fprintf(&b, "\nAlso here: %s\n", strings.Join(there, " "))
	}
	b.WriteString("\ntri NAME -h shows how a tool is used; man tri has the details.\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return sysexit.Errorf(sysexit.IO, "write help: %w", err)
	}
	return nil
}
