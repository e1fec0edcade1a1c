package dispatch

import (
	"slices"

	"tri/lib/judge/relation"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// notAnswered returns the messages of t whose questions a text leaves out, by id: the draft of a validation
// that ends, or a text that was posted. A posted text that names nothing of any question proves nothing of
// which it answers: a person has approved it. One that an approver wrote leaves out only what the draft did,
// as the approver was shown: a person answers without repeating the names of a question.
func notAnswered(t *thread.Thread, in thread.Input) (ids []string) {
	text, asked := "", t.Questions()
	switch {
	case in.Run != nil && in.Run.Kind == run.Validate && t.Status == thread.AwaitingValidation &&
		t.InvestigatorReturn != nil:
		text = t.InvestigatorReturn.DraftReply
	case in.Reply != nil && in.Reply.Outcome == outbox.Posted && in.Reply.Cycle == t.Cycle &&
		t.Status != thread.Closed:
		text = in.Reply.ReplyText
	}
	if text == "" {
		return nil
	}
	left := relation.Uncovered(thread.Texts(asked), text)
	if in.Reply != nil && len(left) == len(asked) {
		return nil
	}
	edited := in.Reply != nil && t.DraftPending != nil && text != *t.DraftPending
	for _, i := range left {
		if id := asked[i].MessageID; !edited || slices.Contains(t.NotAnswered, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
