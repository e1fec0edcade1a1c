package thread

import (
	"slices"
	"strings"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// event applies a message: a question, a follow-up, an edit, a deletion, a "never mind", a
// colleague's answer.
func (t *Thread) event(in Input) {
	e, facts := in.Event, in.Facts
	if facts == nil {
		facts = &Facts{QuestionType: Other}
	}
	if facts.Own {
		return
	}
	m := From(e)
	m.Actionable = m.Actionable || facts.Intent != ""
	switch {
	case t.Key == "":
		t.open(in, facts, m)
		return
	case e.Deleted:
		t.deleted(in.At, m, Gone)
	case e.EditedAt != "" || e.EditID != "":
		t.edited(in, facts, m)
	default:
		t.said(in, facts, m)
	}
	t.LastEventAt = e.CreateTime
}

func (t *Thread) open(in Input, facts *Facts, m Message) {
	e := in.Event
	t.Key, t.Platform, t.ThreadID = in.Key, e.Platform, e.Root()
	if root := e.Key(); root != in.Key {
		t.Root = root
	}
	t.ChatID, t.ChatName = e.ChatID, e.ChatName
	t.OriginalMessageID, t.OriginalSenderID, t.OriginalSenderName = e.MessageID, e.Sender.ID, e.Sender.Name
	t.StartedAt, t.LastEventAt, t.Lang = in.At, e.CreateTime, e.Lang
	if facts.Relation == RelationBranch {
		t.Parent = facts.Of
	}
	t.take(facts, m.Content)
	for _, b := range in.Before {
		b.Before, b.Actionable = true, false
		t.Messages = append(t.Messages, b)
	}
	t.Messages = append(t.Messages, m)
	t.begin(in.At, "an actionable message")
}

// take stores the rules' results at the start of a cycle.
func (t *Thread) take(facts *Facts, said string) {
	if facts.Codebase != t.Codebase {
		t.Resume = nil // a session has read one codebase
	}
	t.QuestionType, t.TypeReason, t.Rubric, t.Asked = facts.QuestionType, facts.TypeReason,
		facts.Rubric, facts.Ask
	t.Codebase, t.ExpectedMin, t.ExpectedBecause, t.IsEscalated = facts.Codebase, facts.ExpectedMin,
		facts.ExpectedBecause, facts.Tier == 2
	t.Want, t.Summary, t.ClarifyQuestion, t.ClarifyMessageID = facts.Want, "", nil, ""
	if t.Intent != "" {
		t.Summary = summary(said)
	}
}

const (
	withdrew = "the asker withdrew the question"
	// Gone is the note of a revoke, and the close reason, if the question was deleted.
	Gone = "the question was deleted"
)

// asks reports whether in is a question by t's asker.
func (t *Thread) asks(in Input) bool { return in.Event.Sender.ID == t.OriginalSenderID && asks(in) }

func (t *Thread) said(in Input, facts *Facts, m Message) {
	e := in.Event
	// "yes" alone and a corrected word look like acknowledgements.
	says := !e.IsAckOrEmoji || facts.Relation == RelationAnswer || facts.Relation == RelationRedirect
	asker, person := e.Sender.ID == t.OriginalSenderID, says && e.Sender.Type != "bot"
	if facts.Relation == RelationRedirect {
		m.Relation = RelationRedirect
	}
	switch asks := t.asks(in); {
	case t.Status == Closed && asks:
		t.reopen(in, facts, m)
	case t.Status == Closed:
		t.remark(m)
	case asker && (facts.Relation == RelationStatus || facts.Unclear != ""):
		t.remark(m)
	case asker && facts.NeverMind:
		t.remark(m)
		t.close(in.At, withdrew)
	case !asks && !(asker && person):
		t.remark(m)
		if !asker && person {
			t.HumanReplies = lastOf(append(t.HumanReplies, m))
		}
	case t.Status == PendingUser && t.UserApprovedAt == nil && t.Asked != "":
		t.Messages = append(t.Messages, m) // the operator who is asked should see it
	case t.Status == PendingUser && t.UserApprovedAt == nil:
		t.Pending = append(t.Pending, m) // behind what waits for budget
		t.begin(in.At, "a follow-up came")
	default:
		t.Pending = append(t.Pending, m)
		t.PendingMessageIDs = append(t.PendingMessageIDs, m.MessageID)
		if in.Stale && t.Status == AwaitingValidation {
			t.begin(in.At, "a follow-up came: the draft is stale, and its validation ends")
		}
	}
}

func (t *Thread) reopen(in Input, facts *Facts, m Message) {
	for _, old := range slices.Concat(t.Messages, t.Pending) {
		t.remember(old)
	}
	t.Pending = nil // messages pending at the close are older than the new question
	t.take(facts, m.Content)
	t.OriginalMessageID, t.OriginalSenderID, t.OriginalSenderName = m.MessageID, m.SenderID, m.SenderName
	t.Messages, t.Notes, t.PendingNotes, t.HumanReplies, t.Alerts = []Message{m}, nil, nil, nil, nil
	t.begin(in.At, "a later message reopened it")
}

func (t *Thread) remember(m Message) { t.Context = lastOf(append(t.Context, m)) }

// remark keeps a message that is not a question. An edit can make it one.
func (t *Thread) remark(m Message) {
	m.Actionable = false
	t.remember(m)
}

func lastOf(ms []Message) []Message { return ms[max(0, len(ms)-maxContext):] }

func find(ms []Message, id string) int {
	return slices.IndexFunc(ms, func(m Message) bool { return m.MessageID == id })
}

func (t *Thread) edited(in Input, facts *Facts, m Message) {
	if i := find(t.HumanReplies, m.MessageID); i >= 0 {
		t.HumanReplies[i].Content = m.Content
	}
	if i := find(t.Context, m.MessageID); i >= 0 && t.asks(in) && !t.Context[i].Actionable {
		t.forget(m.MessageID) // it is added again below
	} else if i >= 0 {
		if t.Context[i].Actionable && t.Context[i].Content != m.Content {
			t.alert(in.At, "a question answered earlier was edited")
		}
		t.Context[i].Content = m.Content
	}
	if i := find(t.Pending, m.MessageID); i >= 0 && in.Shed && facts.NeverMind {
		t.deleted(in.At, m, withdrew)
		return
	} else if i >= 0 {
		t.Pending[i].Content = m.Content
		return
	}
	i := find(t.Messages, m.MessageID)
	switch {
	case i < 0 && find(t.Context, m.MessageID) < 0 && (t.asks(in) || !t.follows(m)):
		t.said(in, facts, m) // the edit turned a message into a question, or is all that was read of it
	case i < 0 || t.Messages[i].Content == m.Content || in.Shed && t.Messages[i].Deleted:
	case t.Status == Closed && (t.PostedMessageID != nil || t.CloseReason == withdrew || !t.asks(in)):
		t.Messages[i].Content = m.Content
		t.alert(in.At, "the question was edited after it was closed")
	case facts.NeverMind:
		t.deleted(in.At, m, withdrew)
	default: // dismissed, or expired: it is asked again
		t.Messages[i].Content = m.Content
		if m.MessageID == t.OriginalMessageID && t.asks(in) {
			t.take(facts, m.Content) // the rules say nothing of a message that does not ask
		}
		if in.Shed {
			t.Messages = slices.DeleteFunc(t.Messages, func(m Message) bool { return m.Deleted })
		}
		t.begin(in.At, "the question was edited")
	}
}

// follows reports whether what the cycle answers was written after a message.
func (t *Thread) follows(m Message) bool {
	return len(t.Messages) > 0 && text.CompareTimes(m.At, t.Messages[0].At) < 0
}

// forget removes a message from the thread's context.
func (t *Thread) forget(id string) {
	is := func(m Message) bool { return m.MessageID == id }
	t.Context, t.HumanReplies = slices.DeleteFunc(t.Context, is), slices.DeleteFunc(t.HumanReplies, is)
}

// deleted removes a message, and closes the item, for why, if that was its question.
func (t *Thread) deleted(at string, m Message, why string) {
	t.forget(m.MessageID)
	if i := find(t.Pending, m.MessageID); i >= 0 {
		t.Pending = slices.Delete(t.Pending, i, i+1)
		t.PendingMessageIDs = slices.DeleteFunc(t.PendingMessageIDs, func(id string) bool {
			return id == m.MessageID
		})
		return
	}
	i := find(t.Messages, m.MessageID)
	switch {
	case i < 0 || t.Messages[i].Deleted:
	case t.Status == Closed:
		t.Messages[i].Deleted = true
		t.alert(at, "the question was deleted after it was closed")
	case !t.Messages[i].Before && t.asked()+len(t.Pending) == 1,
		t.ByOperator() && m.MessageID == t.OriginalMessageID:
		t.Messages[i].Deleted = true
		t.close(at, why)
	default:
		t.Resume = nil // its session has the deleted text
		t.Messages = slices.Delete(t.Messages, i, i+1)
		t.begin(at, "a part of the question was deleted")
	}
}

// asked counts the messages of the cycle, without those before the question.
func (t *Thread) asked() (n int) {
	for _, m := range t.Messages {
		if !m.Before {
			n++
		}
	}
	return n
}

func (t *Thread) alert(at, said string) {
	t.Alerts = append(t.Alerts, Note{By: "tri-dispatch", At: at, Text: said})
}

// decision applies a person's decision. Only decisions that count are passed to it (see
// decision.State).
func (t *Thread) decision(in Input) {
	d := in.Decision
	if d.Kind == decision.Undo && t.expired() && d.Cycle == t.Cycle {
		t.ClosedAt, t.CloseReason = nil, ""
		t.ready(d.At, "the expiry was taken back")
		return
	}
	if d.Kind == decision.Reopen {
		t.reopened(d)
		return
	}
	if t.Status == Closed || d.Cycle != t.Cycle && !in.Told {
		return
	}
	note := func(text string) { t.Notes = append(t.Notes, Note{By: d.By, At: d.At, Text: text}) }
	switch d.Kind {
	case decision.Approve, decision.Edit, decision.Auto:
		t.UserApprovedAt = &d.At
		if !d.NoFile {
			t.planFile()
		}
	case decision.Undo:
		t.UserApprovedAt, t.TriageFilePath = nil, nil
		if t.waits() {
			t.begin(d.At, "messages came while the draft was approved")
		}
	case decision.Dismiss:
		t.close(d.At, strings.TrimSuffix(dismissed+": "+d.Note, ": "))
		t.next(d.At)
	case decision.Tell, decision.Redirect, decision.Cancel:
		t.told(d, in.Told)
	case decision.Redo, decision.Answer, decision.Escalate:
		earlier := t.DraftPending
		t.IsEscalated = t.IsEscalated || d.Kind == decision.Escalate
		if d.Kind == decision.Answer && t.Asked != "" {
			note("Asked: " + t.Asked)
		}
		if d.Note != "" {
			note(d.Note)
		}
		t.Asked, t.Resume = "", nil // a person wants a fresh look
		t.begin(d.At, "the operator asked for another round")
		if t.Ordered = true; earlier != nil {
			t.EarlierDraft = *earlier
		}
	case decision.Revoke:
		if d.Note == Gone {
			t.close(d.At, Gone)
			t.next(d.At)
			return
		}
		t.begin(d.At, "the ground of the approved draft has shifted: "+d.Note)
	}
}

// expired reports whether the thread was closed because its draft waited too long.
func (t *Thread) expired() bool {
	return t.Status == Closed && t.CloseReason == decision.ExpiredNote && t.InvestigatorReturn != nil
}

// planFile sets the path where the triage file of an approved draft will be saved.
func (t *Thread) planFile() {
	if ret := t.InvestigatorReturn; ret != nil && ret.ProposedTriageFile != nil {
		path := "triage/" + FileName(ret.ProposedTriageFile.Filename, t.Key, t.Cycle)
		t.TriageFilePath = &path
	}
}

// File returns the triage file that in makes due: the one proposed with the draft that is now
// posted. It is saved before the thread moves.
func (t *Thread) File(in Input) (path, content string, due bool) {
	if in.Reply == nil || in.Reply.Outcome != outbox.Posted || in.Reply.Cycle != t.Cycle ||
		t.TriageFilePath == nil {
		return "", "", false
	}
	return *t.TriageFilePath, t.InvestigatorReturn.ProposedTriageFile.Content, true
}

func (t *Thread) reply(in Input) {
	r := in.Reply
	if r.Cycle != t.Cycle || t.Status == Closed {
		if r.Outcome == outbox.Posted {
			t.alert(in.At, "an answer to an earlier form of the question was posted as "+r.PostedMessageID)
		}
		return
	}
	switch r.Outcome {
	case outbox.Posted:
		if t.askedAsker(in.At, r.PostedMessageID) {
			return
		}
		t.PostedMessageID = &r.PostedMessageID
		t.close(in.At, "answered")
		t.unanswered(in.NotAnswered)
	case outbox.Refused:
		t.TriageFilePath = nil
		t.close(in.At, "the platform refused the reply: "+r.Why)
	default:
		t.TriageFilePath = nil
		t.close(in.At, "not posted: "+r.Why)
	}
	t.next(in.At)
}

// unanswered has questions that the posted text leaves out wait for the next cycle.
func (t *Thread) unanswered(ids []string) {
	if len(ids) == 0 {
		return
	}
	out := func(m Message) bool { return slices.Contains(ids, m.MessageID) }
	left := slices.DeleteFunc(slices.Clone(t.Messages), func(m Message) bool { return !out(m) })
	t.Messages = slices.DeleteFunc(t.Messages, out)
	t.Pending = append(left, t.Pending...)
}

// next starts the next cycle for the messages that arrived meanwhile, or were not answered.
func (t *Thread) next(at string) {
	if len(t.Pending) == 0 {
		return
	}
	for _, m := range t.Messages {
		t.remember(m)
	}
	t.Messages = nil
	t.begin(at, "messages waited for the answer")
}
