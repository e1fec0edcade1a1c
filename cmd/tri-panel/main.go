// Tri-panel keeps personas, and has them judge drafts, patches, issues and findings out of sight.
package main

import (
	"cmp"
	"io"
	"os"
	"time"

	"tri/lib/agent/all"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/secret"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/flow/panel"
	"tri/lib/record/persona"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-panel",
	Usage: "manage personas, and ask them to judge drafts and changes",
	Args:  "command [argument ...]",
	Help: `A persona is a file: a role, the narrow questions that it asks (lenses), and the
model that answers. A persona is inactive until a person activates it, and its
text is never posted. NAME is a name, a word of the role, or an id.

  tri-panel list
  tri-panel edit --active yes Dev
  tri-panel judge --lens polarity returns.ndjson
  jq -nc --arg p "$(git diff)" '{patch: $p}' | tri-panel judge`,
	Schemas: []string{"persona", "discussion"},
	Commands: []cli.Program{
		command("list", "", "list all personas", func(_ *cli.Call, k *panel.Keeper) error {
			return k.List()
		}, cli.Bool("json", "write records")),
		command("show", "name", "print a persona", func(c *cli.Call, k *panel.Keeper) error {
			return k.Show(c.Args[0], c.Bool("effective"))
		},
			cli.Bool("effective", "print its agent and model, and where they are configured")),
		command("new", "name role", "create a persona", func(c *cli.Call, k *panel.Keeper) error {
			return k.New(c.Args[0], c.Args[1])
		}),
		command("edit", "name", "replace a persona by the one on standard input",
			func(c *cli.Call, k *panel.Keeper) error {
				return k.Edit(c.Args[0], c.String("active"))
			}, cli.String("active", "only activate or deactivate it: `YES` or no")),
		command("import", "file", "add a persona, inactive; - is standard input",
			func(c *cli.Call, k *panel.Keeper) error {
				b, err := read(c)
				if err != nil {
					return err
				}
				return k.Import(b)
			}),
		command("export", "name", "print a persona, without its secrets",
			func(c *cli.Call, k *panel.Keeper) error { return k.Show(c.Args[0], false) }),
		command("remove", "name", "move a persona to the archive", func(c *cli.Call, k *panel.Keeper) error {
			return k.Remove(c.Args[0])
		}),
		command("compile", "name", "print a persona's prompt", func(c *cli.Call, k *panel.Keeper) error {
			return k.Compile(c.Args[0], c.String("mode"), c.Bool("brief"))
		}, cli.String("mode", "compile for this `MODE` of its skill"),
			cli.Bool("brief", "print the short prompt of a judge")),
		command("key", "set|list|remove [name]", "store, list or remove encrypted secrets of personas",
			func(c *cli.Call, k *panel.Keeper) error {
				return k.Key(c.Args[0], cmp.Or(append(c.Args[1:], "")...))
			}),
		command("judge", "[file ...]", "judge returns, patches, issues, findings and failures", judge,
			cli.Strings("lens",
				"ask the lens `NAME` about drafts instead of the participants' lenses; repeatable"),
			codebase, cli.Bool("again", "discuss a subject again"),
			cli.String("rejects", "append refused records to `FILE`")),
		command("watch", "", "judge what panel.triggers finds on the forge, and offer what follows",
			func(c *cli.Call, k *panel.Keeper) error {
				j, err := open(c, k)
				if err != nil {
					return err
				}
				return k.Watch(c.Context, j, c.Bool("once"))
			}, codebase, cli.Bool("once", "look once")),
		command("offer", "", "offer the changes that discussions of issues propose for approval",
			func(_ *cli.Call, k *panel.Keeper) error { return k.Offer() }),
	},
}

var codebase = cli.String("codebase",
	"look up citations in `DIR` (default the first configured codebase, else here)")

func open(c *cli.Call, k *panel.Keeper) (*panel.Judge, error) {
	j, err := panel.Open(k.Home, k.Config, c.String("codebase"), all.Supervised)
	if err == nil {
		j.Out, j.Say = c.Out, c.Notef
	}
	return j, err
}

func judge(c *cli.Call, k *panel.Keeper) error {
	j, err := open(c, k)
	if err != nil {
		return err
	}
	j.Lenses, j.Again = c.Strings("lens"), c.Bool("again")
	return j.Each(c.Context, stream.Input{Files: c.Args, Stdin: c.In, After: -1,
		Rejects: c.String("rejects"), Say: c.Notef})
}

func command(name, args, usage string, do func(*cli.Call, *panel.Keeper) error,
	flags ...cli.Flag) cli.Program {
	flags = append(flags,
		cli.Home("store personas in"), cli.Config())
	p := cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, LongRunning: name == "watch"}
	p.Run = func(c *cli.Call) error {
		home, cfg, err := config.Home(durable.MakeHome, c.String("home"), c.String("config"))
		if err != nil {
			return err
		}
		defer home.Close()
		secrets, err := secret.Open(home, "")
		if err != nil {
			return err
		}
		return do(c, &panel.Keeper{Home: home, Config: cfg, Secrets: secrets, In: c.In, Out: c.Out,
			JSON: c.Bool("json"), Say: c.Notef, Now: time.Now})
	}
	return p
}

// read returns the content of the file named.
func read(c *cli.Call) ([]byte, error) {
	if c.Args[0] == "-" {
		b, err := io.ReadAll(io.LimitReader(c.In, persona.MaxFile+1))
		return b, sysexit.With(sysexit.IO, err)
	}
	b, err := os.ReadFile(c.Args[0])
	return b, sysexit.With(sysexit.NoInput, err)
}
