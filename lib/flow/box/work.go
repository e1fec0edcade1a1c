package box

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/steer"
	"tri/lib/agent/supervise"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// told is the data for the templates. Text written by others is a prompt.Text.
type told struct {
	Run, ID      string
	Task         prompt.Text
	Diff         prompt.Text
	Tools, Shell []string
	Safe, Human  []string
	Why, Prompt  string
	Write        bool
	Learned      []prompt.Text
	Words        any // prompt.Text, or nil
}

func (l *live) told(diff string) told {
	id := idOf(l.name)
	return told{
		Run: l.name, ID: id, Task: prompt.Quote("task", l.meta.Task), Diff: prompt.Quote("change", diff),
		Tools: l.env.Tools, Shell: l.env.Shell, Safe: slashNames(id, l.env.Safe),
		Human: slashNames(id, l.env.Human), Write: l.right.write,
	}
}

// work has the agent do the task under supervision, and keeps its results.
func (l *live) work(ctx context.Context, t agent.Task) error {
	env, err := l.envTest()
	if err != nil {
		return err
	}
	steered, err := steer.Wrap(l.agent, steer.Options{Prompts: l.Prompts, Now: l.Now,
		Dir: cmp.Or(l.Told, l.dir(l.name))})
	if err != nil {
		return err
	}
	limit := l.Config.Box.Limits.Of(l.meta.Type)
	a := supervise.Wrap(steered, supervise.Options{
		Limits: supervise.Limits{Wall: limit.Time(), Turns: *limit.Turns, Tokens: *limit.Tokens,
			CostUSD: *limit.CostUSD,
			Stall:   time.Duration(agentOf(l.Config).StallMin * float64(time.Minute))},
		Dir: l.dir(l.name), ConfigHash: l.meta.ConfigHash, Open: true, Now: l.Now,
	})
	t.Question, t.Codebase, t.Dir = l.meta.Task, l.folder(), filepath.Join(l.dir(l.name), "raw")
	t.Tools = slices.DeleteFunc(slices.Clone(l.env.Tools), func(tool string) bool {
		return slices.Contains(edits, tool)
	})
	t.Shell, t.Write, t.Env = l.env.Shell, l.env.Write, env
	t.Hidden, t.Commands, t.Hold = []string{Folder}, commandFiles(l.name, l.env.commands), l.lock.File()
	for _, name := range slashNames(idOf(l.name), l.env.Safe) {
		t.Callable = append(t.Callable, strings.TrimPrefix(name, "/"))
	}
	t.Servers, t.Watch = l.Config.Servers(false), l.watch
	res, err := a.Run(ctx, t)
	if err != nil {
		return errors.Join(err, l.keepWords(res, false))
	}
	return l.keepWords(res, true)
}

// keepWords writes the agent's answer: report.md, and for a plan also plan.md. The text so far of a failed
// attempt is not a plan.
func (l *live) keepWords(res agent.Result, whole bool) error {
	words := wordsOf(res)
	if strings.TrimSpace(words.Report+words.Plan) == "" {
		return nil
	}
	l.said = true
	if l.right.plans && words.Plan == "" {
		words.Plan = words.Report
	}
	words.Report = cmp.Or(words.Report, words.Summary, words.Plan)
	for name, text := range map[string]string{"plan.md": words.Plan, "report.md": words.Report} {
		if text == "" || name == "plan.md" && !whole {
			continue
		}
		if err := l.home.Replace("runs/"+l.name+"/"+name,
			[]byte(strings.TrimRight(text, "\n")+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// words is what an agent returns: plain text, or an object of this form.
type words struct {
	Summary string `json:"summary"`
	Plan    string `json:"plan"`
	Report  string `json:"report"`
}

// wordsOf reads an agent's answer. An object of another form is kept as text.
func wordsOf(res agent.Result) words {
	text := strings.ToValidUTF8(res.Text, "\ufffd")
	if text == "" {
		text = string(res.Value)
	}
	var w words
	if obj, err := agent.Object([]byte(text)); err == nil && json.Unmarshal(obj, &w) == nil &&
		(w.Report != "" || w.Plan != "") {
		return w
	}
	return words{Summary: text, Report: text}
}

// attempt wraps each use of an agent: it then exports the changes as a patch and records the outcome in
// state.json.
func (l *live) attempt(ctx context.Context, work func() error) error {
	err := work()
	patient := ctx
	ctx = context.WithoutCancel(ctx) // results are kept even after an interrupt
	status := run.Complete
	if l.right.exports {
		changed, failed := l.export(ctx)
		if err = errors.Join(err, failed); changed {
			status = run.Review
		}
		if changed && err == nil {
			err = l.test(patient)
		}
	}
	if err == nil && status == run.Complete && !l.said {
		err = agent.Fail(agent.Abort, errors.New("it returned nothing"))
	}
	if err == nil && l.right.write && !l.right.exports {
		err = l.fell(ctx, l.name)
	}
	return errors.Join(err, l.record(status, err))
}

// record records the outcome of the run. What supervise has already recorded is kept, since it saw the
// end.
func (l *live) record(status string, failed error) error {
	return run.Update(l.dir(l.name), func(s *run.State) {
		if s.EndedAt == nil {
			s.EndedAt, s.PID = new(stamp(l.Now())), nil
		}
		if failed == nil {
			s.Status, s.Failure = status, nil
			return
		}
		if s.Status == run.Active {
			s.Status = run.Crashed
		}
		if s.Failure == nil {
			s.Failure = &run.Failure{Kind: agent.FailureKind(failed),
				Message: prompt.Cut(text.Line(failed.Error(), 1000), 1000)}
		}
		s.Failure.LastSafeArtifact = l.artifact()
	})
}

// artifact returns the best file to continue from.
func (l *live) artifact() string {
	for _, file := range []string{"changes.patch", "report.md", "plan.md", run.StreamName} {
		if info, err := l.home.Root().Stat("runs/" + l.name + "/" + file); err == nil && info.Size() > 0 {
			return file
		}
	}
	return ""
}

// end publishes the outcome of the run, and returns it.
func (l *live) end(failed error) (*Run, error) {
	err := errors.Join(l.enter(l.name), l.account(l.name))
	if err == nil {
		err = l.unmark(l.name)
	}
	err = errors.Join(err, l.lock.Unlock())
	r, read := l.Run(l.name)
	if err = errors.Join(err, read); err != nil {
		return r, errors.Join(failed, err)
	}
	if failed == nil {
		return r, nil
	}
	return r, ending(r, failed)
}

// ending returns the error of a run that did not succeed, with a sysexits(3) status that a script can act
// on.
func ending(r *Run, failed error) error {
	err := fmt.Errorf("run %s: %s: %w", r.Meta.RunName, r.State.Status, failed)
	status, ok := sysexit.Of(failed)
	switch {
	case r.State.Status == run.Stalled, agent.FailureKind(failed) == agent.Timeout:
		status = sysexit.TempFail
	case ok && (status == sysexit.Config || status == sysexit.TempFail || status == sysexit.IO ||
		status == sysexit.NoPerm || status == sysexit.Unavailable &&
		agent.FailureKind(failed) == agent.Unknown):
	default:
		status = sysexit.No
	}
	err = sysexit.With(status, err)
	if r.State.Status != run.Abandoned {
		err = sysexit.Hint(err, "tri-box show "+idOf(r.Meta.RunName)+" shows more; tri-box resume "+
			idOf(r.Meta.RunName)+" continues it")
	}
	return err
}
