package classify

import "slices"

// How long somebody goes on being helped, in seconds and in messages of the room.
const (
	quietTime  = 10 * 60 // nobody spoke, neither they nor anybody to them,
	quietSaid  = 15      // or in a slow room, others said so little,
	slowTime   = 40 * 60 // for no longer than this, once somebody has answered
	settleTime = 4 * 60  // after they took note of an answer
	thankTime  = 2 * 60  // after they gave thanks
	burstTime  = 2 * 60  // outside threads, where the room uses them
	helpTime   = 5 * 60  // who spoke so lately to one who asked still helps
	freshTime  = 3 * 60  // a question is so fresh that what is said next,
	freshSaid  = 5       // and names nobody, answers it
	openTime   = 24 * 60 * 60
)

// fold is who asked, who helps and what is still open, by what was said since it
// began.
type fold struct {
	rooms   table[*room]
	people  table[int32] // by room and id
	persons []person     // the first is nobody
	threads table[thread]
}

// room is one chat.
type room struct {
	said    int32 // messages of people
	threads int32 // of them in threads that a platform keeps
	roots   int32 // of them that begin a thread and name it, as on no platform
	last    int32 // who spoke last
	asked   bool  // and it was a question

	asker     int32 // of those being helped, who spoke last,
	askedAt   int64 // when
	askedSaid int32
}

// person is somebody in one room.
type person struct {
	said    int32 // messages of some words,
	links   int32 // of them with a link
	asks    int32 // questions of their own
	breadth int32 // how many different people they helped,
	helped  people4

	listed, member bool // the configuration has them as a helper, in the team

	asking   bool  // they are being helped,
	opened   int64 // when they asked last, in Unix seconds,
	toRoom   bool  // and nobody by name
	unsure   bool  // or only told something, as somebody new
	mild     bool  // by a question that speaks neither of them nor of a problem
	greeted  int64 // when they greeted, 0 for never
	last     int64 // when they, or somebody to them, spoke last
	lastSaid int32 // the room's count then
	noted    int64 // when they took note of an answer, 0 for not yet
	thanked  int64 // when they gave thanks
	remarks  int32 // what they have said since without need
	partner  int32 // who spoke to them last,
	wanted   bool  // and asked them something
	helpers  people4

	helping   int32 // whom they spoke to last who asked,
	helpingAt int64 // when,
	byName    bool  // and by name
}

// people4 are the last four people of a kind.
type people4 struct {
	who [4]int32
	n   int32
}

func (l *people4) has(who int32) bool { return slices.Contains(l.who[:], who) }

func (l *people4) add(who int32) {
	l.who[l.n%4] = who
	l.n++
}

// thread is one that somebody opened by asking.
type thread struct {
	opener          int32
	opened, settled int64 // Unix seconds; settled 0: not
}

const nobody = 0

func newFold() *fold {
	return &fold{persons: make([]person, 1, 64)}
}

// forget makes a fold as good as new.
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

// known reports whether enough was said for it to be told who is new and who
// mostly asks: at the beginning of a room everybody is, and does.
func (r *room) known() bool {
	const enough = 50
	return r.said >= enough
}

// threaded reports whether people here answer in threads.
func (r *room) threaded() bool { return r.threads*8 > r.said && r.roots == 0 }

func (t *thread) live(at int64) bool {
	return abs(at-t.opened) <= openTime && (t.settled == 0 || abs(at-t.settled) <= thankTime)
}

// live reports whether somebody is being helped at a time, when the room has
// heard said messages.
func (p *person) live(at int64, said int32) bool {
	quiet := at - p.last
	switch {
	case !p.asking || abs(at-p.opened) > openTime, p.unsure && p.partner == nobody && at-p.opened > burstTime:
		return false
	case p.thanked != 0:
		return abs(at-p.thanked) <= thankTime
	case p.noted != 0:
		return quiet <= settleTime
	}
	answered := p.partner != nobody || p.helpers.n > 0
	return quiet <= quietTime || answered && quiet <= slowTime && said-p.lastSaid <= quietSaid
}

// busy reports whether somebody is helping another.
func (p *person) busy(at int64) bool { return p.helping != nobody && at-p.helpingAt <= helpTime }

// isHelper reports whether somebody mostly answers others, or is said to.
func (p *person) isHelper() bool { return p.listed || p.breadth >= 3 && p.breadth >= p.asks }

// isGuest reports whether somebody has said little, and neither asked nor helped.
func (p *person) isGuest() bool { return p.asks == 0 && p.breadth == 0 && p.said <= 5 }

// announces reports whether somebody does nothing but pass on links, as a program
// does that its platform takes for a person.
func (p *person) announces() bool { return p.said >= 3 && p.links == p.said }

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
