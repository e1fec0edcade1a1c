package box

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tri/lib/agent"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// Patch makes the change of code that an item of an inbox asks for, as a fix whose patch waits for a merge.
// The return is in the words of code alone: that there is a patch, and of how many files. The error is
// agent.ErrNothing if nothing was changed. The caller has set its budget aside. Asked again for the same
// run, after a kill, it takes or continues the fix that it began. What is said to the run reaches the agent.
func Patch(ctx context.Context, t *thread.Thread, r *run.Run, options Box) (ret *draft.Return, err error) {
	options.Out, options.Err, options.Told = io.Discard, io.Discard, r.Dir()
	b, err := Open(ctx, t.Codebase, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	task := thread.Texts(t.Messages)
	for _, n := range t.Notes {
		task = append(task, "An operator adds: "+n.Text)
	}
	made, err := b.once(ctx, Request{Type: Fix, Task: strings.Join(task, "\n\n"), For: r.ID})
	if err != nil {
		return nil, err
	}
	if s := made.State.Status; s != run.Review && s != run.Proposed && s != run.Merged {
		return nil, fmt.Errorf("run %s changed no file: %w", idOf(made.Meta.RunName), agent.ErrNothing)
	}
	patch, err := b.home.ReadFile("runs/" + made.Meta.RunName + "/changes.patch")
	if err != nil {
		return nil, err
	}
	n := bytes.Count(append([]byte("\n"), patch...), []byte("\ndiff --git "))
	return &draft.Return{
		Confidence: draft.Low, ConfidenceReason: "no one has read the patch",
		SummaryForOrchestrator: fmt.Sprintf("A patch of %s waits: tri-box merge %s.", text.Count(n, "file"),
			idOf(made.Meta.RunName)),
		DraftReply: fmt.Sprintf("A patch for this is ready (%s). It is used when a person has read and merged it.",
			text.Count(n, "file")),
		DraftLanguage: cmp.Or(t.Lang, "en"), EvidenceRefs: []draft.Ref{}, OpenQuestions: []string{},
		InvestigatorRound: 1,
		ResearchNotes:     "Run " + made.Meta.RunName + " in " + b.Checkout + ".", Usage: made.State.Usage,
	}, nil
}

// once returns the run that was made for a request before, continued if it did not end, or starts one.
func (b *Box) once(ctx context.Context, req Request) (*Run, error) {
	runs, err := b.recent(0)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(runs, func(r *Run) bool { return r.Meta.For == req.For })
	if i < 0 {
		return b.Start(ctx, req)
	}
	switch runs[i].State.Status {
	case run.Active, run.Crashed, run.Stalled:
		return b.Resume(ctx, runs[i].Meta.RunName, "")
	}
	return runs[i], nil
}
