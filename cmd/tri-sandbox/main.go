// Tri-sandbox runs a command in the same sandbox as agents, so that a person can inspect it.
package main

import (
	"errors"
	"os"
	"path/filepath"

	"tri/lib/base/cli"
	"tri/lib/base/sandbox"
	"tri/lib/base/sandbox/probe"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-sandbox",
	Usage: "run a command in the sandbox of the agents",
	Args:  "DIR -- command [argument ...]",
	Help: `Runs a command that sees only the folder DIR, read-only, the system's programs and
a private /tmp: no home, no secrets, no other processes, and no network except the
destinations of --reach, through a proxy. The status is that of the command.
Agents run in the same sandbox.

  tri-sandbox . -- bash
  tri-sandbox --write . -- go test ./...
  tri-sandbox --reach api.example.com:443 . -- curl https://api.example.com/`,
	Flags: []cli.Flag{
		cli.Bool("write", "let the command change files below DIR, except Git's own"),
		cli.Strings("reach", "allow connections to `HOST:PORT`; may be repeated"),
		cli.Strings("hide", "hide files called `NAME` below DIR; may be repeated"),
		cli.Strings("read", "also allow reading `PATH`; may be repeated"),
		cli.Bool("probe", "try the attacks of an injected program, and print those that succeed"),
		cli.String("home", "use `FOLDER` as HOME, writable (default /tmp)"),
	},
	Run: func(c *cli.Call) error {
		if len(c.Args) == 2 && c.Args[0] == sandbox.InnerArg {
			return sandbox.Init(c.Args[1])
		}
		if len(c.Args) == 2 && c.Args[0] == sandbox.ForwardArg {
			return sandbox.Pass(c.Context, c.Args[1], c.In, c.Out)
		}
		if len(c.Args) > 1 && c.Args[0] == probe.Arg {
			return probe.Try(c.Context, c.Args[1:], c.Out)
		}
		if c.Bool("probe") {
			return probes(c)
		}
		if len(c.Args) < 2 {
			return cli.Usagef("a folder and a command are needed")
		}
		home := c.String("home")
		if abs, err := filepath.Abs(home); home != "" && err == nil {
			home = abs
		}
		status, _, err := sandbox.Run(c.Context, sandbox.Spec{
			Argv: c.Args[1:], Env: environment(home), Dir: c.Args[0], Write: c.Bool("write"),
			Home: home, Hidden: c.Strings("hide"), Read: c.Strings("read"), Reach: c.Strings("reach"),
		}, c.In, term.File(c.Out), c.Err)
		if err != nil || status == 0 {
			return err
		}
		return sysexit.With(status, errors.New(""))
	},
}

// probes prints which probes succeeded, and ends with status 1 if any did.
func probes(c *cli.Call) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	outcome, err := probe.Run(c.Context, self)
	if err != nil {
		return err
	}
	if err := probe.Print(c.Out, outcome); err != nil {
		return err
	}
	if outcome.Through(0) > 0 || outcome.Skipped > 0 {
		return cli.ErrSilent
	}
	return nil
}

// environment returns the environment that every program gets.
func environment(home string) []string {
	if home == "" {
		home = "/tmp"
	}
	env := []string{"HOME=" + home}
	for _, name := range []string{"PATH", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
