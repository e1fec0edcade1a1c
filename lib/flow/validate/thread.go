package validate

import (
	"context"

	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// ForThread returns the request for a thread's return. A draft may use everything said in the thread, and
// the operator's notes to the investigator.
func ForThread(t *thread.Thread, question string) Request {
	r := Request{
		Return: t.InvestigatorReturn, Question: question, Rubric: t.Rubric,
		QuestionType: t.QuestionType, Codebase: t.Codebase,
	}
	for _, m := range append(t.Context[:len(t.Context):len(t.Context)], t.Messages...) {
		if !m.Deleted {
			r.Context = append(r.Context, m.Content)
		}
	}
	for _, n := range t.Notes {
		r.Context = append(r.Context, n.Text)
	}
	return r
}

// Thread judges a thread's return in a run. An answer that a person approved before is judged by code
// alone: its evidence was found unchanged before it was reused.
func (v *Validator) Thread(ctx context.Context, t *thread.Thread, question string, others []thread.Hint,
	r *run.Run) (*verdict.Verdict, error) {
	req := ForThread(t, question)
	req.RunDir, req.SessionID, req.Hold = r.Dir(), r.SessionID, r.LockFile()
	req.Key, req.Person = t.Key, t.OriginalSenderID
	for _, o := range others {
		req.Others = append(req.Others, Other{Key: o.Source, Summary: o.Text})
	}
	if t.InvestigatorReturn.Before != nil {
		v = v.ByCode()
	}
	return v.Run(ctx, req)
}

// ByCode returns the same validator without its agent and lenses.
func (v *Validator) ByCode() *Validator {
	alone := *v
	alone.Agent, alone.Room = nil, nil
	return &alone
}
