// Tri-voice words drafts as the team speaks, and cuts long ones into messages, before they are validated.
package main

import (
	"errors"

	"tri/lib/agent/all"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/flow/voice"
	"tri/lib/record/run"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-voice",
	Usage: "adapt drafts to the team's style, and cut long ones into messages",
	Args:  "[file ...]",
	Help: `Reads returns of tri-investigate, one JSON object per line, and writes each of them.
A long draft is cut into 2 or 3 messages (cuts); voice lists the changes. If
voice.model is configured, that model rephrases the draft; if its text has another
meaning, it is refused and the draft is kept. Without a model, only paragraphs are
moved, and markup, courtesies and repetitions removed.

  tri-investigate --codebase . event.json |
      tri-voice | tri-validate --codebase .
  tri-voice returns.ndjson |
      jq -r '[.draft_reply[0:40], (.cuts | length)] | @tsv'
  tri-voice --score pairs.ndjson`,
	Schemas: []string{"return", "voice"},
	Flags: []cli.Flag{
		cli.String("home",
			"use config.yaml in `DIR` and store voice.ndjson there (default $TRI_HOME or ~/.tri)"),
		cli.Config(),
		cli.String("style", "read the team's style from `FILE` instead of the configured one"),
		cli.Bool("score", "read pairs of draft and reference, and score the model's texts"),
		cli.String("rejects", "append refused records to `FILE`"),
	},
	Run: speak,
}

func speak(c *cli.Call) error {
	cfg, err := config.ForHome(c.String("home"), c.String("config"))
	if err != nil {
		return err
	}
	v, err := voice.New(cfg, c.String("style"))
	if err != nil {
		return err
	}
	if v.Agent, err = all.New(cfg.Voice.Model, cfg.Sandbox); err != nil {
		return err
	}
	if v.Prompts, err = prompt.Load(cfg.Dispatch.PromptsDir); err != nil {
		return err
	}
	if v.Agent != nil {
		home, err := durable.MakeHome(c.String("home"))
		if err != nil {
			return err
		}
		defer home.Close()
		v.Log = &voice.Log{Home: home}
	}
	stage := voice.Stage{Voice: v, UUID: run.UUID, Out: c.Out, Say: c.Notef}
	in := stream.Input{Files: c.Args, Stdin: c.In, After: -1, Rejects: c.String("rejects"), Say: c.Notef}
	if !c.Bool("score") {
		return stage.Each(c.Context, in)
	}
	if v.Agent == nil {
		return cli.Usagef("--score needs a model: voice.model in the configuration")
	}
	m, err := stage.Score(c.Context, in)
	if err != nil {
		return err
	}
	if err := ndjson.Write(c.Out, m); err != nil {
		return err
	}
	if !m.OK {
		return sysexit.With(sysexit.No,
			errors.New("the model is off: its texts are too far from the references"))
	}
	return nil
}
