package validate

import "tri/lib/thread"

// ForThread is the request to judge what a thread's investigation has returned.
func ForThread(t *thread.Thread, question string) Request {
	r := Request{
		Return: t.InvestigatorReturn, Question: question, Rubric: t.Rubric,
		QuestionType: t.QuestionType, Codebase: t.Codebase,
	}
	for _, m := range t.Context {
		r.Context = append(r.Context, m.Content)
	}
	return r
}
