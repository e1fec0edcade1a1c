// Tri is the entry point: it sets up a team, shows the whole pipeline, and runs the other programs
// by their short names.
package main

import (
	"cmp"
	"path/filepath"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/subcommand"
	"tri/lib/base/term"
	"tri/lib/flow/demo"
	"tri/lib/flow/setup"
	"tri/lib/report/health"
	"tri/lib/report/history"
	"tri/lib/report/logs"
)

func main() { cli.Main(program) }

var program = cli.Program{Name: "tri",
	Usage: "set up, try out, and run the tools by their short names",
	Args:  "command [arg ...]",
	Help: `tri NAME runs tri-NAME, from its own folder or PATH, with the remaining arguments.

  tri demo                          the whole path, on this machine, in a minute
  tri try slack.zip                 drafts beside past answers, from an export
  tri init                          ask a few questions, write a configuration
  tri up                            start the pipeline; tri down stops it
  tri logs -f                       the messages of its stages
  tri report why 142                the same as tri-report why 142`,
	PassArgs: true, Commands: []cli.Program{initCommand, demoCommand, tryCommand, logsCommand, helpCommand},
	Run:      func(c *cli.Call) error { return subcommand.Exec(c.Args) },
	Complete: func(c *cli.Call) error { return subcommand.Complete(c.Out, c.Args) },
}

var initCommand = cli.Program{Name: "init", Args: "[platform]",
	Usage: "ask a few questions and write a configuration",
	Help: `With a platform (slack, discord, …), prints how to create an app or bot there: the
steps, the exact scopes, the manifest. If there is no configuration yet, it then
asks for the values that no option gives, writes a configuration, and checks it
like tri-health. Without a terminal, or with --yes, the defaults apply.`,
	Flags: []cli.Flag{cli.Home("create the home in"), cli.String("local-dir", "store the local chat in `DIR`"),
		cli.String("mattermost-url", "use the server at `URL`"),
		cli.Strings("chat", "watch the chat with `ID` (repeatable; default all)"),
		cli.Strings("codebase", "answer from `DIR` (repeatable)"),
		cli.String("agent", "investigate with `NAME` of tri-agent(7), such as search or claude"),
		cli.Strings("approver", "let `NAME` approve (repeatable)"),
		cli.String("language", "set the operator's language to `CODE`"),
		cli.String("history", "keep a classified copy of the export `FILE` for the reports"),
		cli.Bool("yes", "do not ask; use the defaults"),
		cli.Bool("force", "replace an existing configuration")},
	Values: config.Values("investigator"), Run: initialize}

func initialize(c *cli.Call) error {
	home, err := durable.MakeHome(c.String("home"))
	if err != nil {
		return err
	}
	defer home.Close()
	if export := c.String("history"); export != "" {
		if err := demo.History(c.Context, subcommand.Dir(), home, export, history.Past); err != nil {
			return err
		}
		c.Notef("wrote %s, for tri-report acceptance", home.Path(history.Past))
	}
	platform, done, err := setup.Steps(home, c.Args, c.Bool("force"), c.Out)
	if err != nil || done || c.IsSet("history") && home.Exists(setup.FileName) && !c.Bool("force") {
		return err
	}
	a := setup.Answers{
		Platform: platform, LocalDir: c.String("local-dir"), MattermostURL: c.String("mattermost-url"),
		Chats: c.Strings("chat"), Codebases: c.Strings("codebase"), Agent: c.String("agent"),
		Approvers: c.Strings("approver"), Language: c.String("language")}
	in := c.In
	if !term.Is(in) || c.Bool("yes") {
		in = nil
	}
	at := setup.Around{Home: home.Dir(), Servers: setup.Local(c.Context, setup.Usual)}
	cfg, err := setup.Begin(home, a, at, c.Bool("force"), in, c.Err)
	if err != nil {
		return err
	}
	c.Notef("wrote %s", cfg.Path)
	defer c.Notef("next:\n%s", setup.Next(cfg))
	return health.Print(c.Out, health.Run(c.Context, health.Options{Dir: home.Dir(), Now: time.Now}))
}

var demoCommand = cli.Program{Name: "demo", Args: "[turns|inbox|machines]", LongRunning: true,
	Usage: "show the whole path on this machine, in a minute",
	Flags: []cli.Flag{cli.StringOr("dir", "keep all files in `DIR`", "demo"),
		cli.StringOr("codebase", "ask about the code in `DIR`", "."),
		cli.Bool("yes", "approve without asking")},
	Run: func(c *cli.Call) error {
		return demo.Run(c.Context, demo.Options{
			Part: cmp.Or(c.Args...), Dir: c.String("dir"), Codebase: c.String("codebase"), Yes: c.Bool("yes"),
			Bin: subcommand.Dir(), Terminal: term.Is(c.In) && term.Is(c.Out),
			In: c.In, Out: c.Out, Err: c.Err,
		})
	},
}

var tryCommand = cli.Program{Name: "try", Args: "export",
	Usage: "draft answers to the questions of an exported history, and post nothing",
	Help: `Reads an export as tri-watch export does, filters it, drafts answers to the messages
that most probably ask something, and writes a page that shows each question, what
people answered then, and the draft with its verdict. Nothing is posted.

  tri try slack.zip --codebase ~/src/shop`,
	Flags: []cli.Flag{cli.StringOr("dir", "keep all files in `DIR`", "trial"),
		cli.StringOr("codebase", "answer from the code in `DIR`", "."),
		cli.StringOr("agent", "investigate with `NAME`", "search"),
		cli.Int("limit", "draft at most `N` answers", 40)},
	Values: config.Values("investigator"), Run: func(c *cli.Call) error {
		return demo.Try(c.Context, demo.Trial{
			Options: demo.Options{Dir: c.String("dir"), Codebase: c.String("codebase"), Bin: subcommand.Dir(),
				Terminal: term.Is(c.Out), Out: c.Out, Err: c.Err},
			Export: c.Args[0], Agent: c.String("agent"), Limit: c.Int("limit"),
		})
	},
}

var logsCommand = cli.Program{Name: "logs", Args: "[stage ...]",
	Usage: "show the messages of the pipeline's stages", LongRunning: true,
	Flags: []cli.Flag{cli.Home("use the home"),
		&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "show new lines, too"},
		cli.Int("lines", "show the last `N` lines of each", 10)},
	Run: func(c *cli.Call) error {
		dir := filepath.Join(cmp.Or(c.String("home"), durable.DefaultDir()), "logs")
		return logs.Show(c.Context, c.Out, logs.Options{Dir: dir, Stages: c.Args, Lines: c.Int("lines"),
			Follow: c.Bool("follow")})
	},
}

var helpCommand = cli.Program{Name: "help", Args: "[command]",
	Usage: "list the tools, or print the usage of one",
	Run:   func(c *cli.Call) error { return subcommand.Help(c.Out, c.Args) }}
