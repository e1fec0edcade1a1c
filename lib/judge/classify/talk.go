package classify

import "slices"

// How long a person counts as being helped, in seconds and in messages of the room.
const (
	quietTime  = 10 * 60 // no message from or to them for this long
	quietSaid  = 15      // or, in a slow room, at most this many messages by others
	slowTime   = 40 * 60 // for at most this long, once answered
	settleTime = 4 * 60  // after they acknowledged an answer
	thankTime  = 2 * 60  // after they gave thanks
	burstTime  = 2 * 60  // outside threads, in rooms that use them
	helpTime   = 5 * 60  // a person who spoke this recently to someone who asked still helps
	freshTime  = 3 * 60  // a message this soon after a question,
	freshSaid  = 5       // and within this many messages, that names no one, answers it
	openTime   = 24 * 60 * 60
)

// fold tracks who asked, who helps and what is still open, from the messages since it began.
type fold struct {
	rooms   table[*room]
	people  table[int32] // by room and id
	persons []person     // the first is nobody
	threads table[thread]
	marks   marks // of the last message
}

// room is one chat.
type room struct {
	said    int32 // messages by people
	threads int32 // of these, in threads of the platform
	roots   int32 // of these, first messages that already carry their thread; no platform sends those
	last    int32 // who spoke last
	asked   bool  // and it was a question

	asker     int32 // of those being helped, who spoke last
	askedAt   int64 // and when
	askedSaid int32

	recent  [recents]recent // a ring
	nrecent int
	lastAt  int64 // the last message, Unix seconds
	began   int32 // who was the first to ask since the room was last quiet
}

// person is one person in one room.
type person struct {
	said    int32 // messages of some words
	asks    int32 // own questions
	breadth int32 // number of different people helped
	helped  people4

	listed, member bool // listed in the configuration as a helper; as a team member

	asking   bool  // is being helped
	opened   int64 // last question, Unix seconds
	toRoom   bool  // asked the room, no one by name
	last     int64 // last message from or to them
	lastSaid int32 // the room's count at that time
	noted    int64 // acknowledged an answer, 0 for not yet
	thanked  int64 // when they gave thanks
	partner  int32 // who last spoke to them
	wanted   bool  // and asked them something
	helpers  people4

	helping   int32 // the asker they last spoke to
	helpingAt int64 // and when
	byName    bool  // and by name

	part part
}

// people4 are the last four people of some kind.
type people4 struct {
	who [4]int32
	n   int32
}

func (l *people4) has(who int32) bool { return slices.Contains(l.who[:], who) }

func (l *people4) add(who int32) {
	l.who[l.n%4] = who
	l.n++
}

// thread is a thread that someone opened by asking.
type thread struct {
	opener          int32
	opened, settled int64 // Unix seconds; settled is 0 if it is not
}

const nobody = 0

func newFold() *fold {
	return &fold{persons: make([]person, 1, 64)}
}

// forget empties a fold for reuse.
func (f *fold) forget() {
	f.rooms.forget()
	f.people.forget()
	f.threads.forget()
	f.persons = f.persons[:1]
}

func (f *fold) room(key uint64) *room {
	r, ok := f.rooms.get(key)
	if !ok {
		r = new(room)
		f.rooms.put(key, r)
	}
	return r
}

func (f *fold) person(key uint64) int32 {
	i, ok := f.people.get(key)
	if !ok {
		i = int32(len(f.persons))
		f.people.put(key, i)
		f.persons = append(f.persons, person{})
	}
	return i
}

// threaded reports whether people in this room answer in threads.
func (r *room) threaded() bool { return r.threads*8 > r.said && r.roots == 0 }

func (t *thread) live(at int64) bool {
	return abs(at-t.opened) <= openTime && (t.settled == 0 || abs(at-t.settled) <= thankTime)
}

// live reports whether a person is being helped at a time at which the room has had said messages.
func (p *person) live(at int64, said int32) bool {
	quiet := at - p.last
	switch {
	case !p.asking || abs(at-p.opened) > openTime:
		return false
	case p.thanked != 0:
		return abs(at-p.thanked) <= thankTime
	case p.noted != 0:
		return quiet <= settleTime
	}
	answered := p.partner != nobody || p.helpers.n > 0
	return quiet <= quietTime || answered && quiet <= slowTime && said-p.lastSaid <= quietSaid
}

// busy reports whether a person is helping another.
func (p *person) busy(at int64) bool { return p.helping != nobody && at-p.helpingAt <= helpTime }

// isHelper reports whether a person mostly answers others, or is configured as a helper.
func (p *person) isHelper() bool { return p.listed || p.breadth >= 3 && p.breadth >= p.asks }

// isGuest reports whether a person has said little, and neither asked nor helped.
func (p *person) isGuest() bool { return p.asks == 0 && p.breadth == 0 && p.said <= 5 }

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
