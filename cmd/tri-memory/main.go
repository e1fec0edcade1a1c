// Tri-memory shows what a team's approved answers have taught, and keeps or forgets it.
package main

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	record "tri/lib/record/memory"
	"tri/lib/report/memory"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-memory",
	Usage: "show and manage the memory of approved answers",
	Args:  "command [arg ...]",
	Help: `An entry is an approved answer with the lines that it cites, or a person's note.
Later investigations of the same chat and codebase get it as a hint, as long as
those lines are unchanged. Only the people in team.approvers may change the memory.

  echo 'where is the retry limit?' | tri-memory recall --chat dev
  tri-memory verify                     # entries whose lines have changed
  tri-memory note 'retries stop at 5' retry.go:12`,
	Schemas: []string{"memory"},
	Commands: []cli.Program{
		command("list", "", "show the entries, oldest first",
			func(_ *cli.Call, d *desk) error { return d.List() }),
		command("why", "id", "show an entry: its approver, its date, and whether it is used", show),
		command("recall", "[question]", "print the hints that an investigation of the question would get", recall,
			cli.StringOr("platform", "recall for a chat of `PLATFORM`", "local"),
			cli.String("chat", "recall for the chat `ID`; without it, only notes")),
		command("verify", "", "list entries whose cited lines have changed; status 1 if there are any",
			verify),
		command("themes", "", "list words that entries of three or more days share",
			func(_ *cli.Call, d *desk) error { return d.Themes() }),
		command("note", "text ref ...", "add a note; a ref is a place in the codebase, such as path:12-15", note,
			cli.StringOr("category", strings.Join(record.Categories, ", "), record.Decision)),
		command("keep", "id", "use a proposed or quarantined entry", say(record.Keep, "kept")),
		command("promote", "id", "make an entry a core lesson, which is recalled first",
			say(record.Promote, "promoted")),
		command("forget", "id", "stop using an entry", say(record.Forget, "forgotten")),
		command("export", "", "write the entries in use as Markdown",
			func(_ *cli.Call, d *desk) error { return d.Export() }),
		command("import", "", "propose entries from Markdown on standard input; keep confirms one",
			propose),
	},
}

// desk is a home with its configuration and who works at it.
type desk struct {
	memory.Printer
	by, folder string
	policy     decision.Policy
}

func show(c *cli.Call, d *desk) error { return d.Show(c.Args[0]) }

func recall(c *cli.Call, d *desk) error {
	return d.Recalled(c.Context, d.folder, c.String("platform"), c.String("chat"), strings.Join(c.Args, " "),
		c.In)
}

func verify(c *cli.Call, d *desk) error {
	n, gone, err := d.Verify()
	if err != nil {
		return err
	}
	c.Notef("%d entries; the cited lines of %d have changed", n, gone)
	if gone > 0 {
		err = sysexit.With(sysexit.No, errors.New(""))
	}
	return err
}

func note(c *cli.Call, d *desk) error {
	w, err := memory.Note(d.folder, d.by, c.String("category"), c.Args[0], c.Args[1:], time.Now())
	if err != nil {
		return err
	}
	return record.Say(d.Home, d.policy, w)
}

// say returns a command that appends a word about an entry.
func say(kind, done string) func(*cli.Call, *desk) error {
	return func(c *cli.Call, d *desk) error {
		s, err := d.Find(c.Args[0])
		if err == nil {
			err = record.Say(d.Home, d.policy, record.Word{Kind: kind, By: d.by, ID: s.ID})
		}
		if err == nil {
			c.Notef("%s: %s", s.ID, done)
		}
		return err
	}
}

func propose(c *cli.Call, d *desk) error {
	words, problems, err := memory.Import(c.In, d.folder, d.by, time.Now())
	if err == nil {
		err = record.Say(d.Home, d.policy, words...)
	}
	if err != nil {
		return err
	}
	for _, p := range problems {
		c.Notef("%s", p)
	}
	c.Notef("%d proposed; tri-memory list shows them, tri-memory keep ID uses one", len(words))
	if len(problems) > 0 {
		err = sysexit.With(sysexit.Data, errors.New(""))
	}
	return err
}

func command(name, args, usage string, do func(*cli.Call, *desk) error, flags ...cli.Flag) cli.Program {
	flags = append(flags, cli.Home("read the logs in"), cli.Config(),
		cli.String("codebase", "`NAME` or folder of a codebase (default the first of the configuration)"),
		cli.As("decide as"), cli.Bool("json", "write records"))
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, Run: func(c *cli.Call) error {
		home, cfg, err := config.Home(durable.OpenHome, c.String("home"), c.String("config"))
		if err != nil {
			return err
		}
		defer home.Close()
		return do(c, &desk{
			Printer: memory.Printer{View: &memory.View{Home: home, Config: cfg}, Out: c.Out,
				JSON: c.Bool("json")},
			by: c.String("as"), policy: decision.PolicyOf(cfg),
			folder: cmp.Or(cfg.Folder(c.String("codebase")), cfg.CodebaseFor("", ""), "."),
		})
	}}
}
