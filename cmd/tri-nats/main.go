// Tri-nats carries logs and runs of agents between machines. No other program connects to NATS.
package main

import (
	"cmp"
	"context"
	"fmt"

	"tri/lib/agent/all"
	"tri/lib/base/broker"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/flow/worker"
)

func main() { cli.Main(program) }

var home = cli.Home("use the home")

var program = cli.Program{
	Name:  "tri-nats",
	Usage: "copy logs to other machines and run agents there",
	Help: `Pub sends the lines of logs to a NATS server; sub keeps exact copies on another
machine. Work runs agents for a hub, the machine that has the logs: jobs from the
queue or, with --stdio, the one job on standard input. A hub with on: ssh HOST
starts work --stdio on HOST. Init writes a server's configuration and the keys.

  tri-watch slack | tri-nats pub events
  tri-nats sub events --out events.ndjson
  tri-nats work
  ssh build1 tri-nats work --stdio`,
	Commands: []cli.Program{
		{Name: "init", Usage: "write a server's configuration, keys and certificates", Run: setup,
			Flags: []cli.Flag{home,
				cli.Strings("host", "make the server's certificate for `NAME`, too; may be repeated"),
				cli.Int("workers", "make keys for `N` workers", 2)}},
		{Name: "pub", Args: "name ...", Usage: "send logs, or all, and follow them", Run: pub, LongRunning: true,
			Flags: []cli.Flag{home, cli.Bool("once", "exit when every line is acknowledged")}},
		{Name: "sub", Args: "name ...", Usage: "keep copies of logs, or of all", Run: sub, LongRunning: true,
			Flags: []cli.Flag{home,
				cli.String("out", "keep the copy in `FILE` (default NAME.ndjson of the home)")}},
		{Name: "work", Usage: "run agents for the hub", Run: work, LongRunning: true, Flags: []cli.Flag{home,
			cli.String("name", "report as `NAME` (default the host's name)"),
			cli.Int("slots", "run `N` jobs at once", 1),
			cli.Bool("stdio", "run the one job on standard input")}},
		{Name: "run", Usage: "let a worker run the job on standard input", Run: run,
			Flags: []cli.Flag{home}},
		{Name: "status", Usage: "show streams, the queue and the workers", Run: status,
			Flags: []cli.Flag{home, cli.Bool("json", "print one JSON object")}},
	},
}

// open opens the home and connects to its server, unless there is only standard input.
func open(c *cli.Call) (*durable.Home, *config.Config, *broker.Conn, error) {
	h, cfg, err := config.Home(durable.MakeHome, c.String("home"), "")
	if err != nil || c.Bool("stdio") {
		return h, cfg, nil, err
	}
	conn, err := broker.Wait(c.Context, cfg.Nats, "tri-nats", c.Notef)
	return h, cfg, conn, err
}

func setup(c *cli.Call) error {
	h, err := durable.MakeHome(c.String("home"))
	if err != nil {
		return err
	}
	hosts := append([]string{"localhost", "127.0.0.1"}, c.Strings("host")...)
	names, err := broker.Init(h.Path("nats"), hosts, c.Int("workers"))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.Out, worker.Next(h.Path("nats"), names, hosts[len(hosts)-1]))
	return err
}

func pub(c *cli.Call) error {
	h, _, conn, err := open(c)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Stay(c.Context, func(ctx context.Context) error {
		return broker.Publish(ctx, conn, c.Args, func(name string) string { return h.Path(name + ".ndjson") },
			c.Notef, worker.End(c.In, c.Bool("once")))
	})
}

func sub(c *cli.Call) error {
	h, _, conn, err := open(c)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Stay(c.Context, func(ctx context.Context) error {
		return broker.Copies(ctx, conn, c.Args,
			func(name string) string { return cmp.Or(c.String("out"), h.Path(name+".ndjson")) }, c.Notef)
	})
}

func work(c *cli.Call) error {
	h, cfg, conn, err := open(c)
	if err != nil {
		return err
	}
	w := &worker.Worker{Name: cmp.Or(c.String("name"), worker.Hostname()), Config: cfg, Home: h, New: all.New}
	if conn == nil {
		return w.Stdio(c.Context, c.In, c.Out)
	}
	defer conn.Close()
	q := &worker.Queue{Worker: w, Conn: conn, Slots: c.Int("slots"), Say: c.Notef}
	return conn.Stay(c.Context, func(ctx context.Context) error { return q.Run(ctx, cli.Version()) })
}

func run(c *cli.Call) error {
	_, _, conn, err := open(c)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Stay(c.Context, func(ctx context.Context) error {
		return (&worker.Relay{Conn: conn}).Run(ctx, c.In, c.Out)
	})
}

func status(c *cli.Call) error {
	h, cfg, err := config.Home(durable.MakeHome, c.String("home"), "")
	if err != nil {
		return err
	}
	s, err := broker.StatusOf(c.Context, cfg.Nats,
		func(name string) string { return h.Path(name + ".ndjson") })
	if err != nil {
		return err
	}
	s.Tri = cli.Version()
	return s.Print(c.Out, c.Bool("json"))
}
