package thread

import (
	"cmp"
	"slices"
	"strings"

	"tri/lib/record/decision"
)

// cancelled is the start of the close reason of an item that an operator has ended.
const cancelled = "cancelled by "

// Withdrawn reports whether t was closed because nobody wants its answer: its asker withdrew or deleted the
// question, or an operator cancelled it.
func (t *Thread) Withdrawn() bool {
	return t.CloseReason == withdrew || t.CloseReason == Gone || strings.HasPrefix(t.CloseReason, cancelled)
}

// Failed reports whether t waits for an operator, without a draft and without a question to anybody.
func (t *Thread) Failed() bool {
	return t.Status == PendingUser && t.DraftPending == nil && t.Asked == "" && !t.AwaitsAsker()
}

// Dismissed reports whether t was closed because an operator wanted nothing posted, or its asker declined to
// clarify.
func (t *Thread) Dismissed() bool {
	return strings.HasPrefix(t.CloseReason, dismissed) || t.CloseReason == RejectedByAsker
}

// told applies an operator's word on open work: tell adds to what is asked, redirect replaces it, cancel ends
// the item. The run in progress is told, as it is told what the asker adds; when there is none, the words
// begin a cycle, which continues the session of the one before.
func (t *Thread) told(d *decision.Record, tells bool) {
	if d.Kind == decision.Cancel {
		t.close(d.At, strings.TrimSuffix(cancelled+d.By+": "+d.Note, ": "))
		return
	}
	note, why := Note{By: d.By, At: d.At, Text: d.Note}, "the operator added to it"
	if d.Kind == decision.Redirect {
		note.Text, why = "Instead of what was asked: "+d.Note, "the operator redirected it"
	}
	if tells && t.inRound() {
		if d.Kind == decision.Redirect {
			note.Relation = RelationRedirect
		}
		t.PendingNotes = append(t.PendingNotes, note)
		return
	}
	t.Notes = append(t.Notes, note)
	earlier := t.DraftPending
	t.Asked = ""
	t.begin(d.At, why)
	if t.Ordered = true; earlier != nil {
		t.EarlierDraft = *earlier
	}
}

// Branch returns the item that an operator's decision begins beside t: it asks what the decision says. What
// was said in t comes before, and the answer goes to the same message.
func (t *Thread) Branch(key string, d *decision.Record, facts *Facts) *Thread {
	_, _, replyTo := t.Target()
	b := &Thread{
		Key: key, Root: cmp.Or(t.Root, t.Key), Parent: t.Key, Platform: t.Platform, ThreadID: t.ThreadID,
		ChatID: t.ChatID, ChatName: t.ChatName, Lang: t.Lang, OriginalMessageID: replyTo,
		OriginalSenderID: d.By, OriginalSenderName: d.By, StartedAt: d.At, LastEventAt: d.At,
		Applied: []string{},
	}
	b.take(facts, d.Note)
	for _, m := range t.Messages {
		if !m.Deleted {
			m.Before, m.Actionable, m.Relation = true, false, ""
			b.Messages = append(b.Messages, m)
		}
	}
	b.Messages = append(b.Messages, Message{SenderID: d.By, SenderName: d.By, At: d.At, Content: d.Note,
		Actionable: true})
	b.begin(d.At, "an operator asked it beside another question")
	b.Ordered = true
	return b
}

// ByOperator reports whether an operator's decision began t.
func (t *Thread) ByOperator() bool { return find(t.Messages, "") >= 0 }

// reopened begins a cycle for what an operator has ended, or what has expired, unless it was answered or its
// question is gone.
func (t *Thread) reopened(d *decision.Record) {
	asked := slices.DeleteFunc(slices.Clone(t.Messages), func(m Message) bool { return m.Deleted })
	if t.Status != Closed || d.Cycle != t.Cycle || t.PostedMessageID != nil || len(asked) == 0 {
		return
	}
	t.Messages = asked
	if d.Note != "" {
		t.Notes = append(t.Notes, Note{By: d.By, At: d.At, Text: d.Note})
	}
	t.Asked, t.Resume = "", nil
	t.begin(d.At, "the operator reopened it")
	t.Ordered = true
}
