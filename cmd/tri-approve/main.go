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
	Help: `Lists the drafts, questions and failures that wait for a decision, and records
decisions. An ID is printed by list; three or more of its characters, or of a
thread's key, also work. Only the people in team.approvers may decide; the
first decision counts, and a refusal of an approved draft until its post begins.

  tri-approve tui
  tri-approve redo 3f9a2c --note 'look at the client, not the server'`,
	Schemas: []string{"decision"},
	Commands: []cli.Program{
		command("list", "[room]", "list what waits for a decision, by urgency",
			func(c *cli.Call, t *approve.Terminal) error { return t.List(c.Bool("all")) },
			cli.Bool("all", "also list what can be undone or reopened, or is being posted")),
		command("show", "id", "show a draft with its evidence",
			func(c *cli.Call, t *approve.Terminal) error { return t.Show(c.Args[0]) }),
		command("approve", "id", "approve a draft unchanged",
			func(c *cli.Call, t *approve.Terminal) error { return t.Approve(c.Args[0]) }, sha, yes, noFile),
		command("edit", "id", "approve another text in place of the draft",
			func(c *cli.Call, t *approve.Terminal) error { return t.Edit(c.Args[0], c.String("text-file")) },
			sha, yes, noFile,
			cli.String("text-file",
				"take the text from `FILE`, - for standard input, instead of $VISUAL or $EDITOR")),
		command("dismiss", "id", "close the thread; nothing is posted", word(decision.Dismiss, "reason"), sha,
			note("reason", "the reason")),
		command("redo", "id", "investigate the question again", word(decision.Redo, "note"), sha,
			note("note", "what to investigate")),
		command("escalate", "id", "investigate the question in a long run", word(decision.Escalate, "note"), sha,
			note("note", "what to investigate")),
		command("answer", "id", "answer a question of the pipeline", word(decision.Answer, "note"), sha,
			note("note", "the answer")),
		command("reopen", "id", "investigate a dismissed, cancelled or expired item again",
			func(c *cli.Call, t *approve.Terminal) error {
				return t.Reopen(c.Args[0], c.String("note"))
			}, note("note", "what to investigate")),
		command("undo", "id", "withdraw an approval before it is posted",
			func(c *cli.Call, t *approve.Terminal) error { return t.Undo(c.Args[0]) }, sha),
		command("tui", "[room]", "decide on a full screen, with one key per decision",
			func(c *cli.Call, t *approve.Terminal) error {
				return tui.Run(c.Context, tui.Options{Gate: t.Gate, In: c.In, Out: c.Out,
					Color: term.Colors(c.Out), Plain: c.Bool("plain")})
			}, cli.Bool("plain", "work line by line, for screen readers")),
		command("web", "[room]", "serve a web page for decisions",
			func(c *cli.Call, t *approve.Terminal) error {
				return web.Serve(c.Context, web.Options{Gate: t.Gate, Say: c.Notef, Now: time.Now})
			}),
		command("chat", "", "show cards in the operators' channel and read decisions there",
			func(c *cli.Call, t *approve.Terminal) error {
				return card.Run(c.Context, card.Options{Gate: t.Gate, Say: c.Notef})
			}),
		command("notice", "add|list|revoke [name] [text]", "approve, list or revoke short automatic messages",
			notices),
		command("settle", "id posted|retry|drop", "record what happened to a parked post",
			func(c *cli.Call, t *approve.Terminal) error {
				return t.Settle(c.Args[0], c.Args[1], c.String("note"))
			}, note("note", "how you know")),
	},
}

var (
	sha    = cli.String("sha", "decide only if the draft's SHA-256 begins with `PREFIX`")
	noFile = cli.Bool("no-file", "do not keep the notes file that was proposed with the draft")
	yes    = cli.Bool("yes", "do not ask")
)

func note(name, of string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: "record `TEXT`: " + of}
}

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
		cli.Home("use the home"), cli.Config(), cli.As("decide as"), cli.Bool("json", "write records"))
	stays := name == "tui" || name == "web" || name == "chat"
	return cli.Program{Name: name, Args: args, Usage: usage, Flags: flags, LongRunning: stays,
		Complete: func(c *cli.Call) error { return approve.WriteIDs(c.Out, args) },
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
				In: c.In, Out: c.Out, Err: c.Err, Say: c.Notef, JSON: c.Bool("json"), Yes: c.Bool("yes"),
				SHA: c.String("sha"),
			})
		}}
}
