package card

import (
	"fmt"
	"strings"

	"tri/lib/base/text"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
)

// sync requests the missing cards, and updates of cards that are out of date.
func (d *channel) sync() error {
	items, _, err := d.board.Items()
	if err != nil {
		return err
	}
	if err := d.store.readAsked(d.Gate.Home); err != nil {
		return err
	}
	if err := d.readWords(); err != nil { // after the items: it has why items left the list
		return err
	}
	var ask []notify.Signal
	live := map[string]*approve.Item{}
	for _, it := range items {
		if it.Kind == approve.Ended {
			continue // the decision is what its card shows
		}
		live[it.Name()] = it
		ask = append(ask, d.deal(it)...)
	}
	for _, c := range d.store.sorted() {
		ask = append(ask, d.change(c, live[c.name])...)
	}
	if len(ask) == 0 {
		return nil
	}
	if err := notify.Ask(d.Gate.Home, ask...); err != nil {
		return err
	}
	return d.store.readAsked(d.Gate.Home)
}

// deal requests the card of a waiting item that has none. A card that the platform or the configuration
// refused to an earlier process is requested once more.
func (d *channel) deal(it *approve.Item) []notify.Signal {
	switch it.Kind {
	case approve.Draft, approve.Ask, approve.Failure, approve.Parked:
	default:
		return nil
	}
	c := d.store.cards[it.Name()]
	if c != nil && !(c.again && c.told && c.at == "") {
		return nil
	}
	if c == nil {
		c = &card{name: it.Name()}
	}
	c.Signal = notify.Signal{Key: it.Key, Cycle: it.Cycle, DraftSHA256: it.DraftSHA256, Post: it.Post}
	c.body, c.whole = d.body(it)
	return []notify.Signal{d.ask(c, d.contentOf(c, it))}
}

// ask returns the signal that requests to post a card.
func (d *channel) ask(c *card, f content) notify.Signal {
	c.again = false
	s := c.signal(f)
	s.ID, s.Kind, s.Card = cardID(d.chat, c.name, c.tries+1), notify.Card, ""
	s.At, s.By, s.Platform, s.ChatID = d.stamp(), by, d.chat.Platform, d.chat.ChatID
	return s
}

func (d *channel) stamp() string { return text.Timestamp(d.Gate.Now()) }

// now returns the current content of a card. ok is false while it is unknown: a decision and its effect are
// two writes.
func (d *channel) now(c *card, it *approve.Item) (f content, end, ok bool) {
	switch {
	case it == nil || it.Kind == approve.Shadow:
		title, said, end, ok := d.history.end(c)
		return content{title: title, text: harmless.Replace(said) + "\n\n" + c.body}, end, ok
	case it.Waits():
		if c.By != by { // a card of tri-dispatch: check whether it shows the whole draft
			c.whole = strings.Contains(c.Text, d.Gate.View(it).Draft)
		}
		return d.contentOf(c, it), false, true
	}
	w := d.history.words[cycleOf(c.Key, c.Cycle)]
	return d.contentOf(c, it), false, w.Posts()
}

// change requests an update of a card whose item has changed.
func (d *channel) change(c *card, it *approve.Item) []notify.Signal {
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

// offers reports whether an item accepts a kind of decision.
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
