package turn

import (
	"encoding/json"

	"tri/lib/base/stream"
	"tri/lib/record/event"
)

// Reasons in closed.
const (
	ByAnswer = "answered" // somebody else spoke in the conversation
	ByTime   = "too-late" // the log is more than Gap seconds past its last message
	ByEnd    = "end"      // the input ended, or the turn is out of the fold's reach
)

// Closed is a whole turn to which nothing can be added.
type Closed struct {
	TurnID     string       `json:"turn_id"`
	Platform   string       `json:"platform"`
	ChatID     string       `json:"chat_id"`
	ThreadID   string       `json:"thread_id"` // of its conversation; equal to turn_id if it stands alone
	Sender     event.Sender `json:"sender"`
	MessageIDs []string     `json:"message_ids"`
	FirstAt    string       `json:"first_at"`
	LastAt     string       `json:"last_at"`
	Closed     string       `json:"closed"`

	conv place
	at   int64 // position of its last message
	time int64
}

// Turns collects closed turns. It holds the open ones, which are those that a Fold can continue.
type Turns struct {
	fold  *Fold
	open  map[place]*Closed // by conversation
	spoke []noted
}

// newTurns returns an empty collection, for one stream.
func newTurns() *Turns { return &Turns{fold: NewFold(), open: map[place]*Closed{}} }

// Add adds an event, and appends the turns that it closes to dst: that of its conversation first, then those
// that it shows to be too late, in the order of their last messages.
func (t *Turns) Add(dst []Closed, e *Event) []Closed {
	m := &e.message
	if e.at < t.fold.at {
		dst = t.End(dst)
	}
	p := t.fold.Add(e.at, *m)
	if m.Change {
		return dst
	}
	conv := place{m.Platform, m.Chat, m.Conversation}
	c := t.open[conv]
	if c != nil && p.Why != SamePerson {
		dst = t.close(dst, c, map[string]string{Answered: ByAnswer, TooLate: ByTime, Begins: ByEnd}[p.Why])
		c = nil
	}
	if c == nil {
		c = &Closed{
			TurnID: p.ID, Platform: m.Platform, ChatID: m.Chat, ThreadID: m.Conversation,
			Sender: event.Sender{ID: m.Sender, Type: e.senderType}, FirstAt: e.created, conv: conv,
		}
		t.open[conv] = c
	}
	c.MessageIDs, c.LastAt, c.at, c.time = append(c.MessageIDs, m.ID), e.created, e.at, m.At
	t.spoke = append(t.spoke, noted{e.at, conv})
	for len(t.spoke) > 0 {
		first := t.spoke[0]
		c := t.open[first.of]
		switch {
		case c == nil || c.at != first.at: // closed, or continued
		case first.at < e.at-near:
			dst = t.close(dst, c, ByEnd)
		case m.At-c.time > Gap:
			dst = t.close(dst, c, ByTime)
		default:
			return dst
		}
		t.spoke = t.spoke[1:]
	}
	return dst
}

// End closes all turns, in the order of their last messages.
func (t *Turns) End(dst []Closed) []Closed {
	for _, n := range t.spoke {
		if c := t.open[n.of]; c != nil && c.at == n.at {
			dst = t.close(dst, c, ByEnd)
		}
	}
	t.spoke = t.spoke[:0]
	return dst
}

func (t *Turns) close(dst []Closed, c *Closed, why string) []Closed {
	delete(t.open, c.conv)
	c.Closed = why
	return append(dst, *c)
}

// Lines returns a stage whose output is the closed turns, one JSON object a line, instead of its input. The
// caller appends the lines of end after it.
func Lines() (stage stream.Stage[Event], end func() ([]byte, error)) {
	t := newTurns()
	lines := func(dst []byte, all []Closed) ([]byte, error) {
		for i := range all {
			b, err := json.Marshal(&all[i])
			if err != nil {
				return dst, err
			}
			dst = append(append(dst, b...), '\n')
		}
		return dst, nil
	}
	return stream.Stage[Event]{
		Prepare: prepare,
		Emit:    func(dst []byte, e *Event) ([]byte, error) { return lines(dst, t.Add(nil, e)) },
	}, func() ([]byte, error) { return lines(nil, t.End(nil)) }
}
