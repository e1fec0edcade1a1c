package card

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/event"
)

// errUnknown reports a click on, or a reply to, a message that may be a card whose message id is not known
// yet.
var errUnknown = errors.New("that message is not known yet")

// maxSaid is the maximum length of a note taken from a message, in characters.
const maxSaid = 4000

// marks maps reactions to decisions.
var marks = func() map[string]string {
	words := map[string]string{}
	for word, mark := range chat.ButtonReactions {
		words[bare(mark)] = word
	}
	return words
}()

// bare returns an emoji without the variation selector for color.
func bare(emoji string) string { return strings.ReplaceAll(emoji, "\uFE0F", "") }

// mayBeOurs reports whether a click or a message is in the operators' channel.
func (d *channel) mayBeOurs(l line) bool {
	v := gjson.GetManyBytes(l.bytes, "platform", "chat_id")
	return v[0].String() == d.chat.Platform && v[1].String() == d.chat.ChatID
}

// click processes a click or a reaction. The card is nil if it is not on a card.
func (d *channel) click(l line) (*card, error) {
	var a event.Action
	if err := json.Unmarshal(l.bytes, &a); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", l.log, err))
	}
	c, err := d.cardAt(a.MessageID)
	if c == nil {
		return nil, err
	}
	word := a.Name
	switch {
	case a.Value == "":
		if word = marks[bare(a.Name)]; word == "" {
			return nil, nil // a reaction without a meaning here
		}
	case labels[word][0] == "" || a.Value != c.value():
		d.ignore(c, &a.Sender, "its button %q carries %q, which is not this card's", a.Name, a.Value)
		return c, nil
	}
	w := vote{kind: word, ref: "action " + a.Platform + " " + a.ID, by: a.Sender}
	if a.Removed {
		if word != decision.Approve {
			return nil, nil
		}
		w.kind, w.own = decision.Undo, true
	}
	return c, d.say(c, w)
}

// message processes a message written below a card, as a note on what to change or as an answer.
func (d *channel) message(l line) (*card, error) {
	var e event.Event
	if err := json.Unmarshal(l.bytes, &e); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", l.log, err))
	}
	if e.Sender.Type == "bot" || e.Deleted || e.EditedAt != "" || e.EditID != "" ||
		strings.TrimSpace(e.Content) == "" {
		return nil, nil
	}
	below := []string{e.ReplyToID}
	if e.ThreadID != nil && e.ThreadInferred == "" {
		below = append(below, *e.ThreadID)
	}
	var c *card
	var unknown error
	for _, id := range below {
		if found, err := d.cardAt(id); found != nil {
			c = found
		} else if err != nil {
			unknown = err
		}
	}
	if c == nil {
		return nil, unknown
	}
	note := strings.TrimSpace(e.Content)
	if utf8.RuneCountInString(note) > maxSaid {
		note = text.Cut(note, maxSaid)
	}
	return c, d.say(c, vote{kind: "reply", ref: "message " + e.Platform + " " + e.ChatID + " " + e.MessageID,
		by: e.Sender, note: note})
}

// cardAt returns the card in a message, or nil if there is none.
func (d *channel) cardAt(messageID string) (*card, error) {
	switch c := d.store.byPost[messageID]; {
	case messageID == "":
		return nil, nil
	case c != nil:
		return c, nil
	case d.store.untold():
		return nil, errUnknown
	}
	return nil, nil
}

// vote is a decision that a person expressed on a card.
type vote struct {
	kind string // decision kind, or "reply"
	by   event.Sender
	ref  string
	note string
	own  bool // undoes only this person's own approval
}

// say applies a decision to the item in its current state. A decision that cannot count is reported to the
// operator and changes nothing. An error ends the program.
func (d *channel) say(c *card, w vote) error {
	if err := d.readWords(); err != nil || d.history.refs[w.ref] {
		return err // already applied by an earlier process
	}
	person := d.people[w.by.ID]
	if person == "" {
		person = w.by.ID
	}
	if w.by.Type == "bot" || !d.policy.Allows(person) {
		d.ignore(c, &w.by, "not an approver: see team.approvers and gate.chat.people")
		return nil
	}
	d.board.Refresh()
	items, _, err := d.board.Items()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(items, func(it *approve.Item) bool { return it.Name() == c.name })
	if i < 0 {
		d.ignore(c, &w.by, "it no longer waits")
		return nil
	}
	it := items[i]
	if w.kind == "reply" {
		if w.kind = decision.Redo; it.Kind == approve.Ask {
			w.kind = decision.Answer
		}
	}
	switch {
	case !offers(it, w.kind):
		d.ignore(c, &w.by, "there is no %s for what is %s", w.kind, it.Kind)
		return nil
	case w.kind == decision.Approve && !c.whole:
		d.ignore(c, &w.by, "the card does not show all of the draft, or it may not be sent")
		return nil
	case w.own && !d.theirs(it, person):
		return nil // there is no approval by this person
	}
	return d.decide(c, it, w, person)
}

func (d *channel) decide(c *card, it *approve.Item, w vote, person string) (err error) {
	g := d.Gate
	g.By, g.Ref = person, w.ref
	_, err = g.Decide(it, w.kind, w.note)
	switch status, _ := sysexit.Of(err); {
	case err == nil:
		d.Say("%s: %s by %s", c.name[:8], w.kind, text.Visible(person))
	case errors.Is(err, decision.ErrChain) || status != sysexit.No && status != sysexit.NoPerm &&
		status != sysexit.Data:
		return err
	default:
		d.ignore(c, &w.by, "%v", err)
	}
	d.board.Refresh()
	return nil
}

// theirs reports whether the item has an approval by a person.
func (d *channel) theirs(it *approve.Item, person string) bool {
	if it.Kind == approve.Approved {
		st := d.history.state.Standing(it.Key)
		return st != nil && st.Decision != nil && slices.Contains(st.Readers(), person)
	}
	return slices.ContainsFunc(it.Votes, func(v approve.Vote) bool { return v.By == person })
}

// ignore reports to the operator a decision that was not taken.
func (d *channel) ignore(c *card, who *event.Sender, format string, args ...any) {
	d.Say("%s: %s: not taken: %s", c.name[:8], text.Visible(who.ID),
		text.Visible(fmt.Sprintf(format, args...)))
}
