package classify

// place places the message: the first rule that holds decides.
func (t *turn) place() {
	v, p := t.v, t.p
	switch {
	case v.mention:
		t.need(0, 100)
		t.opens()
	case t.ack:
		t.placeAck()
	case v.chatter && !t.outsider():
		t.drop(whyTeam, 85)
	case v.thanks && !t.asks && !v.problem && !v.code && v.words >= 3 && v.words < longTalk:
		t.thank(whyThanks, 85)
	case v.nods && v.later && !t.asks && !v.problem && !v.code && v.words < longTalk:
		t.thank(whyLater, 75)
	case (t.own || t.nto > 0) && v.thanks && !t.asks && !v.problem && !v.linked && v.words <= longThanks:
		t.thank(whyThanks, 90)
	case p.announces() && (!t.asks || p.said >= 8):
		t.asks = false
		t.drop(whyAnnounces, 95)
	case t.answers() && !t.asksForSelf():
		t.answer()
	case t.asks:
		t.question()
	case t.helper && (v.helper || !t.own || !t.speaksTo(p.partner)):
		t.drop(whyHelper, 90)
	default:
		t.statement()
	}
	if t.wanted && t.own && (!p.asking || p.thanked != 0) && !t.inThread {
		p.asking, p.opened, p.noted, p.thanked = true, t.e.time, 0, 0 // they have returned
	}
	t.inflight = t.inflight || t.own && !t.wanted || t.wanted && t.why == whyFollows
}

// longThanks is the maximum number of words of thanks.
const longThanks = 40

// need makes the message actionable.
func (t *turn) need(why uint16, sure int) {
	t.wanted, t.why, t.sure = true, why, uint8(sure)
}

// drop makes the message ambient.
func (t *turn) drop(why uint16, sure int) {
	t.why, t.sure = why, uint8(sure)
}

// thank makes the message an acknowledgement.
func (t *turn) thank(why uint16, sure int) {
	t.ack, t.why, t.sure = true, why, uint8(sure)
	t.settles()
}

// outsider reports whether the thread belongs to someone outside the team.
func (t *turn) outsider() bool { return t.inflight && !t.persons[t.th.opener].member }

// placeAck distinguishes "yes" as an answer from "yes" as an acknowledgement.
func (t *turn) placeAck() {
	switch {
	case t.v.reply && t.own && (t.p.wanted || t.nto > 0 ||
		t.r.asked && t.r.last != t.me && t.p.helpers.has(t.r.last)):
		t.ack = false
		t.need(whyFollows, 80)
	case t.v.reply && !t.own && (t.r.asked && t.r.last != t.me || t.target != nobody && t.named):
		t.ack = false
		t.drop(whyAnswers, 75)
	default:
		t.settles()
	}
}

// asksForSelf reports whether a question to someone who asked is the writer's own, not a request for a
// detail.
func (t *turn) asksForSelf() bool {
	v := t.v
	switch {
	case !t.asks:
		return false
	case !t.named:
		detail := t.r.last == t.target && !v.first && !t.newcomer && t.p.asks < t.p.breadth &&
			v.words <= longTalk
		return (!v.second || v.first || t.newcomer) && !detail
	case t.own:
		return v.first && !v.second
	}
	q := &t.persons[t.target]
	asked := q.toRoom && q.helpers.n == 0 && t.e.time-q.opened <= freshTime // and has no answer yet
	return t.guest && v.first && (v.problem || !v.second) && !asked
}

// answer places a message to someone who asked.
func (t *turn) answer() {
	sure := 80
	if t.named {
		sure = 90
	}
	if t.v.guess && !t.v.second {
		t.asks = false
	}
	if t.asks {
		t.drop(whyClarifies, sure)
	} else {
		t.drop(whyAnswers, sure)
	}
	t.helps()
}

// question distinguishes a request from a question that a helper asks back.
func (t *turn) question() {
	v := t.v
	toOther := v.second && !v.first
	switch {
	case v.guess && !v.second && !t.own && t.nto > 0:
		t.asks = false
		t.drop(whyAnswers, 75)
	case v.words == 1 && t.nto > 0 && !v.phrase && !t.own: // a name
		t.asks = false
		t.drop(0, 75)
	case t.helper && (toOther || t.helping && !v.first || t.inThread && !t.own || v.helper && !v.first),
		!t.own && (t.helping && !v.first && (v.second || t.p.byName) || toOther && t.toAsker()):
		t.drop(whyClarifies, 75)
	default:
		t.p.asks++
		t.need(0, 0)
		t.opens()
	}
}

// toAsker reports whether the first addressee helps no more than the writer does.
func (t *turn) toAsker() bool {
	if t.nto == 0 {
		return false
	}
	q := &t.persons[t.to[0]]
	return !q.isHelper() && q.breadth <= t.p.breadth && q.said > 0
}

// statement places a message that neither asks nor answers.
func (t *turn) statement() {
	v, p, own := t.v, t.p, t.own
	switch {
	case v.solved && own && !v.problem && v.words <= 6:
		t.thank(whySettles, 75)
	case v.later && !v.problem && v.words <= 12 && !t.byPlatform:
		t.drop(whyLater, 75)
	case (v.filler || v.brief) && !(own && p.wanted && (v.reply || v.brief)) && !t.byPlatform, v.slip():
		t.drop(0, 85)
	case t.guest && p.wanted && !t.inThread:
		t.need(whyFollows, 75)
		t.opens()
	case own && (p.thanked == 0 || v.problem || t.speaksTo(p.partner)):
		t.need(whyFollows, 70)
	case t.tells && (!t.helping || t.guest) && (!t.inThread || own):
		t.need(whyProblem, 75)
		t.opens()
	case t.guest && t.r.known() && !t.inThread && t.nto == 0 && !t.helping && v.words >= 4 &&
		(v.greets || t.greeted()):
		t.need(whyNewcomer, 65)
		t.opens()
	case t.newcomer && !t.inThread && t.introduces():
		t.need(whyNewcomer, 65)
		t.opens()
		p.unsure = true
	case !own && !t.helping && v.words >= 5 && (t.newcomer || v.first && !v.second) && t.toHelper():
		t.need(whyToHelper, 60)
		t.opens()
	case t.byPlatform && !t.helping:
		t.need(whyInflight, 60)
	case t.helping:
		t.drop(whyHelps, 80)
	case t.lately() && v.words >= longTalk:
		t.need(whyFollows, 55)
	case v.problem || v.first && v.words >= longTalk:
		t.drop(0, 65)
	default:
		t.drop(0, 80)
	}
}

// introduces reports whether the first message of a newcomer may be about a problem.
func (t *turn) introduces() bool {
	const some = 10 // messages of the room after which newcomers can be recognized
	v := t.v
	return t.r.said > some && !t.r.threaded() && v.first && !v.second && v.words >= longTalk &&
		t.nto == 0 && t.target == nobody && (!t.r.asked || t.r.last == t.me || v.words >= 2*longTalk)
}

// toHelper reports whether the message addresses someone who mostly helps.
func (t *turn) toHelper() bool {
	for _, i := range t.to[:t.nto] {
		if t.persons[i].isHelper() {
			return true
		}
	}
	return false
}

// lately reports whether the writer, who mostly asks, was helped a while ago in a room without threads.
func (t *turn) lately() bool {
	p := t.p
	return p.asks > p.breadth && !t.r.threaded() && p.helpers.n > 0 && t.e.time-p.opened <= slowTime
}
