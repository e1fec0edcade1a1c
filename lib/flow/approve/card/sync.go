package card

import (
	"fmt"
	"strings"
	"time"

	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
)

// sync asks for the cards that are missing, and for those to be changed that no
// longer say how it is.
func (d *desk) sync() error {
	items, _, err := d.board.Items()
	if err != nil {
		return err
	}
	if err := d.book.readAsked(d.Gate.Home); err != nil {
		return err
	}
	if err := d.past.readWords(); err != nil { // behind the items: what has left them has a reason there
		return err
	}
	var ask []notify.Signal
	live := map[string]*approve.Item{}
	for _, it := range items {
		live[it.Name()] = it
		ask = append(ask, d.deal(it)...)
	}
	for _, c := range d.book.sorted() {
		ask = append(ask, d.change(c, live[c.name])...)
	}
	if len(ask) == 0 {
		return nil
	}
	if err := notify.Ask(d.Gate.Home, ask...); err != nil {
		return err
	}
	return d.book.readAsked(d.Gate.Home)
}

// deal asks for the card of an item that waits and has none. One that the platform
// or the configuration refused to an earlier life is asked for once more.
func (d *desk) deal(it *approve.Item) []notify.Signal {
	switch it.Kind {
	case approve.Draft, approve.Ask, approve.Failure, approve.Parked:
	default:
		return nil
	}
	c := d.book.cards[it.Name()]
	if c != nil && !(c.again && c.told && c.at == "") {
		return nil
	}
	if c == nil {
		c = &card{name: it.Name()}
	}
	c.Signal = notify.Signal{Key: it.Key, Cycle: it.Cycle, DraftSHA256: it.DraftSHA256, Post: it.Post}
	c.body, c.whole = d.body(it)
	return []notify.Signal{d.ask(c, d.faceOf(c, it))}
}

// ask is the signal by which a card is posted.
func (d *desk) ask(c *card, f face) notify.Signal {
	c.again = false
	s := c.signal(f)
	s.ID, s.Kind, s.Card = cardID(d.chat, c.name, c.tries+1), notify.Card, ""
	s.At, s.By, s.Platform, s.ChatID = d.stamp(), by, d.chat.Platform, d.chat.ChatID
	return s
}

func (d *desk) stamp() string { return d.Gate.Now().UTC().Format(time.RFC3339Nano) }

// now is what a card should show. ok is false while nobody knows: a word and what
// it leads to are two writes.
func (d *desk) now(c *card, it *approve.Item) (f face, end, ok bool) {
	switch {
	case it == nil || it.Kind == approve.Shadow:
		title, said, end, ok := d.past.end(c)
		return face{title: title, text: said + "\n\n" + c.body}, end, ok
	case it.Waits():
		if c.By != by { // nobody has looked yet whether all of the draft is there
			c.whole = strings.Contains(c.Text, d.Gate.View(it).Draft)
		}
		return d.faceOf(c, it), false, true
	}
	w := d.past.words[cycleOf(c.Key, c.Cycle)]
	return d.faceOf(c, it), false, w.Posts()
}

// change asks for a card to show what has become of its item.
func (d *desk) change(c *card, it *approve.Item) []notify.Signal {
	if c.told && c.at == "" || c.ended && it == nil {
		return nil
	}
	f, end, ok := d.now(c, it)
	if !ok {
		return nil
	}
	s := c.signal(f)
	if faceIn(&s) == c.shown && end == c.ended {
		return nil
	}
	kind := "r"
	if end {
		kind = "e"
	}
	s.Card, s.Kind, s.At, s.By = c.ID, notify.Recard, d.stamp(), by
	s.ID = fmt.Sprint(c.ID, "-", kind, c.changes+1)
	s.Key, s.Cycle, s.DraftSHA256, s.Post = "", 0, "", ""
	return []notify.Signal{s}
}

// offers reports whether a kind of item takes a word of a kind.
func offers(it *approve.Item, word string) bool {
	switch word {
	case decision.Approve:
		return it.Kind == approve.Draft
	case decision.Undo:
		return it.Kind == approve.Approved || it.Kind == approve.Draft && len(it.Votes) > 0
	case decision.Redo, decision.Escalate:
		return it.Kind == approve.Draft || it.Kind == approve.Failure
	case decision.Dismiss:
		return it.Kind == approve.Draft || it.Kind == approve.Failure || it.Kind == approve.Ask
	case decision.Answer:
		return it.Kind == approve.Ask
	}
	return false
}
