package classify

// marks are the numbers of the values that hold.
type marks struct {
	at [128]uint16
	n  int
}

func (m *marks) put(f feature, value int) {
	m.at[m.n] = featureAt[f] + uint16(value)
	m.n++
}

func (m *marks) when(f feature, holds bool) {
	if holds {
		m.put(f, 0)
	}
}

// step returns how many of the cuts x reaches.
func step(x int32, cuts ...int32) int {
	n := 0
	for n < len(cuts) && x >= cuts[n] {
		n++
	}
	return n
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// aloud notes what the message's own words show.
func (m *marks) aloud(v *verdict) {
	m.put(ofPeople, bit(v.first)+2*bit(v.second))
	m.when(ofProblem, v.problem)
	m.when(isSolved, v.solved)
	m.when(hasThanks, v.thanks)
	m.when(isReply, v.reply)
	m.when(isLater, v.later)
	m.when(isAdvice, v.advice)
	m.when(isFact, v.fact)
	m.when(isGuess, v.guess)
	m.when(isFiller, v.filler)
	m.when(isAckAndWord, v.brief)
	m.when(isTag, v.tag)
	m.when(hasSmiley, v.emoji)
	m.when(hasCode, v.code)
	m.when(isHollow, v.hollow)
	m.when(hasNod, v.nods)
	if v.greets {
		m.put(hasGreeting, bit(v.tells))
	}
	m.when(isLone, v.lone)
	m.when(isLoud, v.loud)
	m.when(marked, v.mark)
	m.when(asksPhrase, v.phrase)
	m.when(isAck, v.ack)
	m.put(hasLength, step(int32(v.words), 1, 2, 3, 5, 8, 13, 21, 41))
	m.put(asksOfWhom, v.asksOf())
}

// asksOf encodes whether the message asks, and of whom it speaks.
func (v *verdict) asksOf() int { return bit(v.first) + 2*bit(v.second) + 4*bit(v.question) }

// partCuts are in points.
var partCuts = []int32{-150, -50, 50, 150}

// around notes what the conversation before the message shows.
func (t *turn) around(m *marks) {
	r, a := t.room, t.writer.part
	fresh := t.silent()
	if fresh {
		a = part{total: a.total, ever: a.ever}
	}
	m.put(partPoints, step(a.points, -200, -100, -50, -15, 15, 50, 100, 200))
	m.put(partEver, 0)
	if a.total >= 8 {
		m.n--
		m.put(partEver, 1+step(a.average(), -70, -40, -20, 0, 20, 40, 70))
	}
	m.when(hasThanked, a.thanked)
	m.when(hasAsked, a.asked)
	if fresh {
		m.put(cameAsking, bit(t.asks)+2*bit(t.besideQuestion()))
	} else {
		m.put(cameAsking, 4+bit(t.asks)+2*bit(a.came))
		m.put(partOpened, step(a.opened, -100, -30, 30, 100))
		m.put(partMost, step(a.most, 0, 70, 150))
		m.put(partQuestions, step(a.questions, 30, 90, 160))
	}
	quiet := int32(0)
	if r.said > 1 {
		quiet = seconds(t.event.time - r.lastAt)
	}
	m.put(roomSilence, step(quiet, 60, 300, 1800)+4*bit(fresh))
	t.aroundAddressee(m, &a)
	if since := r.said - a.partnerSaid; a.partner != nobody && since <= 20 {
		q := &t.persons[a.partner].part
		m.put(partnerPoints, step(q.points, partCuts...))
		m.put(partnerAsks, 3*step(since, 3, 8)+bit(a.partnerAsked)+bit(a.partnerAsked && a.partnerOfYou))
		m.put(partnerReplies, int(min(a.replies, 3)))
	}
	like := step(a.points+a.average()-t.asker()/2, partCuts...)
	if since := r.said - a.partnerSaid; a.partnerAsked && since <= 3 {
		m.put(roleReplies, 4*like+2*bit(a.partnerOfYou)+bit(t.verdict.words <= 3))
	}
	m.put(roleAsks, 8*like+t.verdict.asksOf()) // like is 4 for who sounds like an asker, 0 for a helper
	m.put(roleWords, 7*like+step(t.verdict.role, -150, -70, -20, 20, 70, 150))
}

// seconds returns a time as a number that is not negative.
func seconds(n int64) int32 { return int32(min(max(n, 0), 1<<20)) }

// fades are the shares, of 1024, of a person's points that are left so many messages later.
var fades = func() (left [recents + 1]int32) {
	left[0] = 1024
	for n := range recents {
		left[n+1] = left[n] * 15 / 16
	}
	return left
}()

// asker returns the points of the person, other than the writer, who most likely is being helped; else 0.
func (t *turn) asker() (best int32) {
	r, any := t.room, false
	for i := r.nrecent - 1; i >= max(r.nrecent-recents, 0); i-- {
		m := &r.recent[i%recents]
		o := &t.persons[m.who].part
		if m.who == t.me || m.said != o.atSaid {
			continue // the writer, or an earlier message
		}
		if p := o.points * fades[min(r.said-m.said, recents)] / 1024; !any || p > best {
			best, any = p, true
		}
	}
	return best
}

// aroundAddressee notes what is known of the person that the message is to.
func (t *turn) aroundAddressee(m *marks, a *part) {
	if t.nto == 0 {
		m.put(toPoints, 0)
		return
	}
	q := &t.persons[t.to[0]].part
	m.put(toPoints, 1+step(q.points, partCuts...))
	m.put(toEver, step(q.average(), -70, -30, 0, 30, 70))
	m.put(toPartner, bit(a.partner == t.to[0]))
	m.put(toAsks, t.verdict.asksOf())
}

// ruling notes what the rules know of the conversation, before they place the message.
func (t *turn) ruling(m *marks) {
	v, p := t.verdict, t.writer
	m.when(asksSelf, t.asksForSelf())
	m.when(ownHelped, t.own && p.helpers.n > 0)
	m.when(toAHelper, t.toHelper())
	m.when(toOneAsking, t.named)
	m.when(isAnswer, t.answers())
	m.when(isHelping, t.helping)
	m.when(givesMore, p.breadth > p.asks)
	m.when(helpsToo, p.breadth > 0)
	m.when(asksMore, p.asks > p.breadth)
	m.when(isNew, t.newcomer)
	m.when(isGuest, t.guest && !t.newcomer)
	m.when(newOfMe, t.newcomer && v.first && t.nto == 0)
	m.when(hasNoted, p.noted != 0)
	m.when(since1, p.opened != 0 && t.event.time-p.opened <= 60)
}
