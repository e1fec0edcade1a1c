// Tri-watch reads the messages of chats, each once, in a common format.
package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/stream"
	"tri/lib/base/term"
	"tri/lib/chat"
	"tri/lib/chat/export"
	"tri/lib/chat/sources"
	"tri/lib/flow/sweep"
	"tri/lib/flow/watch"
	"tri/lib/record/event"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-watch",
	Usage: "write the messages of a chat as events, each once",
	Args:  "[source [arg ...]]",
	Help: `Writes one event for each message, edit and deletion. The source is one of
  nothing          all platforms of the configuration and sweep, into one log
  PLATFORM ...     only these: mattermost, slack, …; tri-chat(7) lists all
  local [DIR]      a chat in a folder: each file is a room, each line a message
  tail FILE ...    logs of chat clients, followed: irssi, WeeChat, ZNC, a bot's
  sweep            findings of configured commands in codebases, failing checks
  export PATH      a Slack, Discord, Telegram or Mattermost export
  stdin, FILE ...  events from another program; with --text, plain lines
Events of a live chat are stored durably in events.ndjson of the home, and printed
from there. Events of other sources are only printed, except with --log or --home.

  tri-watch export slack.zip | tri-classify | jq .
  tri-watch local chat --after done.ndjson | tri-classify --out done.ndjson`,
	Schemas:     []string{"event", "action"},
	LongRunning: true,
	Flags: []cli.Flag{
		cli.Home("store the log in"), cli.Config(),
		cli.Bool("log", "store the events of any source in the log"),
		cli.Bool("no-log", "only print, also for a live chat"),
		cli.String("after", "start shortly before the last event of `FILE`, the output of a later stage"),
		cli.Bool("once", "local, sweep: exit when the existing messages are read and due commands have run"),
		cli.String("format",
			"tail: line format `NAME`: irssi, weechat, znc, hexchat or iso (default: detect it)"),
		cli.Bool("poll", "tail: poll four times a second instead of using kernel notification"),
		cli.Bool("text", "stdin: read each line as the text of a message"),
		cli.Bool("print-manifest", "print the app manifest that the platform accepts, and exit"),
		cli.Bool("json", "write records to a terminal, too"),
		cli.String("rejects", "append refused records of stdin and files to `FILE`"),
	},
	Values: config.Values("chat", "tail"),
	Complete: func(c *cli.Call) error {
		if len(c.Args) > 0 {
			return nil // the shell offers files
		}
		names := append(sources.Names(), "export", "stdin", config.PlatformSweep)
		_, err := fmt.Fprintln(c.Out, strings.Join(names, "\n"))
		return err
	},
	Run: run,
}

func run(c *cli.Call) (err error) {
	if c.Bool("print-manifest") {
		return sources.Manifest(c.Out, c.Args)
	}
	plan, err := watch.Read(c.Args, append(sources.Names(), config.PlatformSweep), watch.Flags{
		Log: c.Bool("log") || c.IsSet("home"), NoLog: c.Bool("no-log"), After: c.IsSet("after"),
		Once: c.Bool("once"), Text: c.Bool("text"), Rejects: c.IsSet("rejects"),
		Format: c.IsSet("format"), Poll: c.Bool("poll"),
	})
	if err != nil {
		return err
	}
	out := c.Out
	if !c.Bool("json") {
		out = term.Lines(out, event.Line)
	}
	o := watch.Options{Out: out, After: c.String("after"), Name: plan.Name(), Say: c.Notef,
		Progress: term.NewProgress(c.Err, c.Out, "events")}
	if plan.Log {
		if o.Home, err = durable.MakeHome(c.String("home")); err != nil {
			return err
		}
	}
	feed, raw, err := source(c, plan)
	if err != nil {
		return err
	}
	o.Raw = raw
	return watch.Run(c.Context, o, feed)
}

// source returns the feed that the command line selects; raw reports whether the platforms' own
// records are to be kept.
func source(c *cli.Call, plan watch.Plan) (feed watch.Feed, raw bool, err error) {
	switch {
	case plan.Source == "export":
		r, err := export.Open(plan.Arg)
		return watch.FromSources(map[string]chat.Source{plan.Source: r}), false, err
	case c.Bool("text"):
		return watch.FromText(c.In, cmp.Or(os.Getenv("TRI_USER"), os.Getenv("USER"), "somebody"), time.Now),
			false, nil
	case plan.Source != watch.Live:
		return watch.FromRecords(stream.Input{Files: plan.Files, Stdin: c.In, Rejects: c.String("rejects"),
			Say: c.Notef}), false, nil
	}
	cfg, err := watch.Config(c.String("home"), c.String("config"))
	if err != nil {
		return nil, false, err
	}
	live := map[string]chat.Source{}
	chats, sweeps := plan.Chats(cfg)
	if len(chats) > 0 || !sweeps {
		live, err = sources.OpenAll(cfg, chats, sources.Options{
			LocalDir: plan.Arg, Once: c.Bool("once"), Files: plan.Files, Format: c.String("format"),
			Poll: c.Bool("poll"),
		})
	}
	if err == nil && sweeps {
		live[config.PlatformSweep], err = sweep.New(cfg, c.Bool("once"))
	}
	return watch.FromSources(live), cfg.Chat.KeepRaw, err
}
