// Tri-nats carries logs and runs of agents between machines.
package main

import (
	"os"

	"tri/lib/agent/all"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/flow/worker"
)

func main() { cli.Main(program) }

var home = &cli.StringFlag{Name: "home", Usage: "keep `DIR` (default $TRI_HOME or ~/.tri)"}

var program = cli.Program{
	Name:  "tri-nats",
	Usage: "carry logs and runs of agents between machines",
	Help: `Work runs agents for the hub of another machine. With --stdio it runs the one
job on standard input, which is what a hub with on: ssh HOST starts here.

  ssh build1 tri-nats work --stdio`,
	Commands: []cli.Program{
		{Name: "work", Usage: "run agents for the hub", Run: doWork, Stays: true, Flags: []cli.Flag{home,
			&cli.BoolFlag{Name: "stdio", Usage: "run the job whose order is the first line of standard input"}}},
	},
}

func doWork(c *cli.Call) error {
	h, err := durable.MakeHome(c.String("home"))
	if err != nil {
		return err
	}
	defer h.Close()
	cfg, err := config.ForHome(h.Dir(), "")
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	w := &worker.Worker{Name: name, Config: cfg, Home: h, New: all.New}
	return w.Stdio(c.Context, c.In, c.Out)
}
