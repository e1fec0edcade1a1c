// Package turn is what one person says in a conversation before anybody else speaks there: fields of an
// event, a function of the log without a clock.
package turn

// Limits of a turn.
const (
	// Gap is the maximum number of seconds between two messages of a turn, by create_time. Time that runs
	// backwards counts as 0. With 180, three of four turns of a reader that were split were split by this
	// bound (scripts/bench/judgement, the half that it was chosen on).
	Gap = 300
	// Sure is how many seconds an inferred conversation is trusted to be whole. Later a message of another
	// person who is alone in a conversation may be the answer that tri-thread could not place.
	Sure = 45
	// near is how many bytes of stream may be between two messages of a turn.
	near = 256 << 10
	// period is how many bytes of stream an id is remembered for. A turn that is longer than half a period
	// is cut where the next one begins, so that a reader who starts anywhere agrees with one who read all.
	period = 1 << 20
)

// Window is how many bytes of stream before a message can affect its turn: a reader agrees on all turns from
// the first end of a period that is a period behind its start, and remembers ids for one more.
const Window = 3 * period

// Reasons in turn_why.
const (
	Begins     = "begins"           // the first message of a conversation, or the first in a long time
	SamePerson = "same-person"      // it continues the turn of its author
	Answered   = "answered-between" // somebody else spoke there since
	TooLate    = "too-late"         // more than Gap seconds after the last message of the turn
	Change     = "change"           // an edit or a deletion: it has the turn of its message
)

// Message is what a Fold needs of an event.
type Message struct {
	Platform, Chat, ID string
	Conversation       string // thread_id; of a message without one its own id
	Sender             string
	Inferred           bool  // Conversation is tri-thread's, not the platform's
	At                 int64 // create_time, Unix seconds
	Change             bool  // an edit or a deletion
}

// Place is a message's place in a turn.
type Place struct {
	ID  string `json:"turn_id"`  // message_id of the turn's first message
	N   int    `json:"turn_n"`   // number of the message in its turn, from 1; 0 for a change
	Why string `json:"turn_why"` // one of the reasons
}

// place is a chat, of which ids are unique.
type place struct{ platform, chat, id string }

// last is a conversation's turn under way.
type last struct {
	turn, sender string
	n            int
	time         int64
	began, at    int64 // positions of its first and of its last message
	other        int64 // position of the last message of somebody else in the conversation, -1: none
}

// alone is the last message of a person to whom nobody else has spoken in its conversation.
type alone struct {
	sender string
	at     int64
}

// Fold assigns messages to turns. It remembers what a Window of stream holds and no more.
type Fold struct {
	at    int64
	convs map[place]*last
	alone map[place][2]alone // by chat: the last one, and the last one of another person
	turns map[place]turned   // by message
	// Where convs and turns were last set, oldest first.
	spoke, said []noted
}

// turned is the turn of a message that was read at a position.
type turned struct {
	turn string
	at   int64
}

type noted struct {
	at int64
	of place
}

// NewFold returns an empty fold, for one stream.
func NewFold() *Fold {
	return &Fold{convs: map[place]*last{}, alone: map[place][2]alone{}, turns: map[place]turned{}}
}

// Add returns the place of a message at a position of the stream in bytes (its seq). Positions ascend; one
// that does not begins another stream.
func (f *Fold) Add(at int64, m Message) Place {
	if at < f.at {
		*f = *NewFold()
	}
	f.at = at
	f.forget()
	own := place{m.Platform, m.Chat, m.ID}
	if m.Change {
		p := Place{ID: m.ID, Why: Change}
		if t, ok := f.turns[own]; ok {
			p.ID = t.turn
		}
		return p
	}
	p := f.add(place{m.Platform, m.Chat, m.Conversation}, m)
	f.turns[own] = turned{p.ID, at}
	f.said = append(f.said, noted{at, own})
	return p
}

func (f *Fold) add(conv place, m Message) Place {
	l := f.convs[conv]
	why := Begins
	switch {
	case l == nil || f.cut(l):
	case l.sender != m.Sender:
		why = Answered
	case m.At-l.time > Gap:
		why = TooLate
	case m.Inferred && m.At-l.time > Sure && f.between(m, l.at):
		why = Answered
	default:
		why = SamePerson
	}
	if why != SamePerson {
		other := int64(-1)
		switch {
		case why == Answered && l.sender != m.Sender:
			other = l.at
		case l != nil:
			other = l.other
		}
		l = &last{turn: m.ID, sender: m.Sender, time: m.At, began: f.at, other: other}
		f.convs[conv] = l
	}
	if (l.other < 0 || l.other < f.at-near) && (m.Inferred || m.Conversation == m.ID) {
		f.isAlone(m)
	}
	l.n, l.at, l.time = l.n+1, f.at, m.At
	f.spoke = append(f.spoke, noted{f.at, conv})
	return Place{ID: l.turn, N: l.n, Why: why}
}

// isAlone notes a message to whose author nobody has spoken in its conversation.
func (f *Fold) isAlone(m Message) {
	chat := place{m.Platform, m.Chat, ""}
	two := f.alone[chat]
	if two[0].sender != m.Sender {
		two[1] = two[0]
	}
	two[0] = alone{m.Sender, f.at}
	f.alone[chat] = two
}

// between reports whether somebody else who is alone has spoken in the chat of m since a position.
func (f *Fold) between(m Message, since int64) bool {
	two := f.alone[place{m.Platform, m.Chat, ""}]
	of := two[0]
	if of.sender == m.Sender {
		of = two[1]
	}
	return of.sender != "" && of.at > since
}

// cut reports whether a period ends between a turn's last message and this one, and the turn is longer than
// half of it.
func (f *Fold) cut(l *last) bool {
	end := f.at - f.at%period
	return l.at < end && l.began < end-period/2
}

// forget drops the conversations and messages that are too far behind.
func (f *Fold) forget() {
	for len(f.spoke) > 0 && f.spoke[0].at < f.at-near {
		if l := f.convs[f.spoke[0].of]; l != nil && l.at == f.spoke[0].at {
			delete(f.convs, f.spoke[0].of)
		}
		chat := f.spoke[0].of
		if chat.id = ""; f.alone[chat][0].at == f.spoke[0].at {
			delete(f.alone, chat)
		}
		f.spoke = f.spoke[1:]
	}
	for len(f.said) > 0 && f.said[0].at < f.at-period {
		if t := f.turns[f.said[0].of]; t.at == f.said[0].at {
			delete(f.turns, f.said[0].of)
		}
		f.said = f.said[1:]
	}
}
