package thread

import (
	"slices"

	"tri/lib/record/event"
)

// Beside says, to the item that began a platform's thread, that another asker has
// an item of their own there.
type Beside struct {
	Key string `json:"key"`
}

// Asks reports whether in puts a question: it is actionable, it does not merely
// thank, and the rules have nothing against it.
func Asks(in Input) bool {
	e, f := in.Event, in.Facts
	return e != nil && !e.Deleted && e.Classification == event.Actionable && (e.IsQuestion || !e.IsAckOrEmoji) &&
		(f == nil || !f.Own && !f.NeverMind && f.Refuse == "")
}

// Opens reports whether in can begin an item that is not there yet.
func Opens(in Input) bool { return Asks(in) }

// Route gives the inputs that an event is to the items of its thread: the first
// of them began the thread, and its key is that of in; each has one asker. What
// an asker says is to their own item; a question of somebody who has none opens
// one beside, and what is left is a remark on the items that are open.
func Route(items []*Thread, in Input) []Input {
	e := in.Event
	if e == nil || len(items) == 0 || items[0].Key == "" {
		return []Input{in}
	}
	if slices.ContainsFunc(items, func(t *Thread) bool { return t.Knows(in) }) {
		return nil // it was routed before, to all that it concerned
	}
	root, open := items[0], slices.DeleteFunc(slices.Clone(items), func(t *Thread) bool { return t.Status == Closed })
	to := func(ts ...*Thread) (ins []Input) {
		for _, t := range ts {
			in := in
			in.Key = t.Key
			ins = append(ins, in)
		}
		return ins
	}
	if in.Facts != nil && in.Facts.Own {
		if i := slices.IndexFunc(items, func(t *Thread) bool { return t.PostedMessageID != nil && *t.PostedMessageID == e.MessageID }); i >= 0 {
			return to(items[i])
		}
		return to(root)
	}
	var holds []*Thread // items that a change of the message concerns
	if e.Deleted || e.EditedAt != "" || e.EditID != "" {
		for _, t := range items {
			if t.holds(e.MessageID) {
				holds = append(holds, t)
			}
		}
		if e.Deleted || slices.ContainsFunc(holds, func(t *Thread) bool { return t.OriginalSenderID == e.Sender.ID }) {
			return to(holds...)
		}
	}
	mine := slices.IndexFunc(items, func(t *Thread) bool { return t.OriginalSenderID == e.Sender.ID })
	switch {
	case mine >= 0 && (items[mine].Status != Closed || Asks(in)):
		return append(to(items[mine]), to(holds...)...)
	case Asks(in):
		key := event.Key(e.Platform, e.ChatID, e.MessageID)
		if key == root.Key { // the root message, now another's question: an edit by a bot
			return to(root)
		}
		beside := in
		beside.Key = key
		ins := []Input{{At: in.At, Key: root.Key, Beside: &Beside{Key: key}}, beside}
		if !e.IsQuestion && !e.IsBotMention && len(holds) == 0 {
			holds = open // what is told may answer, too
		}
		return append(ins, to(holds...)...)
	case len(holds) > 0:
		return to(holds...)
	case len(open) > 0:
		return to(open...)
	}
	return to(root)
}

// holds reports whether a message is kept in t.
func (t *Thread) holds(id string) bool {
	return find(t.Messages, id) >= 0 || find(t.Pending, id) >= 0 || find(t.Context, id) >= 0 || find(t.HumanReplies, id) >= 0
}
