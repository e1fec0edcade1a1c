// Tri-reply posts what people approved, byte for byte and once, and records the result. It is the
// only program that calls a posting method of a chat.
package main

import (
	"cmp"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/chat/sinks"
	"tri/lib/flow/reply"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-reply",
	Usage: "post approved drafts",
	Help: `Posts each approved draft of decisions.ndjson once. Before a post, it checks that
the cited lines are unchanged and that the question was not edited; otherwise it
revokes the approval. Each reply is appended to replies.ndjson and printed. It may
be killed at any time: if a post may have been sent, it searches the chat for it;
if the chat cannot tell, it parks the post for tri-approve settle.

  tri-reply --test dev               post a test message to a chat
  tri-reply                          post approved drafts until stopped
  tri-reply --once --local ~/chat    post to a chat in a folder, and exit`,
	Schemas: []string{"reply", "outbox-entry", "decision", "signal", "signal-done"},
	Flags: []cli.Flag{
		cli.Home("use the home"), cli.Config(),
		cli.String("local", "post to the chat in `DIR`, whatever the configuration says"),
		cli.Bool("once", "exit when nothing is left to post"),
		cli.Bool("follow", "wait for more approvals (the default)"),
		cli.String("test", "post a fixed test message to `CHAT`, an id or a configured name, and exit"),
		cli.String("platform", "with --test: post on the platform `NAME`, if several are configured"),
		cli.As("with --test: send as"),
		cli.Bool("yes", "with --test: do not ask"),
		cli.Bool("json", "with --test: write a record"),
	},
	LongRunning: true,
	Run:         run,
}

func run(c *cli.Call) error {
	if len(c.Args) > 0 || c.Bool("once") && c.Bool("follow") {
		return cli.Usagef("no arguments are taken, and --once and --follow exclude each other")
	}
	switch test := c.String("test"); {
	case test == "" && (c.IsSet("test") || c.Bool("yes") || c.Bool("json") || c.String("platform") != ""):
		return cli.Usagef("--yes, --json and --platform need --test CHAT")
	case test != "" && (c.Bool("once") || c.Bool("follow")):
		return cli.Usagef("--test excludes --once and --follow")
	}
	home, cfg, err := config.Home(durable.OpenHome, c.String("home"), c.String("config"))
	if err != nil {
		return err
	}
	defer home.Close()
	cfg.Chat.Local.Dir = cmp.Or(c.String("local"), cfg.Chat.Local.Dir)
	sinks, err := sinks.Open(cfg)
	if err != nil {
		return err
	}
	if room := c.String("test"); room != "" {
		ops := config.Chat{Platform: cfg.Gate.Chat.Platform, ChatID: cfg.Gate.Chat.ChatID}
		test := reply.Test{
			Room: room, Platform: c.String("platform"), By: c.String("as"), Yes: c.Bool("yes"),
			JSON:  c.Bool("json"),
			Chats: append(cfg.WatchedChats, ops), Sinks: sinks, In: c.In, Out: c.Out, Err: c.Err,
		}
		return test.Run(c.Context)
	}
	return reply.Run(c.Context, reply.Options{
		Home: home, Policy: decision.PolicyIn(home.Dir(), c.String("config")), Grace: cfg.Gate.Grace(),
		Sinks:   sinks,
		Recheck: reply.Lines(cfg.Folder), Secrets: cfg.Secrets(),
		Allowed: func(s *notify.Signal) error { return notify.Allowed(cfg, s) },
		Pace:    cfg.Gate.Pace(), Typing: cfg.Gate.Typing,
		Once: c.Bool("once"), Out: c.Out, Say: c.Notef, Now: time.Now,
	})
}
