// Tri-health reports what is wrong with a home, its configuration and its programs, and how to fix
// it.
package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/cli"
	"tri/lib/chat/sources"
	"tri/lib/report/health"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-health",
	Usage: "find problems and print how to fix them",
	Args:  "[platform ...]",
	Help: `Checks the configuration, the tools that it needs, the chat, the disk, which
programs run, how far each is behind, and what waits for a person. With the name
of a platform it checks only that platform: token, scopes, membership of each
chat, clock. It changes nothing. The status is 1 if a check failed.

With --watch it runs until stopped, and prints a line for each change.

  tri-health
  tri-health slack
  tri-health --watch
  tri-health --json | jq -r 'select(.status == "fail") | .message'`,
	Flags: []cli.Flag{
		cli.Home("check the home"), cli.Config(),
		cli.Bool("json", "write a record for each check"),
		cli.OptionalFlag("watch",
			"check every 5 seconds, or as given (`[=SECONDS]`), until stopped; print changes", "5"),
	},
	LongRunning: true,
	Run: func(c *cli.Call) error {
		for _, name := range c.Args {
			if !slices.Contains(sources.Names(), name) {
				return cli.Usagef("no chat platform is called %q: there are %s", name,
					strings.Join(sources.Names(), ", "))
			}
		}
		o := health.Options{Dir: c.String("home"), Config: c.String("config"), Platforms: c.Args,
			Now: time.Now}
		if c.IsSet("watch") {
			return watch(c, o)
		}
		checks := health.Run(c.Context, o)
		write := health.Print
		if c.Bool("json") {
			write = health.WriteJSON
		}
		if err := write(c.Out, checks); err != nil {
			return err
		}
		if health.Worst(checks) == health.Fail || c.Context.Err() != nil {
			return cli.ErrSilent
		}
		return nil
	},
}

func watch(c *cli.Call, o health.Options) error {
	every, err := strconv.ParseFloat(c.Optional("watch"), 64)
	switch {
	case err != nil || !(every >= 1 && every <= 60):
		return cli.Usagef("--watch=%s: should be 1 to 60 seconds", c.Optional("watch"))
	case len(c.Args) > 0:
		return cli.Usagef("--watch looks at everything: name no platform")
	}
	write := health.News.Print
	if c.Bool("json") {
		write = health.News.WriteJSON
	}
	return health.Watch(c.Context, o, time.Duration(every*float64(time.Second)), func(n health.News) error {
		return write(n, c.Out)
	})
}
