// Tri-health says what is wrong with a home, its configuration and its programs,
// and how to mend it.
package main

import (
	"slices"
	"strings"
	"time"

	"tri/lib/chat/sources"
	"tri/lib/cli"
	"tri/lib/health"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-health",
	Usage: "say what is wrong and how to mend it",
	Args:  "[platform ...]",
	Help: `Looks at the configuration, the tools that it needs, the chat, the disk, which
programs run, how far each is behind, and what waits for a person. With names of
platforms it looks at those alone: token, scopes, membership of each chat, clock.
Changes nothing. The status is 1 when something failed.

  tri-health
  tri-health slack
  tri-health --json | jq -r 'select(.status == "fail") | .message'`,
	Flags: []cli.Flag{
		&cli.StringFlag{Name: "home", Usage: "look at `DIR` (default $TRI_HOME or ~/.tri)"},
		&cli.StringFlag{Name: "config", Usage: "read `FILE` instead of the home's config.yaml"},
		&cli.BoolFlag{Name: "json", Usage: "write a record for each check"},
	},
	Run: func(c *cli.Call) error {
		for _, name := range c.Args {
			if !slices.Contains(sources.Names(), name) {
				return cli.Usagef("no chat platform is called %q: there are %s", name, strings.Join(sources.Names(), ", "))
			}
		}
		checks := health.Run(c.Context, health.Options{Dir: c.String("home"), Config: c.String("config"), Platforms: c.Args, Now: time.Now})
		write := health.Print
		if c.Bool("json") {
			write = health.WriteJSON
		}
		if err := write(c.Out, checks); err != nil {
			return err
		}
		if health.Worst(checks) == health.Fail {
			return cli.Quiet
		}
		return nil
	},
}
