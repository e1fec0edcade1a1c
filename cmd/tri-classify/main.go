// Tri-classify tags chat messages as questions, acknowledgements or neither, and gives its reasons.
package main

import (
	"runtime/debug"
	"time"

	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/query"
	"tri/lib/base/stream"
	"tri/lib/base/term"
	"tri/lib/judge/classify"
	"tri/lib/record/event"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-classify",
	Usage: "tag chat messages that ask for something",
	Args:  "[file ...]",
	Help: `Reads events, one JSON object per line, and writes each unchanged, with fields
added at its end: classification (actionable, ambient or ack), confidence and
reasons. It uses no language model. Most messages of a chat are dropped here. Without
--out, it fills in fields that a hand-written record lacks.

  echo '{"text":"why does it fail?"}' | tri-classify --explain
  tri-watch export slack.zip | tri-classify |
      jq -c 'select(.classification == "actionable")'
  tri-classify --explain events.ndjson | less      print the reasons
  tri-classify --follow --out events-classified.ndjson events.ndjson`,
	Schemas: []string{"classified-event", "event"},
	Flags: []cli.Flag{
		cli.Config(),
		cli.String("out", "append to `FILE` durably, and resume where it ends"),
		cli.String("after", "skip events that are already in `FILE`, the output of a later stage"),
		cli.Bool("follow", "wait for more input at the end of the file"),
		cli.String("rejects", "append refused records to `FILE`"),
		cli.Bool("explain", "write sentences for people instead of records"),
	},
	Run: run,
}

// memory is the program's soft memory limit, in bytes: a filter stays small whatever its input.
const memory = 22 << 20

func run(c *cli.Call) error {
	debug.SetMemoryLimit(memory)
	cfg, err := config.Load(c.String("config"))
	if err != nil {
		return err
	}
	classifier, err := classify.New(classify.Options{
		Config: cfg.Classifier, Team: cfg.Team, Now: time.Now, Say: c.Notef,
		Compile: func(jq string) (classify.Matcher, error) { return query.Compile(jq) },
	})
	if err != nil {
		return err
	}
	in := stream.Input{
		Files: c.Args, Stdin: c.In, Follow: c.Bool("follow"), After: -1,
		Window: classify.Window, Rejects: c.String("rejects"), Say: c.Notef,
		Repair: (&event.Filler{Fill: c.String("out") == "", Now: time.Now, Say: c.Notef}).Complete,
	}
	if c.String("out") != "" && !in.Follow {
		in.Progress = term.NewProgress(c.Err, nil, "records")
	}
	if later := c.String("after"); later != "" {
		if in.After, err = stream.LastSeq(later); err != nil {
			return err
		}
	}
	stage := classifier.Stage()
	if c.Bool("explain") {
		stage = classifier.Explain()
	}
	_, err = stream.Run(c.Context, in, stream.Output{File: c.String("out"), Stdout: c.Out}, stage)
	return err
}
