package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// Claude Code reads a project's commands below .claude/commands and calls them by
// folder and file: run_a1b2c3/scout_a1b2c3.md is /run_a1b2c3:scout_a1b2c3 (found
// with 2.1.329). Every run has a folder of its own, as long as it is ACTIVE: the
// program shows its model a limited list of commands.
const commandsDir = ".claude/commands"

// command is one of a run's commands.
type command struct {
	name        string // its file, without .md
	description string // short: it takes room in the model's context
	hint        string
	tools       string // auto-approved while it runs
	body        string
	human       bool // the model cannot call it
}

// text is the command's file.
func (c *command) text() string {
	return fmt.Sprintf("---\ndescription: %s\ndisable-model-invocation: %t\nallowed-tools: %s\nargument-hint: \"[%s]\"\n---\n%s\n",
		c.description, c.human, c.tools, c.hint, c.body)
}

// commandsOf are the commands of a run.
func commandsOf(run string) []command {
	id, look := idOf(run), strings.Join(reads, ", ")
	safe := func(verb, description, hint, body string) command {
		return command{name: verb + "_" + id, description: description + " (run " + id + ")", hint: hint, tools: look,
			body: body + "\nRead only: change nothing, and write no file. What you find goes into your answer; the\nsupervisor of run " + run + " keeps it."}
	}
	human := func(verb, description, body string) command {
		return command{name: verb + "_" + id, description: description + " (run " + id + ")", hint: "options of tri-box merge", human: true,
			tools: "Bash(tri-box show:*), Bash(tri-box merge:*)", body: "Only a person may call this.\n" + body}
	}
	return []command{
		safe("scout", "Look into the code", "question", "Investigate in this repository: $ARGUMENTS"),
		safe("plan", "Plan a change", "goal", "Plan, in steps that can be checked, how to reach this: $ARGUMENTS"),
		safe("summarize", "Sum up so far", "focus", "Sum up what is known so far, with file and line for each fact. $ARGUMENTS"),
		human("merge", "Merge the patch", "Show the patch with `tri-box show "+run+"`, then, if the person says yes, run `tri-box merge "+run+" --yes $ARGUMENTS`."),
		human("apply", "Try the patch", "Show the patch with `tri-box show "+run+"`, then run `tri-box merge "+run+" --check $ARGUMENTS`, which changes nothing."),
	}
}

// slashNames are what the program calls the commands.
func slashNames(id string, names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, "/run_"+id+":"+n)
	}
	return out
}

const (
	commandsLock = "commands.lock"
	madeName     = "made.json" // the folders that we made above the commands, deepest first
)

// place writes a run's commands below tree, which is a worktree, or "" for the
// checkout. The run must be ACTIVE already.
func (b *Box) place(ctx context.Context, run, tree string, commands []command) error {
	if len(commands) == 0 {
		return nil
	}
	if tree == "" {
		return b.locked(ctx, commandsLock, func() error {
			if err := b.recordMade(); err != nil {
				return err
			}
			return placeIn(b.root, run, commands)
		})
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("place commands: %w", err))
	}
	defer root.Close()
	return placeIn(root, run, commands)
}

func placeIn(root *os.Root, run string, commands []command) error {
	dir := path.Join(commandsDir, "run_"+idOf(run))
	err := root.MkdirAll(dir, 0o755)
	// The list is there before what it hides.
	if err == nil {
		err = root.WriteFile(path.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	}
	for _, c := range commands {
		if err == nil {
			err = root.WriteFile(path.Join(dir, c.name+".md"), []byte(c.text()), 0o644)
		}
	}
	return sysexit.With(sysexit.IO, err)
}

// recordMade remembers which folders will be made for the commands, before they
// are, so that they can go again when the last run has.
func (b *Box) recordMade() error {
	var made []string
	for _, dir := range []string{commandsDir, path.Dir(commandsDir)} {
		if _, err := b.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			made = append(made, dir)
		}
	}
	if len(made) == 0 {
		return nil
	}
	text, err := json.Marshal(made)
	if err != nil {
		return err
	}
	return b.home.Replace(madeName, text)
}

// collect takes a run's commands away from below tree ("" is the checkout).
func (b *Box) collect(ctx context.Context, run, tree string) error {
	if tree == "" {
		return b.collectIf(ctx, func(id string) bool { return id == idOf(run) })
	}
	root, err := os.OpenRoot(tree)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	defer root.Close()
	return sysexit.With(sysexit.IO, root.RemoveAll(path.Join(commandsDir, "run_"+idOf(run))))
}

// collectIf takes the command folders away whose id is over, and the folders
// above them that only stood for commands.
func (b *Box) collectIf(ctx context.Context, over func(id string) bool) error {
	return b.locked(ctx, commandsLock, func() error {
		entries, err := fs.ReadDir(b.root.FS(), commandsDir)
		if err != nil {
			// There are none; or it is not a folder, and then none is ours.
			return b.unmake()
		}
		left := false
		for _, e := range entries {
			id, ok := strings.CutPrefix(e.Name(), "run_")
			if !ok || !e.IsDir() || !ourCommands(b.root, id) {
				continue
			}
			if !over(id) {
				left = true
				continue
			}
			if err := b.root.RemoveAll(path.Join(commandsDir, e.Name())); err != nil {
				return sysexit.With(sysexit.IO, fmt.Errorf("remove commands of run %s: %w", id, err))
			}
		}
		if left {
			return nil
		}
		return b.unmake()
	})
}

// ourCommands reports whether a folder is one of ours: a whole one, or what a
// killed process made of it.
func ourCommands(root *os.Root, id string) bool {
	if len(id) != 6 || strings.Trim(id, "0123456789abcdef") != "" {
		return false
	}
	dir := path.Join(commandsDir, "run_"+id)
	if text, err := root.ReadFile(path.Join(dir, ".gitignore")); err == nil && bytes.Equal(text, []byte("*\n")) {
		return true
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	return err == nil && (len(entries) == 0 || len(entries) == 1 && entries[0].Name() == ".gitignore")
}

// unmake removes the folders that we made, where nobody has put anything else.
func (b *Box) unmake() error {
	text, err := b.home.ReadFile(madeName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var made []string
	if err != nil || json.Unmarshal(text, &made) != nil {
		return b.home.Remove(madeName)
	}
	for _, dir := range made {
		if dir == commandsDir || dir == path.Dir(commandsDir) {
			_ = b.root.Remove(dir) // not empty: it is somebody's now
		}
	}
	return b.home.Remove(madeName)
}

// collectOver takes away the commands of all runs that are not ACTIVE.
func (b *Box) collectOver(ctx context.Context) error {
	if _, err := b.root.Lstat(commandsDir); errors.Is(err, fs.ErrNotExist) && !b.home.Exists(madeName) {
		return nil
	}
	names, err := b.names()
	if err != nil {
		return err
	}
	return b.collectIf(ctx, func(id string) bool {
		for _, n := range names {
			if idOf(n) == id {
				s, err := b.State(n) // read under the lock under which commands are placed
				return err == nil && s.Status != run.Active
			}
		}
		return !b.begins(id)
	})
}

// begins reports whether a run of that id has begun since somebody looked.
func (b *Box) begins(id string) bool {
	names, err := b.names()
	return err != nil || slices.ContainsFunc(names, func(n string) bool { return idOf(n) == id })
}

// canPlace reports whether commands can be put into the checkout: its folder for
// them may be a link that leads out of it.
func (b *Box) canPlace() bool {
	for dir := commandsDir; dir != "."; dir = path.Dir(dir) {
		if info, err := b.root.Stat(dir); err == nil && !info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}
