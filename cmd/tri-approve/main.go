// Tri-approve lets people decide what is posted: it shows everything that a decision is based on,
// and appends their decisions to the decision log.
package main

import (
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/term"
	"tri/lib/flow/approve"
	"tri/lib/flow/approve/card"
	"tri/lib/flow/approve/tui"
	"tri/lib/flow/approve/web"
	"tri/lib/record/decision"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-approve",
	Usage: "decide what is posted",
	Args:  "command [id]",
	Help: `Drafts wait here for a yes, and questions and failures of the pipeline for a
word. An ID is what list prints, the beginning of a thread's key, or on a terminal
the number in the list. Only team.approvers may decide; the first word counts.

  tri-approve tui
  tri-approve redo 3f9a2c --note 'look at the client, not the server'`,
	Schemas: []string{"decision"},
	Commands: []cli.Program{
		command("list", "[room]", "show what waits, oldest first",
			func(c *cli.Call, t *approve.Terminal) error { return t.List(c.Bool("all")) },
			cli.Bool("all", "also what can be undone or reopened, or is being posted")),
		command("show", "id", "show everything that a decision rests on",
			func(c *cli.Call, t *approve.Terminal) error { return t.Show(c.Args[0]) }),
		command("approve", "id", "say yes to a draft as it is",
			func(c *cli.Call, t *approve.Terminal) error { return t.Approve(c.Args[0]) }, sha, yes, noFile),
		command("edit", "id", "say yes to another text in its place",
			func(c *cli.Call, t *approve.Terminal) error { return t.Edit(c.Args[0], c.String("text-file")) },
			sha, yes, noFile,
			cli.String("text-file",
				"take the text from `FILE`, - for standard input, instead of $VISUAL or $EDITOR")),
		command("dismiss", "id", "post nothing", word(decision.Dismiss, "reason"), sha,
			note("reason", "why nothing is posted")),
		command("redo", "id", "have it investigated again", word(decision.Redo, "note"), sha,
			note("note", "what to look at")),
		command("escalate", "id", "have it looked into for longer", word(decision.Escalate, "note"), sha,
			note("note", "what to look at")),
		command("answer", "id", "answer what you are asked", word(decision.Answer, "note"), sha,
			note("note", "the answer")),
		command("reopen", "id", "have a dismissed or expired item investigated anew",
			func(c *cli.Call, t *approve.Terminal) error {
				return t.Reopen(c.Args[0], c.String("note"))
			}, note("note", "what to look at")),
		command("undo", "id", "take a yes back, until it is posted",
			func(c *cli.Call, t *approve.Terminal) error { return t.Undo(c.Args[0]) }, sha),
		command("tui", "[room]", "decide on a full screen, a key for each word",
			func(c *cli.Call, t *approve.Terminal) error {
				return tui.Run(c.Context, tui.Options{Gate: t.Gate, In: c.In, Out: c.Out,
					Color: term.Colors(c.Out), Plain: c.Bool("plain")})
			}, cli.Bool("plain", "go line by line, for a screen reader")),
		command("web", "[room]", "serve a page to decide on, on this machine alone",
			func(c *cli.Call, t *approve.Terminal) error {
				return web.Serve(c.Context, web.Options{Gate: t.Gate, Say: c.Say, Now: time.Now})
			}),
		command("chat", "", "show cards in the operators' channel, and take what is said there",
			func(c *cli.Call, t *approve.Terminal) error {
				return card.Run(c.Context, card.Options{Gate: t.Gate, Say: c.Say})
			}),
		command("notice", "add|list|revoke [name] [text]", "approve short texts that are posted at once",
			notices),
		command("settle", "id posted|retry|drop", "say what became of a parked post",
			func(c *cli.Call, t *approve.Terminal) error {
				return t.Settle(c.Args[0], c.Args[1], c.String("note"))
			}, note("note", "how you know")),
	},
}

var (
	sha    = cli.String("sha", "only if the draft's sha256 begins with `PREFIX`")
	noFile = cli.Bool("no-file", "do not keep the file of notes that was proposed with the draft")
	yes    = cli.Bool("yes", "do not ask")
)

func note(name, of string) cli.Flag { return &cli.StringFlag{Name: name, Usage: "say `TEXT`: " + of} }

func notices(c *cli.Call, t *approve.Terminal) error {
	switch args := append(c.Args, "", ""); {
	case args[0] == "list" && len(c.Args) == 1:
		return t.Notices()
	case args[0] == "add" && args[1] != "":
		return t.AddNotice(args[1], args[2])
	case args[0] == "revoke" && len(c.Args) == 2:
		return t.RevokeNotice(args[1])
	}
	return cli.Usagef("want: add NAME [TEXT], list, or revoke NAME")
}

func word(kind, flag string) func(*cli.Call, *approve.Terminal) error {
	return func(c *cli.Call, t *approve.Terminal) error {
		if kind == decision.Answer && c.String(flag) == "" {
			return cli.Usagef("answer needs --note")
		}
		return t.Word(kind, c.Args[0], c.String(flag))
	}
}

func command(name, args, usage string, do func(*cli.Call, *approve.Terminal) error,
	flags ...cli.Flag) cli.Program {
	flags = append(flags,
		cli.Home("keep everything in"), cli.Config(), cli.As("decide as"), cli.Bool("json", "write records"))
	stays := name == "tui" || name == "web" || name == "chat"
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, Stays: stays,
		Run: func(c *cli.Call) error {
			home, cfg, err := config.Home(durable.OpenHome, c.String("home"), c.String("config"))
			if err != nil {
				return err
			}
			defer home.Close()
			room := ""
			if args == "[room]" && len(c.Args) > 0 {
				room = c.Args[0]
			}
			return do(c, &approve.Terminal{
				Gate: approve.Gate{
					Home: home, Config: cfg, Policy: decision.PolicyIn(home.Dir(), c.String("config")),
					By: c.String("as"), Via: "terminal", Room: room, Now: time.Now, NoFile: c.Bool("no-file"),
				},
				In: c.In, Out: c.Out, Err: c.Err, Say: c.Say, JSON: c.Bool("json"), Yes: c.Bool("yes"),
				SHA: c.String("sha"),
			})
		}}
}
