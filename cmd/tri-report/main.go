// Tri-report retells what became of any message and why, and says what an
// operator needs to know in the morning.
package main

import (
	"io"
	"time"

	"tri/lib/classify"
	"tri/lib/cli"
	"tri/lib/config"
	"tri/lib/disk"
	"tri/lib/report"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-report",
	Usage: "retell what became of a message, and what waits",
	Args:  "command [arg]",
	Help: `Reads the home's logs and writes nothing. Every message has exactly one outcome,
dropped ones too.

  tri-report why 142               a message, by its id
  tri-report why dev:142           where several chats have that id
  tri-report brief --since 12h     what waits, what was answered, what failed
  tri-report why 142 --json | jq .outcome`,
	Commands: []cli.Program{
		{
			Name: "why", Args: "message_id", Usage: "tell everything about a message, as chat:id where the id alone is not enough",
			Flags: common, Run: why,
		},
		{
			Name: "brief", Usage: "say what waits for a person, what was answered and what failed",
			Flags: append([]cli.Flag{&cli.DurationFlag{Name: "since", Usage: "look back for `TIME`", Value: 24 * time.Hour}}, common...), Run: brief,
		},
	},
}

var common = []cli.Flag{
	&cli.StringFlag{Name: "home", Usage: "read the logs in `DIR` (default $TRI_HOME or ~/.tri)"},
	&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of the home's config.yaml"},
	&cli.BoolFlag{Name: "json", Usage: "write a record"},
}

func open(c *cli.Call) (*disk.Home, *config.Config, error) {
	home, err := report.Home(c.String("home"))
	if err != nil {
		return nil, nil, err
	}
	cfg, err := config.ForHome(home.Dir(), c.String("config"))
	return home, cfg, err
}

func why(c *cli.Call) error {
	if len(c.Args) != 1 {
		return cli.Usagef("why takes one message_id, not %d", len(c.Args))
	}
	home, cfg, err := open(c)
	if err != nil {
		return err
	}
	story, err := report.Why(home, cfg, c.Args[0], classify.InWords)
	if err != nil {
		return err
	}
	return write(c, story)
}

func brief(c *cli.Call) error {
	if len(c.Args) > 0 {
		return cli.Usagef("brief takes no arguments, got %q", c.Args[0])
	}
	home, cfg, err := open(c)
	if err != nil {
		return err
	}
	now := time.Now()
	return write(c, report.Morning(home, cfg, now, now.Add(-c.Duration("since"))))
}

// write prints for people, or with --json for programs.
func write(c *cli.Call, r interface {
	Print(io.Writer) error
	WriteJSON(io.Writer) error
}) error {
	if c.Bool("json") {
		return r.WriteJSON(c.Out)
	}
	return r.Print(c.Out)
}
