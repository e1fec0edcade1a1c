package card

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/flow/approve"
	"tri/lib/record/notify"
)

// by is who asks for the signals.
const by = "tri-approve"

// card is an item of the gate as a card in the channel.
type card struct {
	notify.Signal        // by which it was asked for, the latest
	name          string // of the item: gate.Name
	body          string // what it says of the item, whatever becomes of that
	whole         bool   // all of the draft is in body, and nothing forbids to send it
	tries         int    // signals that asked for it to be posted
	changes       int    // that asked for it to be changed
	shown         face   // what was asked to be shown last
	told          bool   // what came of it is known
	outcome       string // what did
	at            string // message id, "" where it does not stand
	ended         bool   // nothing more becomes of it
	again         bool   // an earlier life could not show it: it may be asked for once more
}

// face is what a card shows.
type face struct {
	title, text string
	buttons     string // names, with a space behind each
}

// value is what a button of the card brings back: enough of the item's name and of
// its draft's hash.
func (c *card) value() string {
	v := c.name[:16]
	if len(c.DraftSHA256) >= 16 {
		v += "." + c.DraftSHA256[:16]
	}
	return v
}

// book is every card that was asked for in the channel: a fold of signals.ndjson.
type book struct {
	chat    config.GateChat
	cards   map[string]*card // by name
	byID    map[string]*card // by the id of each signal that asked for it to be posted
	byPost  map[string]*card // by message id
	askedTo int64            // bytes of signals.ndjson
	toldTo  int64            // bytes of signals-done.ndjson
}

func readBook(h *durable.Home, chat config.GateChat) (*book, error) {
	b := &book{chat: chat, cards: map[string]*card{}, byID: map[string]*card{}, byPost: map[string]*card{}}
	err := b.readAsked(h)
	if err == nil {
		err = b.readTold(h)
	}
	for _, c := range b.cards {
		c.again = c.told && c.at == "" && c.outcome != notify.Failed // that one may stand there
	}
	return b, err
}

// readAsked takes in what was asked for since, by us or by others.
func (b *book) readAsked(h *durable.Home) (err error) {
	b.askedTo, err = notify.Asked(h, b.askedTo, func(s notify.Signal) error {
		b.asked(s)
		return nil
	})
	return err
}

// asked takes in a signal. The card by which tri-dispatch tells of an automatic
// reply becomes ours; where we were first, tri-reply shows it in our own.
func (b *book) asked(s notify.Signal) {
	if s.Platform != b.chat.Platform || s.ChatID != b.chat.ChatID || s.By != by && s.Key == "" {
		return
	}
	f := faceIn(&s)
	switch c := b.byID[s.Card]; {
	case s.Kind == notify.Card:
		name := approve.Name(s.Key, s.Cycle, s.DraftSHA256, s.Post)
		c := b.cards[name]
		if c != nil && s.By != by {
			c.shown = f
			return
		}
		if c == nil {
			c = &card{name: name}
			b.cards[name] = c
		}
		c.Signal, c.shown, c.told, c.at, c.ended = s, f, false, "", false
		c.tries++
		c.body, c.whole = bodyOf(s.Text), strings.Contains(f.buttons, "approve ")
		if s.By != by {
			text := &body{left: room(b.chat.Platform)}
			text.quote(c.body, text.left)
			c.body = strings.TrimSuffix(text.String(), "\n")
		}
		b.byID[s.ID] = c
	case s.Kind == notify.Recard && c != nil:
		c.shown = f
		c.changes++
		c.ended = strings.HasPrefix(s.ID, s.Card+"-e")
	}
}

// readTold reads where cards stand.
func (b *book) readTold(h *durable.Home) (err error) {
	b.toldTo, err = notify.Told(h, b.toldTo, func(d notify.Done) error {
		c := b.byID[d.ID]
		if c == nil || c.ID != d.ID {
			return nil
		}
		if c.told, c.outcome = true, d.Outcome; d.Outcome == notify.Shown && d.MessageID != "" {
			c.at = d.MessageID
			b.byPost[c.at] = c
		}
		return nil
	})
	return err
}

// untold reports whether a card was asked for of which nobody knows where it
// stands.
func (b *book) untold() bool {
	for _, c := range b.cards {
		if !c.told {
			return true
		}
	}
	return false
}

// sorted are the cards in the order in which they were asked for.
func (b *book) sorted() []*card {
	var all []*card
	for _, c := range b.cards {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y *card) int {
		return strings.Compare(x.At+x.ID, y.At+y.ID)
	})
	return all
}

// cardID is the id of the signal that asks for a card for the n-th time: the same
// whenever it is asked for, so that a life that was cut short asks for no second
// one.
func cardID(chat config.GateChat, name string, n int) string {
	sum := sha256.Sum256([]byte(chat.Platform + "\x00" + chat.ChatID + "\x00" + name))
	id := "card-" + hex.EncodeToString(sum[:16])
	if n > 1 {
		id += fmt.Sprint("-t", n)
	}
	return id
}

func faceIn(s *notify.Signal) face {
	f := face{title: s.Title, text: s.Text}
	for _, b := range s.Buttons {
		f.buttons += b.Name + " "
	}
	return f
}
