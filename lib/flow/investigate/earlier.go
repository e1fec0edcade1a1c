package investigate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/judge/evidence"
	"tri/lib/judge/recall"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// Earlier is the investigation of an earlier cycle, which this one continues.
type Earlier struct {
	Dir       string // of its run
	SessionID string
	Return    *draft.Return
}

// Continues returns the investigation that t's due one continues, nil if there is none or its result is
// gone.
func Continues(h *durable.Home, t *thread.Thread) (*Earlier, error) {
	was := t.Earlier()
	if was == nil {
		return nil, nil
	}
	res, err := run.Load(h, was.RunID)
	if err != nil || res == nil || res.Status != run.Done {
		return nil, err
	}
	e := &Earlier{Dir: h.Path(run.Folder(h, was.RunID)), SessionID: was.SessionID, Return: new(draft.Return)}
	if err := json.Unmarshal(res.Value, e.Return); err != nil {
		return nil, fmt.Errorf("read run %s: %w", was.RunID, err)
	}
	return e, nil
}

// ask runs the agent: in the session of the earlier investigation, or if it cannot continue that one, in a
// new one that is told what the earlier one found.
func (i *Investigator) ask(ctx context.Context, r Request, rubric string, root *os.Root,
	repo evidence.Repo) (agent.Result, error) {
	r.Hints = current(root, repo, r.Hints)
	if e := r.Earlier; e != nil && agent.CapabilitiesOf(i.Agent).Resumes && e.SessionID != "" && r.RunDir != "" {
		res, err := i.resume(ctx, r, rubric)
		if !errors.Is(err, agent.ErrNoResume) {
			return res, err
		}
	}
	if r.Earlier != nil {
		r.Hints = append(r.Earlier.hints(root, repo), r.Hints...)
	}
	task, err := i.task(ctx, r, rubric, "investigate.md")
	if err != nil {
		return agent.Result{}, err
	}
	return i.Agent.Run(ctx, task)
}

func (i *Investigator) resume(ctx context.Context, r Request, rubric string) (agent.Result, error) {
	if err := agent.Adopt(r.Earlier.Dir, r.RunDir); err != nil {
		return agent.Result{}, err
	}
	task, err := i.task(ctx, r, rubric, "investigate-resume.md")
	if err != nil {
		return agent.Result{}, err
	}
	task.SessionID, task.Resume = r.Earlier.SessionID, true
	return i.Agent.Run(ctx, task)
}

// hints returns the earlier answer, and those of the lines that it cites that are unchanged.
func (e *Earlier) hints(root *os.Root, repo evidence.Repo) []Hint {
	hints := []Hint{{Source: "an earlier answer to this asker, before the latest messages",
		Text: e.Return.DraftReply}}
	var read strings.Builder
	for _, ref := range e.Return.EvidenceRefs {
		if ok, why, err := evidence.StillStands(root, repo, ref); err == nil && ok && why == "" {
			fmt.Fprintf(&read, "%s: %s\n", ref.Ref, prompt.Cut(ref.SupportsClaim, maxHint/4))
		}
	}
	if read.Len() > 0 {
		hints = append(hints, Hint{Source: "lines that were read for it, unchanged since",
			Text: read.String()})
	}
	return hints
}

// current returns the hints without those whose cited lines have changed or cannot be read now.
func current(root *os.Root, repo evidence.Repo, hints []Hint) []Hint {
	return slices.DeleteFunc(slices.Clone(hints), func(h Hint) bool {
		state, _, err := recall.State(root, repo, h.Refs)
		return err != nil || state == recall.Changed
	})
}
