package classify

// entry is what a fold keeps of a message. Zero is no entry.
type entry struct {
	room, thread, own int32 // the entry before it in its room, in its thread, and by its writer
	who               int32
	time              int64
	said              int32 // its number in the room
	voice             int8  // what its words say for someone who needs help, in 25ths of a logit
	asks              bool  // its words ask
	opens             bool  // its writer opens something that they need
	kind              uint8 // see kindOf
}

// course is what was said in a thread.
type course struct{ first, last int32 }

// The walk back from a message.
const (
	walkFar  = 32          // entries
	walkGap  = 30 * 60     // seconds of silence that end it in a room without threads
	walkLong = 3 * 60 * 60 // seconds
)

// entry begins the entry of a message, before it is placed.
func (t *turn) entry() entry {
	n := entry{room: t.r.entry, own: t.p.said1, who: t.me, time: t.e.time, said: t.r.said, voice: t.v.voice, asks: t.v.mark || t.v.phrase}
	key := t.e.root
	if t.e.threaded {
		key = t.e.thread
	}
	t.course = t.talks.at(key)
	if t.e.threaded {
		n.thread = t.course.last
	}
	return n
}

// keep stores the entry of a message that has been placed.
func (t *turn) keep(n *entry) {
	i := int32(len(t.entries))
	n.opens, n.kind = t.opened, t.kindOf()
	t.entries = append(t.entries, *n)
	t.r.entry, t.p.said1 = i, i
	if n.opens {
		t.r.opening, t.p.opening1 = i, i
	}
	for _, who := range t.to[:t.nto] {
		t.persons[who].named1 = i
	}
	if t.course.first == 0 {
		t.course.first = i
	}
	t.course.last = i
}

// The kinds of an entry; 0 is none.
const (
	kindAck = 1 + iota
	kindThanks
	kindNeeds // it asks, and its writer needs the answer
	kindAsks
	kindTells // it does not ask, but its writer needs help
	kindAdvises
	kindSays
)

func (t *turn) kindOf() uint8 {
	asks := t.v.mark || t.v.phrase
	switch {
	case t.ack:
		return kindAck
	case t.v.thanks:
		return kindThanks
	case asks && t.wanted:
		return kindNeeds
	case asks:
		return kindAsks
	case t.wanted:
		return kindTells
	case t.v.advice:
		return kindAdvises
	}
	return kindSays
}

// facts fills in what the rules know before they place the message.
func (t *turn) facts(x *features) {
	x[fPart] = flags8(t.own, t.helping, t.answers(), t.target != nobody, t.named, t.p.thanked != 0)
	x[fPerson] = flags8(t.helper, t.guest, t.tells, t.asksForSelf(), t.p.wanted, t.p.noted != 0)
}

// look fills in what a walk back over the conversation shows: over the thread, or over the room.
func (t *turn) look(n *entry, x *features) {
	at, scoped := n.room, n.thread != 0
	if scoped {
		at = n.thread
	}
	w := walk{before: n.time}
	for k := 0; at != 0 && k < walkFar; k++ {
		m := &t.entries[at]
		if abs(n.time-m.time) > walkLong || !scoped && w.before-m.time > walkGap {
			break
		}
		w.step(m, at, n.who)
		at = m.room
		if scoped {
			at = m.thread
		}
	}
	own, since := w.opening, w.since
	if own == 0 && !scoped && t.p.opening1 != 0 && t.age(n, t.p.opening1) < walkLong {
		own = t.p.opening1
		since = int64(n.said - t.entries[own].said)
	}
	if own != 0 {
		x[fOpeningAge], x[fOpeningSince] = 1+t.ageBin(n, own), 1+bin(since, 0, 1, 3, 7, 14)
	}
	if w.other != 0 {
		x[fOtherAge] = 1 + t.ageBin(n, w.other)
	}
	switch {
	case own != 0 && own > w.other:
		x[fOrder] = 2 + flags8(w.other != 0)*2
	case own != 0:
		x[fOrder] = 3
	case w.other != 0:
		x[fOrder] = 1
	}
	w.pair(t.entries, n.who, x)
	t.lookRoom(n, x)
	if t.e.threaded {
		t.lookThread(n, w.mine > 0, x)
	}
}

// topic reports whether the message starts a thread in a room where threads are topics: the first message of
// each carries it too, or nearly every message is in one. Who starts a topic nearly always wants something.
func (t *turn) topic() bool {
	const some = 20 // messages of the room from which it is known
	e, r := t.e, t.r
	if !e.threaded || e.inferred || t.v.filler || t.course.first != 0 {
		return false
	}
	return !e.reply || r.said > some && 8*(r.threads+r.roots) > 7*r.said
}

func (t *turn) age(n *entry, i int32) int64 { return abs(n.time - t.entries[i].time) }

func (t *turn) ageBin(n *entry, i int32) uint8 {
	return bin(t.age(n, i), 40, 120, 300, 900, 2400, 7200)
}

// lookRoom fills in the openings of the room, the tone of the writer, and who named them.
func (t *turn) lookRoom(n *entry, x *features) {
	own, room := t.p.opening1, t.r.opening
	switch {
	case own != 0 && t.age(n, own) < walkLong:
		x[fRoomOrder] = 1 + bin(t.age(n, own), 120, 600, 1800)
		if room > own {
			x[fRoomOrder] += 4
		}
	case room != 0 && t.age(n, room) < walkLong:
		x[fRoomOrder] = 9 + bin(t.age(n, room), 120, 600, 1800)
	}
	const hour = 60 * 60
	if k := t.p.named1; k != 0 && k > n.own && t.age(n, k) < hour {
		x[fNamed] = t.entries[k].kind
	} else if k != 0 && t.age(n, k) < hour/2 {
		x[fNamed] = kindSays + 1
	}
	sum, many := 0, 0
	for i := n.own; i != 0 && many < 4 && t.age(n, i) < hour; i = t.entries[i].own {
		sum += int(t.entries[i].voice)
		many++
	}
	if many > 0 {
		x[fOwnVoice] = 1 + step(sum/many, -60, 10, 12)
	}
}

// lookThread fills in the part of the writer in a thread.
func (t *turn) lookThread(n *entry, spoke bool, x *features) {
	first, begun := &t.entries[t.course.first], t.course.first != 0
	switch {
	case !begun:
		x[fThread] = 1
	case first.who == n.who:
		x[fThread] = 2
	case spoke:
		x[fThread] = 3
	default:
		x[fThread] = 4
	}
	if !t.e.inferred {
		x[fThread] += 4
	}
	if begun {
		x[fStarted] = first.kind + 8*flags8(first.who == n.who)
	}
}

// walk collects what a walk back from a message passes.
type walk struct {
	before                int64
	opening, other        int32 // the last opening of the writer, and of another
	since                 int64 // others' entries since the writer's opening
	firstAsk              int32 // the first entry that asks
	partner               int32 // who else spoke last
	mine, theirs          int   // entries of the writer, and of the partner
	voice, partnerVoice   int
	askedMine, askedTheir int32 // the first entries of both that ask
}

func (w *walk) step(m *entry, i, me int32) {
	w.before = m.time
	if m.asks {
		w.firstAsk = i
	}
	if m.who == me {
		w.mine++
		w.voice += int(m.voice)
		if m.asks {
			w.askedMine = i
		}
		if w.opening == 0 && m.opens {
			w.opening = i
		}
		return
	}
	if w.opening == 0 {
		w.since++
	}
	if w.other == 0 && m.opens {
		w.other = i
	}
	if w.partner == nobody {
		w.partner = m.who
	}
	if m.who == w.partner {
		w.theirs++
		w.partnerVoice += int(m.voice)
		if m.asks {
			w.askedTheir = i
		}
	}
}

// pair compares the writer with who else spoke last.
func (w *walk) pair(entries []entry, me int32, x *features) {
	switch who := entries[w.firstAsk].who; {
	case w.firstAsk == 0:
	case who == me:
		x[fFirstAsk] = 1
	case who == w.partner:
		x[fFirstAsk] = 2
	default:
		x[fFirstAsk] = 3
	}
	if w.partner == nobody {
		return
	}
	if w.mine > 0 {
		x[fPairVoice] = 1 + step(w.voice/w.mine-w.partnerVoice/w.theirs, -70, 10, 14)
	}
	switch {
	case w.askedMine == 0 && w.askedTheir == 0:
	case w.askedMine == 0:
		x[fPairFirst] = 1
	case w.askedTheir == 0:
		x[fPairFirst] = 2
	case w.askedMine < w.askedTheir:
		x[fPairFirst] = 3
	default:
		x[fPairFirst] = 4
	}
}

// bin returns how many of the bounds n exceeds.
func bin(n int64, bounds ...int64) uint8 {
	for i, b := range bounds {
		if n <= b {
			return uint8(i)
		}
	}
	return uint8(len(bounds))
}

// step returns the number of the step that n is on, from 0 to most.
func step(n, from, size, most int) uint8 { return uint8(min(max((n-from)/size, 0), most)) }

// flags8 sets a bit for each that holds.
func flags8(holds ...bool) (n uint8) {
	for i, h := range holds {
		if h {
			n |= 1 << i
		}
	}
	return n
}
