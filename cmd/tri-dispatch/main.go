// Tri-dispatch takes classified events and moves threads from question to checked draft.
package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"tri/lib/agent/all"
	"tri/lib/agent/lens"
	"tri/lib/agent/steer"
	"tri/lib/agent/supervise"
	"tri/lib/base/cli"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/term"
	"tri/lib/flow/box"
	"tri/lib/flow/dispatch"
	"tri/lib/flow/investigate"
	"tri/lib/flow/longrun"
	"tri/lib/flow/validate"
	"tri/lib/flow/voice"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

func main() { cli.Main(program) }

var program = cli.Program{
	Name:  "tri-dispatch",
	Usage: "move threads from a question to a checked draft",
	Args:  "[file]",
	Help: `Reads classified events from the file, which it follows, or from stdin. For each
actionable event, it runs an investigation, validates the draft, and offers it
for approval (tri-approve). Prints a record for each transition of a thread.

  tri-watch local chat | tri-classify | tri-dispatch
  tri-dispatch --once events-classified.ndjson   exit when no thread has work
  tri-dispatch --rebuild                         rebuild threads from the log`,
	Schemas:     []string{"thread", "classified-event", "journal", "run", "spend", "todo"},
	LongRunning: true,
	Flags: []cli.Flag{cli.Home("store logs and threads in"), cli.Config(),
		cli.StringOr("codebase", "read `DIR` for chats without a configured codebase", "."),
		cli.Bool("once", "exit when the input has ended and every thread is closed or waits for a person"),
		cli.Bool("shadow", "offer nothing for posting; keep people's answers beside the drafts"),
		cli.Bool("rebuild", "replay the journal, rewrite the thread files that differ, and exit"),
		cli.Bool("json", "write records to a terminal, too"),
		cli.String("rejects", "append refused records to `FILE`")}, Run: start,
}

func start(c *cli.Call) error {
	home, err := durable.MakeHome(c.String("home"))
	if err != nil {
		return err
	}
	if c.Bool("rebuild") {
		done, err := dispatch.Rebuild(home)
		if err == nil {
			c.Notef("%s", done)
		}
		return err
	}
	cfg, err := config.ForHome(home.Dir(), c.String("config"))
	if err != nil {
		return err
	}
	if c.Bool("shadow") && cfg.Investigator.Agent == "search" { // it costs nothing
		cfg.Budget.InvestigationsPerDay, cfg.Budget.InvestigationsPerPersonPerDay = new(0), new(0)
	}
	prompts, err0 := prompt.Load(cfg.Dispatch.PromptsDir)
	cfg.Investigator.Home, cfg.Validator.Home = home.Dir(), home.Dir()
	steered := steer.Around(prompts)
	finder, err1 := supervise.Of(cfg.Investigator).Around(steered(all.New(cfg.Investigator, cfg.Sandbox)))
	breaker, err2 := all.Supervised(cfg.Validator, cfg.Sandbox)
	speaker, err3 := all.New(cfg.Voice.Model, cfg.Sandbox)
	room, err4 := lens.Configured(home, cfg, prompts, all.Supervised)
	if err := errors.Join(err0, err1, err2, err3, err4); err != nil {
		return err
	}
	words, err := voice.Of(cfg, speaker, prompts, &voice.Log{Home: home})
	if err != nil {
		return err
	}
	out := c.Out
	if !c.Bool("json") {
		out = term.Lines(out, thread.MoveLine)
	}
	fixes := box.Box{Config: cfg, Prompts: prompts, New: all.New, Now: time.Now, Say: c.Notef}
	inv := investigate.New(finder, prompts, cfg, home.Dir())
	val := (&validate.Validator{Agent: breaker, Prompts: prompts,
		Secrets: append(cfg.Secrets(), room.Values()...), Room: room, Now: time.Now}).Team(home, cfg)
	return dispatch.Run(c.Context, dispatch.Options{
		Home: home, Config: cfg, Policy: decision.PolicyIn(home.Dir(), c.String("config")), Prompts: prompts,
		Codebase: c.String("codebase"), Once: c.Bool("once"), Shadow: c.Bool("shadow"),
		Input: stream.Input{Files: c.Args, Stdin: c.In, Follow: !c.Bool("once") && len(c.Args) > 0,
			Rejects: c.String("rejects"), Say: c.Notef}, Out: out, Say: c.Notef, Now: time.Now,
		Second: speaker, Long: &longrun.Manager{Home: home, Config: cfg, Now: time.Now},
		Investigate: investigates(home, inv, words, fixes),
		Validate: func(ctx context.Context, t *thread.Thread, others []dispatch.Hint,
			r *run.Run) (*verdict.Verdict, error) {
			return val.Thread(ctx, t, investigate.Question(t), others, r)
		},
		Waiting: func(n int) {
			if n > 0 && term.Is(c.Err) && !c.Bool("shadow") {
				c.Notef("%d wait: tri-approve list", n)
			}
		},
		Stands: func(ctx context.Context, t *thread.Thread) (*verdict.Verdict, error) {
			return val.ByCode().Run(ctx, validate.ForThread(t, investigate.Question(t)))
		},
	})
}

// investigates returns what drafts an answer to a thread, or for a change of code a patch.
func investigates(home *durable.Home, inv *investigate.Investigator, words *voice.Voice,
	b box.Box) func(context.Context, *thread.Thread, []dispatch.Hint, *run.Run) (*draft.Return, error) {
	return func(ctx context.Context, t *thread.Thread, hints []dispatch.Hint,
		r *run.Run) (*draft.Return, error) {
		if t.Intent == thread.CodeChange {
			return box.Patch(ctx, t, r, b)
		}
		earlier, err := investigate.Continues(home, t)
		if err != nil {
			return nil, err
		}
		ret, err := inv.Run(ctx, investigate.Request{Thread: t, Codebase: t.Codebase, Hints: hints,
			RunDir: r.Dir(), SessionID: r.SessionID, Hold: r.LockFile(), Earlier: earlier})
		if err != nil {
			return nil, err
		}
		return ret, words.Apply(ctx, ret,
			voice.Run{Dir: filepath.Join(r.Dir(), "voice"), SessionID: run.UUID(), Hold: r.LockFile()})
	}
}
