// Tri-thread finds the conversation that a message continues, on platforms without threads, and
// gives its reasons.
package main

import (
	"runtime/debug"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/stream"
	"tri/lib/base/term"
	"tri/lib/judge/conversation"
	"tri/lib/record/event"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-thread",
	Usage: "find the conversation that a message continues",
	Args:  "[file ...]",
	Help: `Reads events, one JSON object per line, and writes each of them. If an event has
no thread and continues a conversation, its thread_id becomes the id of the
conversation's first message, and thread_inferred the reason. A thread of the
platform is never changed. It uses no model.

  tri-watch export telegram.json | tri-thread | tri-classify
  tri-thread events.ndjson |
      jq -r '[.thread_id, .thread_inferred, .content] | @tsv'
  tri-thread --follow --out events-threaded.ndjson events.ndjson`,
	Schemas: []string{"event"},
	Flags: []cli.Flag{
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
		Window: conversation.Window, Rejects: c.String("rejects"), Say: c.Notef,
		Repair: (&event.Filler{Fill: c.String("out") == "", Now: time.Now, Say: c.Notef}).Complete,
	}
	if c.String("out") != "" && !in.Follow {
		in.Progress = term.NewProgress(c.Err, nil, "records")
	}
	if later := c.String("after"); later != "" {
		var err error
		if in.After, err = stream.LastSeq(later); err != nil {
			return err
		}
	}
	_, err := stream.Run(c.Context, in, stream.Output{File: c.String("out"), Stdout: c.Out},
		conversation.Stage())
	return err
}
