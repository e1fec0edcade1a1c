package card

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
)

// by is the requester in the signals of this package.
const by = "tri-approve"

// card is an item of the gate as a card in the channel.
type card struct {
	notify.Signal         // the latest request for it
	name          string  // the item's name: approve.Name
	body          string  // text about the item, independent of its outcome
	whole         bool    // body contains the whole draft, and the draft may be sent
	tries         int     // requests to post it
	changes       int     // requests to update it
	shown         content // the content requested last
	told          bool    // the outcome of the request is known
	outcome       string  // of the request, if told
	at            string  // message id, "" if it is not in the channel
	ended         bool    // its content is final
	again         bool    // an earlier process could not show it: it may be requested once more
}

// content is the visible content of a card.
type content struct {
	title, text string
	buttons     string // names, each followed by a space
}

// value is the value of the card's buttons: parts of the item's name and of its draft's hash.
func (c *card) value() string {
	v := c.name[:16]
	if len(c.DraftSHA256) >= 16 {
		v += "." + c.DraftSHA256[:16]
	}
	return v
}

// store is the set of cards requested in the channel: a fold of signals.ndjson.
type store struct {
	chat    config.GateChat
	cards   map[string]*card // by name
	byID    map[string]*card // by the id of each signal that requested to post it
	byPost  map[string]*card // by message id
	askedTo int64            // bytes read of signals.ndjson
	toldTo  int64            // bytes read of signals-done.ndjson
}

func readStore(h *durable.Home, chat config.GateChat) (*store, error) {
	b := &store{chat: chat, cards: map[string]*card{}, byID: map[string]*card{}, byPost: map[string]*card{}}
	err := b.readAsked(h)
	if err == nil {
		err = b.readTold(h)
	}
	for _, c := range b.cards {
		c.again = c.told && c.at == "" && c.outcome != notify.Failed // a failed card may be in the channel
	}
	return b, err
}

// readAsked reads the requests made since the last call, by this process or others.
func (b *store) readAsked(h *durable.Home) (err error) {
	b.askedTo, err = notify.Asked(h, b.askedTo, func(s notify.Signal) error {
		b.asked(s)
		return nil
	})
	return err
}

// asked applies a signal. A card by which tri-dispatch announces an automatic reply is adopted. If this
// package requested a card first, tri-reply shows the announcement in that card.
func (b *store) asked(s notify.Signal) {
	if s.Platform != b.chat.Platform || s.ChatID != b.chat.ChatID || s.By != by && s.Key == "" {
		return
	}
	f := faceIn(&s)
	switch c := b.byID[s.Card]; {
	case s.Kind == notify.Card:
		name := decision.Name(s.Key, s.Cycle, s.DraftSHA256, s.Post)
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

// readTold reads which cards were shown, and in which message.
func (b *store) readTold(h *durable.Home) (err error) {
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

// untold reports whether the outcome of a requested card is still unknown.
func (b *store) untold() bool {
	for _, c := range b.cards {
		if !c.told {
			return true
		}
	}
	return false
}

// sorted returns the cards in the order in which they were requested.
func (b *store) sorted() []*card {
	return slices.SortedFunc(maps.Values(b.cards), func(x, y *card) int {
		return strings.Compare(x.At+x.ID, y.At+y.ID)
	})
}

// cardID returns the id of the n-th request for a card. It is deterministic, so that after a crash no
// second card is requested.
func cardID(chat config.GateChat, name string, n int) string {
	id := "card-" + text.SHA256(chat.Platform + "\x00" + chat.ChatID + "\x00" + name)[:32]
	if n > 1 {
		id += fmt.Sprint("-t", n)
	}
	return id
}

func faceIn(s *notify.Signal) content {
	f := content{title: s.Title, text: s.Text}
	for _, b := range s.Buttons {
		f.buttons += b.Name + " "
	}
	return f
}
