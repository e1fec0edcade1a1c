// Tri-turn adds to each event the turn that it belongs to: what one person says before anybody else speaks.
package main

import (
	"runtime/debug"

	"tri/lib/base/cli"
	"tri/lib/base/stream"
	"tri/lib/record/turn"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-turn",
	Usage: "group consecutive messages of one person into turns",
	Args:  "[file ...]",
	Help: `Reads events, one JSON object per line, and adds turn_id, turn_n and turn_why. A
turn is the messages of one person in one conversation, with no message of another
person between them and at most 300 seconds from one to the next.

  tri-watch export telegram.json | tri-thread | tri-turn | tri-classify
  tri-thread events.ndjson | tri-turn --turns | jq '.message_ids | length'
  tri-turn --follow --out events-turns.ndjson events-threaded.ndjson`,
	Schemas: []string{"event", "turn"},
	Flags: []cli.Flag{
		cli.Bool("turns", "print closed turns instead of events"),
		cli.String("out", "append to `FILE` durably, and resume where it ends"),
		cli.String("after", "skip events that are already in `FILE`, the output of a later stage"),
		cli.Bool("follow", "wait for more input at the end of the file"),
		cli.String("rejects", "append refused records to `FILE`"),
	},
	Run: run,
}

// memory is the program's soft memory limit, in bytes: a filter stays small whatever its input.
const memory = 24 << 20

func run(c *cli.Call) error {
	debug.SetMemoryLimit(memory)
	in := stream.Input{
		Files: c.Args, Stdin: c.In, Follow: c.Bool("follow"), After: -1,
		Window: turn.Window, Rejects: c.String("rejects"), Say: c.Notef,
	}
	if c.Bool("turns") {
		return turns(c, in)
	}
	if later := c.String("after"); later != "" {
		var err error
		if in.After, err = stream.LastSeq(later); err != nil {
			return err
		}
	}
	_, err := stream.Run(c.Context, in, stream.Output{File: c.String("out"), Stdout: c.Out}, turn.Stage())
	return err
}

// turns prints closed turns. A turn is not one of the input's records, so no output can be a cursor.
func turns(c *cli.Call, in stream.Input) error {
	if c.String("out") != "" || c.String("after") != "" {
		return cli.Usagef("--turns prints: it takes neither --out nor --after")
	}
	stage, end := turn.Lines()
	_, err := stream.Run(c.Context, in, stream.Output{Stdout: c.Out}, stage)
	lines, endErr := end()
	if endErr == nil {
		_, endErr = c.Out.Write(lines)
	}
	if err == nil {
		err = endErr
	}
	return err
}
