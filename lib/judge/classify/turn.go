package classify

import "slices"

// placement is a message's place in its conversation.
type placement struct {
	why      uint16 // reason, 0 for none
	sure     uint8  // confidence in percent; 0: see verdict.confidence
	inflight bool   // someone is being helped here, and it continues
	wanted   bool   // helpers must read it
	asks     bool   // it is a question
	ack      bool   // it is an acknowledgement after all
	points   int32  // the sum of the weights
	weighed  bool   // and it decides, not the rules alone
	because  uint16 // the feature that reversed the rules' decision, 0 for none
}

// turn is one message while a fold processes it. The event is not modified, since another fold processes
// it too.
type turn struct {
	*fold
	placement
	event   *Event
	verdict *verdict
	room    *room
	me      int32
	writer  *person // persons[me]

	to         [len(facts{}.to)]int32 // addressees who have spoken
	nto        int
	thread     thread
	inThread   bool  // thread is live and from the platform
	byPlatform bool  // and the threads of the room are the platform's
	target     int32 // an addressee who is being helped
	named      bool  // and is named

	own      bool // its writer is being helped
	helping  bool // its writer is helping someone
	helper   bool // its writer mostly helps
	replies  bool // and was asked something
	newcomer bool // its writer has said nothing yet
	guest    bool // its writer has neither asked nor helped
	tells    bool // it reports a problem of the writer's own
}

// see adds a message and returns its place. The fold remembers the same with weights and without.
func (f *fold) see(e *Event, weigh *model) placement {
	t := turn{fold: f, event: e, verdict: &e.verdict, room: f.room(e.room)}
	t.asks, t.ack = t.verdict.question, t.verdict.ack
	if e.threaded {
		t.thread, t.inThread = f.threads.get(e.thread)
		t.inThread = t.inThread && t.thread.live(e.time)
	}
	t.inflight = t.inThread
	t.inThread = t.inThread && !e.inferred // an inferred thread adds nothing to what the rules know
	if e.deleted {
		t.unasks()
	}
	if t.verdict.mute {
		return t.placement
	}
	t.me = t.person(e.who)
	t.writer = &t.persons[t.me]
	room, writer := *t.room, *t.writer
	t.enter()
	target := t.persons[t.target]
	t.replies = t.own && t.writer.wanted
	t.marks.n = 0
	if weigh != nil {
		t.around(&t.marks)
		t.ruling(&t.marks)
	}
	t.place()
	if e.edited {
		*t.room, t.persons[t.target], *t.writer = room, target, writer
		t.askedByEdit()
	} else {
		if t.verdict.words >= 3 || t.wanted {
			t.writer.said++
		}
		t.leave()
		t.takePart()
	}
	if weigh != nil {
		t.weigh(weigh)
	}
	return t.placement
}

// askedByEdit remembers a question that an edit made of a message. Otherwise an edit leaves no trace: it is
// no further message of its writer, and its time is that of the message, which others have followed since.
func (t *turn) askedByEdit() {
	if t.wanted && t.asks && !t.writer.asking {
		t.opens()
	}
}

// unasks ends the help for a question that is deleted.
func (t *turn) unasks() {
	th, ok := t.threads.get(t.event.root)
	if !ok {
		return
	}
	if p := &t.persons[th.opener]; p.asking && p.opened == th.opened {
		p.asking = false
		if t.room.asker == th.opener {
			t.room.asker = nobody
		}
	}
	t.threads.put(t.event.root, thread{})
}

// enter determines who speaks to whom.
func (t *turn) enter() {
	e, v, r := t.event, t.verdict, t.room
	r.said++
	switch {
	case !e.threaded, e.inferred:
	case e.reply:
		r.threads++
	default:
		r.roots++
	}
	t.byPlatform = t.inThread && r.roots == 0
	p := t.writer
	p.listed, p.member = v.helper, v.member
	t.address()
	t.ack = t.ack || (v.nameAck || v.ackName && e.nto == 0) && t.nto > 0 && !t.asks
	if !p.live(e.time, r.said) {
		p.asking = false
	}
	opener := t.inThread && t.thread.opener == t.me
	flat := p.asking && (!r.threaded() || e.time-p.opened <= burstTime) && !t.inThread
	t.own = (flat || opener || t.returns()) && !(p.busy(e.time) && p.helpingAt > p.opened) &&
		!(e.edited && p.opened > e.time)
	t.helping = p.busy(e.time) && t.persons[p.helping].asking
	t.newcomer = p.said == 0
	t.helper = v.helper || v.unlisted && p.isHelper()
	t.guest = p.isGuest()
	t.tells = v.problem && (v.first || p.asks > 0 ||
		t.newcomer && t.nto == 0 && !v.second && !v.linked && v.words >= 4)
	switch {
	case t.target != nobody || t.nto > 0 || t.byPlatform || t.ofOwn():
	case !t.inThread:
		t.target = t.answered()
	case !opener && t.persons[t.thread.opener].live(e.time, r.said):
		t.target = t.thread.opener
	}
	if v.tag && r.last == t.me || v.lone && (t.own || t.nto > 0) {
		t.asks, t.ack = true, false
	}
}

// ofOwn reports whether a message that names no one concerns the writer's own matter, although another
// person asked just before: it reports a problem, or its writer helps no one and reports what they did or
// saw, or why they came.
func (t *turn) ofOwn() bool {
	v, p := t.verdict, t.writer
	switch {
	case t.tells && v.first && !v.second && !p.isHelper():
		return true
	case p.breadth == 0 && v.fact && !v.second && (t.guest || v.first):
		return true
	case !t.guest && p.asks <= p.breadth:
		return false
	}
	return t.tells || v.greets || t.newcomer && v.first && v.words >= longTalk &&
		(!t.room.asked || v.words >= 2*longTalk)
}

// longTalk is the number of words from which a message says more than "same here".
const longTalk = 10

// address finds the addressees of the message, by mention or by its first words.
func (t *turn) address() {
	e := t.event
	for _, key := range e.to[:e.nto] {
		if i, ok := t.people.get(key); ok && i != t.me {
			t.to[t.nto] = i
			t.nto++
		}
	}
	for i := 0; e.nto == 0 && t.nto == 0 && i < e.nmaybe; i++ {
		if who, ok := t.people.get(e.maybe[i]); ok && who != t.me {
			t.to[0], t.nto = who, 1
		}
	}
	for _, i := range t.to[:t.nto] {
		q := &t.persons[i]
		if q.live(e.time, t.room.said) && (!q.isHelper() || t.writer.isHelper()) {
			t.target, t.named = i, true
			return
		}
	}
}

// returns reports whether someone who was helped speaks to a person who helped them.
func (t *turn) returns() bool {
	if !t.inThread && t.writer.asks > 0 {
		for _, i := range t.to[:t.nto] {
			if t.writer.helpers.has(i) {
				return true
			}
		}
	}
	return false
}

// answered returns who asked a moment ago, if the writer is not being helped and names no one.
func (t *turn) answered() int32 {
	r, p, at := t.room, t.writer, t.event.time
	fresh := at-r.askedAt <= freshTime && r.said-r.askedSaid <= freshSaid &&
		!(t.event.edited && r.askedAt > at)
	if t.verdict.filler || r.asker == nobody || r.asker == t.me || !fresh ||
		t.own && (at-p.last < quietTime || p.last > r.askedAt) {
		return nobody
	}
	return r.asker
}

// speaksTo reports whether the message addresses who.
func (t *turn) speaksTo(who int32) bool {
	return who != nobody && slices.Contains(t.to[:t.nto], who)
}

// answers reports whether the message is help for its target.
func (t *turn) answers() bool {
	p, q := t.writer, &t.persons[t.target]
	switch {
	case t.target == nobody:
		return false
	case p.listed != q.listed:
		return p.listed
	case q.helpers.has(t.me):
		return true
	case t.own && p.helpers.has(t.target):
		return p.noted != 0 && q.toRoom && q.opened > p.opened // the roles are reversed now
	case t.own && t.named:
		return p.partner != t.target || !p.wanted &&
			(p.breadth > q.breadth || p.breadth == q.breadth && q.opened > p.opened && q.toRoom)
	}
	return q.breadth <= p.breadth+1
}

// leave records who spoke, and to whom.
func (t *turn) leave() {
	at, r, p := t.event.time, t.room, t.writer
	p.last, p.lastSaid, p.wanted = at, r.said, p.wanted && (t.asks && t.own || t.verdict.filler)
	for _, i := range t.to[:t.nto] {
		q := &t.persons[i]
		if q.live(at, r.said) {
			q.last, q.lastSaid = at, r.said
		} else {
			q.asking = false
		}
		if t.takesFor(q) {
			q.helping = nobody
			q.asking, q.opened, q.toRoom = true, at, true
			q.last, q.lastSaid = at, r.said
		}
		q.partner, q.wanted = t.me, t.asks
	}
	r.asked, r.last = t.asks, t.me
	if p.live(at, r.said) && !p.busy(at) {
		r.asker, r.askedAt, r.askedSaid = t.me, at, r.said
	}
}

// takesFor reports whether the message treats q as someone being helped, whom the rules took for a helper
// because another had just asked, or had not placed.
func (t *turn) takesFor(q *person) bool {
	switch {
	case q.helping == t.me, q.byName, q.breadth > 0:
		return false
	case q.helping != nobody:
		return true
	}
	return q.isGuest() && !q.asking && q.said > 0 &&
		(t.asks || t.verdict.second || t.verdict.advice || t.helper)
}

// opens records that the writer needs help from now on.
func (t *turn) opens() {
	p, at := t.writer, t.event.time
	if !p.asking || p.thanked != 0 {
		p.helpers, p.partner = people4{}, nobody
	}
	p.asking, p.opened, p.last, p.toRoom = true, at, at, t.nto == 0
	p.noted, p.thanked = 0, 0
	t.begins(t.event.thread)
	if t.event.inferred && t.event.reply {
		t.begins(t.event.root) // the platform's thread, in case people answer there
	}
}

// begins records that a thread belongs to someone who needs help.
func (t *turn) begins(key uint64) {
	th, ok := t.threads.get(key)
	if ok && t.event.edited {
		return
	}
	if !ok || !th.live(t.event.time) {
		th.opener = t.me
	}
	th.opened, th.settled = t.event.time, 0
	t.threads.put(key, th)
}

// settles records that the writer has what they need, or acknowledged an answer.
func (t *turn) settles() {
	p, at := t.writer, t.event.time
	if !p.asking || t.event.edited {
		return
	}
	if p.partner != nobody {
		p.noted = at
	}
	if !t.verdict.thanks && !t.verdict.solved {
		return
	}
	p.thanked = at
	if t.inflight && t.thread.opener == t.me {
		t.thread.settled = at
		t.threads.put(t.event.thread, t.thread)
	}
}

// helps records whom the writer helps.
func (t *turn) helps() {
	p, q := t.writer, &t.persons[t.target]
	if t.named && !p.helped.has(t.target) {
		p.helped.add(t.target)
		p.breadth++
	}
	if !q.helpers.has(t.me) {
		q.helpers.add(t.me)
	}
	p.byName = t.named || p.byName && p.helping == t.target && p.busy(t.event.time)
	p.helping, p.helpingAt = t.target, t.event.time
}
