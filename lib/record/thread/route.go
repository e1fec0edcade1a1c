package thread

import (
	"slices"

	"tri/lib/record/event"
)

// Beside tells the item that began a platform's thread that there is another item in it.
type Beside struct {
	Key string `json:"key"`
}

// asks reports whether in is a question: it is actionable or a request to an inbox, is not only a
// thank-you, and the rules do not exclude it.
func asks(in Input) bool {
	e, f := in.Event, in.Facts
	return e != nil && !e.Deleted && (e.Classification == event.Actionable || f != nil && f.Intent != "") &&
		(e.IsQuestion || !e.IsAckOrEmoji) &&
		(f == nil || !f.Own && !f.NeverMind && f.Refuse == "" && f.Unclear == "")
}

// Opens reports whether in can start a new item.
func Opens(in Input) bool { return in.Thread != nil || asks(in) }

// Route assigns an event to the items of its thread. items[0] began the thread, and its key is
// in.Key; each item has one asker. An asker's message goes to the item of theirs that it concerns by
// Facts.Of, or to their newest. A question from a person without an item, or one beside what they have
// asked (RelationBranch), opens one beside the others. Anything else is a remark on the open items.
func Route(items []*Thread, in Input) []Input {
	e := in.Event
	if e == nil || len(items) == 0 || items[0].Key == "" {
		return []Input{in}
	}
	if slices.ContainsFunc(items, func(t *Thread) bool { return t.Knows(in) }) {
		return nil // it was routed before, to all items concerned
	}
	root, open := items[0], slices.DeleteFunc(slices.Clone(items), func(t *Thread) bool {
		return t.Status == Closed
	})
	to := func(ts ...*Thread) (ins []Input) {
		for _, t := range ts {
			in := in
			in.Key = t.Key
			ins = append(ins, in)
		}
		return ins
	}
	if in.Facts != nil && in.Facts.Own {
		if i := slices.IndexFunc(items, func(t *Thread) bool {
			return t.PostedMessageID != nil && *t.PostedMessageID == e.MessageID
		}); i >= 0 {
			return to(items[i])
		}
		return to(root)
	}
	var holds []*Thread // items that contain the edited or deleted message
	if e.Deleted || e.EditedAt != "" || e.EditID != "" {
		for _, t := range items {
			if t.Holds(e.MessageID) {
				holds = append(holds, t)
			}
		}
		if e.Deleted || slices.ContainsFunc(holds, func(t *Thread) bool {
			return t.OriginalSenderID == e.Sender.ID
		}) {
			return to(holds...)
		}
	}
	mine, branches := mineOf(items, in), in.Facts != nil && in.Facts.Relation == RelationBranch && asks(in)
	switch {
	case mine != nil && !branches && (mine.Status != Closed || asks(in)):
		return append(to(mine), to(holds...)...)
	case asks(in):
		key := event.Key(e.Platform, e.ChatID, e.MessageID)
		if key == root.Key { // the root message, now another's question: an edit by a bot
			return to(root)
		}
		beside := in
		beside.Key = key
		ins := []Input{{At: in.At, Key: root.Key, Beside: &Beside{Key: key}}, beside}
		if branches {
			return ins
		}
		if !e.IsQuestion && !e.IsBotMention && len(holds) == 0 {
			holds = open // a statement may also be an answer
		}
		return append(ins, to(holds...)...)
	case len(holds) > 0:
		return to(holds...)
	case len(open) > 0:
		return to(open...)
	}
	return to(root)
}

// mineOf returns the item of the sender that an event concerns, nil if they have none.
func mineOf(items []*Thread, in Input) (mine *Thread) {
	for _, t := range items {
		switch {
		case t.OriginalSenderID != in.Event.Sender.ID:
		case in.Facts != nil && in.Facts.Of == t.Key:
			return t
		case mine == nil || t.Status != Closed || mine.Status == Closed:
			mine = t // the newest open one, or the newest
		}
	}
	return mine
}

// Holds reports whether t contains a message.
func (t *Thread) Holds(id string) bool {
	return find(t.Messages, id) >= 0 || find(t.Pending, id) >= 0 || find(t.Context, id) >= 0 ||
		find(t.HumanReplies, id) >= 0
}
