package validate

import "tri/lib/thread"

// ForThread is the request for a thread's return: a draft may draw on everything
// that was said in the thread, and on what the operator told the investigator.
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
