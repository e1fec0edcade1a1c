package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/judge/relation"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// maxBeside is how many closed items of a thread a message may concern, the newest, beside that which the
// message began: a platform's thread may go on for years.
const maxBeside = 32

// route turns an event into inputs for the items that it concerns.
func (b *batch) route(in thread.Input) ([]thread.Input, error) {
	if in.Decision != nil && in.Decision.Kind == decision.Branch {
		return b.branch(in)
	}
	if in.Event == nil {
		return []thread.Input{in}, nil
	}
	root, err := b.load(in.Key)
	if err != nil {
		return nil, err
	}
	if root.Key == "" {
		b.withdraw(&in)
		return []thread.Input{in}, nil
	}
	items := []*thread.Thread{root}
	own := event.Key(root.Platform, root.ChatID, in.Event.MessageID)
	for i, key := range root.Beside {
		if i < len(root.Beside)-maxBeside && key != own && b.threads[key] == nil &&
			b.d.store.open[key] == nil {
			continue // closed long ago
		}
		t, err := b.load(key)
		if err != nil {
			return nil, err
		}
		items = append(items, t)
	}
	b.relate(in, items)
	return thread.Route(items, in), nil
}

// branch turns an operator's decision to begin an item beside another into its inputs. The decision itself is
// the last of them: cut off before it, they are made again.
func (b *batch) branch(in thread.Input) ([]thread.Input, error) {
	t, err := b.load(in.Key)
	if err != nil || t.Key == "" || t.Knows(in) {
		return nil, err
	}
	d := in.Decision
	key := event.Key(t.Platform, t.ChatID, fmt.Sprint("decision ", d.N))
	begun, err := b.load(key)
	if err != nil {
		return nil, err
	}
	facts, err := b.d.rules.facts(&event.Classified{
		Event: event.Event{Platform: t.Platform, ChatID: t.ChatID, Content: d.Note, CreateTime: d.At,
			Sender: event.Sender{ID: d.By, Type: "user"}},
		Classification: event.Actionable, IsQuestion: true,
	}, "", b.d.Options)
	if err != nil {
		return nil, err
	}
	facts.Want, facts.Ask, facts.Codebase = thread.Want{}, "", t.Codebase
	item := t.Branch(key, d, facts)
	ins := []thread.Input{{At: in.At, Key: item.Root, Beside: &thread.Beside{Key: key}}, in}
	if begun.Key == "" {
		ins = append([]thread.Input{{At: in.At, Key: key, Thread: item}}, ins...)
	}
	return ins, nil
}

// withdraw has a withdrawal outside any thread concern the sender's open question in that chat. If there
// are several, and it does not name one, it concerns none; so does one in a thread without a question, unless
// it quotes or names one.
func (b *batch) withdraw(in *thread.Input) {
	e, f := in.Event, in.Facts
	if changes(e) || f.Own {
		return
	}
	if len(b.d.Input.Files) == 0 && e.Seq != nil && *e.Seq <= b.d.began {
		return // a pipe is read again from its beginning: what this withdrew may be closed by now
	}
	mine := b.open(e)
	if len(mine) == 0 {
		return
	}
	slices.SortFunc(mine, func(a, b *thread.Thread) int {
		return strings.Compare(a.StartedAt+" "+a.Key, b.StartedAt+" "+b.Key)
	})
	_, named := relation.Named(e.Content, asItems(mine, e), b.d.rules.named(e))
	if !f.NeverMind && !named {
		return
	}
	if !named && e.ReplyToID == "" && e.Root() != e.MessageID {
		f.NeverMind, f.Unclear = false, "it is in another thread than the open questions"
		return
	}
	if !slices.ContainsFunc(asItems(mine, e), func(it relation.Item) bool {
		return e.ReplyToID == "" || slices.Contains(it.IDs, e.ReplyToID)
	}) {
		f.NeverMind, f.Unclear = false, "it quotes none of the open questions"
		return
	}
	if b.d.judge(f, e, mine); f.NeverMind {
		in.Key = f.Of
	}
}

// open returns the sender's items in the chat of e that are open and were not begun after e.
func (b *batch) open(e *event.Classified) (mine []*thread.Thread) {
	by := asker{place{e.Platform, e.ChatID}, e.Sender.ID}
	for key := range b.d.store.askers[by] {
		if b.threads[key] == nil {
			mine = append(mine, b.d.store.open[key])
		}
	}
	for _, t := range b.threads {
		if askerOf(t) == by && t.Status != thread.Closed {
			mine = append(mine, t)
		}
	}
	at, err := time.Parse(time.RFC3339, e.CreateTime)
	return slices.DeleteFunc(mine, func(t *thread.Thread) bool {
		if err != nil || len(t.Messages) == 0 {
			return false
		}
		begun, err := time.Parse(time.RFC3339, t.Messages[0].At)
		return err == nil && begun.After(at)
	})
}

// relate notes in the facts what an event does to the open items of its sender in its thread.
func (b *batch) relate(in thread.Input, items []*thread.Thread) {
	mine := slices.DeleteFunc(slices.Clone(items), func(t *thread.Thread) bool {
		return t.OriginalSenderID != in.Event.Sender.ID || t.Status == thread.Closed || t.Key == ""
	})
	if len(mine) > 0 && !changes(in.Event) && !in.Facts.Own {
		b.d.judge(in.Facts, in.Event, mine)
	}
}

// changes reports whether an event is an edit or a deletion.
func changes(e *event.Classified) bool { return e.Deleted || e.EditedAt != "" || e.EditID != "" }

// judge sets the relation of an event to the open items of its sender, oldest first. A withdrawal must say
// which of several it means: by quoting, or by name.
func (d *Dispatcher) judge(f *thread.Facts, e *event.Classified, mine []*thread.Thread) {
	m := relation.Message{
		Text: e.Content, Quotes: e.ReplyToID, Names: d.rules.named(e),
		Ack: e.IsAckOrEmoji && !e.IsQuestion && !f.NeverMind, Asks: e.Classification == event.Actionable,
	}
	if i := slices.IndexFunc(mine, (*thread.Thread).AwaitsAsker); i >= 0 && !f.NeverMind && !m.Ack {
		f.Relation, f.RelationReasons, f.Of = relation.Answer, []string{"asked-to-clarify"}, mine[i].Key
		return
	}
	r := relation.Judge(m, asItems(mine, e))
	if i, named := relation.Named(e.Content, asItems(mine, e), m.Names); named {
		r = relation.Relation{Kind: relation.Cancel, Item: i, Reasons: []string{"names-item"}}
	} else if r.Kind == relation.Cancel && len(mine) > 1 && !slices.Contains(r.Reasons, "quoted") {
		r.Item = -1
	}
	f.Relation, f.RelationReasons, f.NeverMind = r.Kind, r.Reasons, r.Kind == relation.Cancel
	if r.Item >= 0 {
		f.Of = mine[r.Item].Key
		return
	}
	f.NeverMind = false
	f.Unclear = fmt.Sprintf("it withdraws a question, and which of %d cannot be told", len(mine))
	if len(mine) == 1 {
		f.Unclear = "it withdraws another question than the one that is open"
	}
}

func asItems(ts []*thread.Thread, e *event.Classified) (items []relation.Item) {
	for _, t := range ts {
		it := relation.Item{Asked: wasAsked(t, e), Texts: thread.Texts(slices.Concat(t.Messages, t.Pending))}
		for _, m := range slices.Concat(t.Messages, t.Pending, t.Context, t.HumanReplies) {
			it.IDs = append(it.IDs, m.MessageID)
		}
		if t.PostedMessageID != nil {
			it.IDs = append(it.IDs, *t.PostedMessageID)
		}
		items = append(items, it)
	}
	return items
}

// wasAsked reports whether a person has asked something in an item since its asker's last turn before the one
// of e.
func wasAsked(t *thread.Thread, e *event.Classified) bool {
	begins, before := e.CreateTime, ""
	own := slices.DeleteFunc(slices.Concat(t.Context, t.Messages, t.Pending), func(m thread.Message) bool {
		return m.SenderID != e.Sender.ID
	})
	for _, m := range own {
		if m.MessageID == e.TurnID && m.At < begins {
			begins = m.At
		}
	}
	for _, m := range own {
		if m.At < begins {
			before = max(before, m.At)
		}
	}
	return slices.ContainsFunc(t.HumanReplies, func(m thread.Message) bool {
		return before < m.At && m.At <= begins && strings.ContainsAny(m.Content, "?？؟")
	})
}
