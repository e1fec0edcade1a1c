package local

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tri/lib/base/text"
	"tri/lib/record/event"
)

// room is the state of a room after the lines read so far, from its start.
type room struct {
	name     string
	bot      string
	messages map[int64]*message // by offset
	speakers map[string]string  // names, by their lower case
}

// message is a line that later lines may refer to.
type message struct {
	author  string
	root    int64 // of its thread; its own offset if it is not a reply
	replyTo int64 // -1: none
	at      string
	gone    bool
	marks   map[string]bool // current reactions: name, space, emoji
}

func newRoom(name, bot string) *room {
	return &room{
		name: name, bot: bot, messages: map[int64]*message{},
		speakers: map[string]string{strings.ToLower(bot): bot},
	}
}

// entry is one parsed line.
type entry struct {
	id      int64 // of the message
	off     int64 // of the line
	key     string
	body    string // the text after the head, as in the file
	text    string
	edit    bool // it edits an earlier message
	deleted bool
	by      string // author of a reaction
	emoji   string // reaction to an earlier message
	taken   bool   // the reaction is removed
}

// errReaction means that a line is a reaction, not a message.
var errReaction = errors.New("reaction")

// errNothing means that a line changes nothing.
var errNothing = errors.New("empty")

// add applies the next line. An error is the reason why the line is ignored.
func (r *room) add(off int64, line string, at time.Time) (entry, error) {
	h, body, _ := parse(line)
	e := entry{id: off, off: off, key: h.key, body: body, text: body}
	if h.key != "" {
		e.text = decodeText(body)
	} else {
		e.text = strings.TrimSuffix(body, "\r")
	}
	e.text = strings.ToValidUTF8(e.text, "\uFFFD")
	switch h.mark {
	case '!':
		return r.change(e, h)
	case '~':
		return r.react(e, h)
	}
	if strings.TrimSpace(e.text) == "" {
		return e, errNothing
	}
	m := &message{author: h.name, root: off, replyTo: -1, at: text.Timestamp(at)}
	if to := r.messages[h.id]; h.mark == '>' && to != nil {
		m.root, m.replyTo = to.root, h.id
	}
	r.messages[off] = m
	if h.name != anon {
		r.speakers[strings.ToLower(h.name)] = h.name
	}
	if h.mark == '>' && m.replyTo < 0 {
		return e, r.fault(off, "there is no message %d: taken as a message of its own", h.id)
	}
	return e, nil
}

func (r *room) change(e entry, h head) (entry, error) {
	m := r.messages[h.id]
	switch {
	case m == nil:
		return e, r.ignored(e.off, "there is no message %d", h.id)
	case m.author != h.name || h.name == anon:
		return e, r.ignored(e.off, "message %d is not of %q", h.id, h.name)
	case m.gone:
		return e, r.ignored(e.off, "message %d is deleted", h.id)
	}
	e.id, e.edit = h.id, true
	if h.key != "" && strings.TrimSpace(e.text) == "" {
		return e, errNothing // the bot deletes without a key: this deletion was cut short
	}
	if strings.TrimSpace(e.text) == "" {
		e.text, e.deleted, m.gone = "", true, true
	}
	return e, nil
}

// react applies a reaction. Adding an existing one, or removing a missing one, changes nothing.
func (r *room) react(e entry, h head) (entry, error) {
	m := r.messages[h.id]
	switch {
	case m == nil:
		return e, r.ignored(e.off, "there is no message %d", h.id)
	case h.name == anon || m.gone:
		return e, errNothing
	}
	e.id = h.id
	e.emoji, e.taken, _ = reaction(e.text)
	mark := h.name + " " + e.emoji
	if m.marks[mark] == !e.taken {
		return e, errNothing
	}
	if m.marks == nil {
		m.marks = map[string]bool{}
	}
	m.marks[mark] = !e.taken
	e.by = h.name
	return e, errReaction
}

// fault is a problem of a line that is reported although the line counts.
type fault struct{ text string }

func (f *fault) Error() string { return f.text }

func (r *room) fault(off int64, format string, args ...any) error {
	return &fault{fmt.Sprintf("room %s: line at %d: %s", r.name, off, fmt.Sprintf(format, args...))}
}

func (r *room) ignored(off int64, format string, args ...any) error {
	return fmt.Errorf("room %s: line at %d: %s: ignored", r.name, off, fmt.Sprintf(format, args...))
}

// event converts an entry to the common form. at is when it was noticed.
func (r *room) event(e entry, at time.Time) event.Event {
	m := r.messages[e.id]
	ev := event.Event{
		Platform: Platform, ChatID: r.name, ChatName: r.name, MessageID: id(e.id),
		CreateTime: m.at, MsgType: "text", Content: e.text,
		Sender:   event.Sender{ID: m.author, Type: "user", Name: m.author},
		Mentions: r.mentions(e.text), Deleted: e.deleted,
	}
	if m.author == r.bot {
		ev.Sender.Type = "bot"
	}
	if m.root != e.id {
		root := id(m.root)
		ev.ThreadID, ev.MsgType = &root, "thread_reply"
	}
	if m.replyTo >= 0 && m.replyTo != m.root {
		ev.ReplyToID = id(m.replyTo)
	}
	if e.edit {
		// The line's offset, so that reading a room again from its start yields the same identities.
		ev.EditedAt, ev.EditID = text.Timestamp(at), id(e.off)
	}
	return ev
}

// action converts a reaction to a message of the bot, or of who reacts, to the common form; ok is false for
// other reactions.
func (r *room) action(e entry, at time.Time) (a event.Action, ok bool) {
	if author := r.messages[e.id].author; author != r.bot && author != e.by || e.by == r.bot {
		return a, false
	}
	return event.Action{
		ID: r.name + " " + id(e.off), Platform: Platform, ChatID: r.name, MessageID: id(e.id),
		At:     text.Timestamp(at),
		Sender: event.Sender{ID: e.by, Type: "user", Name: e.by}, Name: e.emoji, Removed: e.taken,
	}, true
}

func id(off int64) string { return strconv.FormatInt(off, 10) }

// mentions returns the names after an @, and the one addressed at the beginning ("ben: …", "ben,
// …") if it is the name of an earlier author or the bot.
func (r *room) mentions(text string) []string {
	found := []string{}
	add := func(name string) {
		if known, ok := r.speakers[strings.ToLower(name)]; ok {
			name = known
		}
		if slices.Contains(found, name) {
			return
		}
		found = append(found, name)
	}
	if i := strings.IndexAny(text[:min(len(text), maxHead)], ":,"); i > 0 {
		if name, ok := r.speakers[strings.ToLower(text[:i])]; ok {
			add(name)
		}
	}
	before := ' '
	for i, c := range text {
		if c == '@' && !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			if name := called(text[i+1:]); name != "" {
				add(name)
			}
		}
		before = c
	}
	return found
}

// called returns the name at the beginning of s.
func called(s string) string {
	end := strings.IndexFunc(s, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._-", c)
	})
	if end < 0 {
		end = len(s)
	}
	return strings.TrimRight(s[:end], "._-")
}
