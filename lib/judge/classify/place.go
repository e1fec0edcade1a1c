package classify

import "slices"

// place places the message: the first rule that holds decides.
func (t *turn) place() {
	v, p := t.verdict, t.writer
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
	case (t.own || t.nto > 0) && v.thanks && !t.asks && !v.problem && !v.linked && v.words <= longThanks:
		t.thank(whyThanks, 90)
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
		p.asking, p.opened, p.noted, p.thanked = true, t.event.time, 0, 0 // they have returned
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
func (t *turn) outsider() bool { return t.inflight && !t.persons[t.thread.opener].member }

// placeAck distinguishes "yes" as an answer from "yes" as an acknowledgement.
func (t *turn) placeAck() {
	switch {
	case t.verdict.reply && t.own && (t.writer.wanted || t.nto > 0 ||
		t.room.asked && t.room.last != t.me && t.writer.helpers.has(t.room.last)):
		t.ack = false
		t.need(whyFollows, 80)
	case t.verdict.reply && !t.own && (t.room.asked && t.room.last != t.me || t.target != nobody && t.named):
		t.ack = false
		t.drop(whyAnswers, 75)
	default:
		t.settles()
	}
}

// asksForSelf reports whether a question to someone who asked is the writer's own, not a request for a
// detail.
func (t *turn) asksForSelf() bool {
	v := t.verdict
	switch {
	case !t.asks:
		return false
	case !t.named:
		return !v.second || v.first || t.newcomer
	case t.own:
		return v.first && !v.second
	}
	q := &t.persons[t.target]
	asked := q.toRoom && q.helpers.n == 0 && t.event.time-q.opened <= freshTime // and has no answer yet
	return t.guest && v.first && (v.problem || !v.second) && !asked
}

// answer places a message to someone who asked.
func (t *turn) answer() {
	sure := 80
	if t.named {
		sure = 90
	}
	if t.verdict.guess && !t.verdict.second {
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
	v := t.verdict
	toOther := v.second && !v.first
	switch {
	case t.helper && (toOther || t.helping && !v.first || t.inThread && !t.own || v.helper && !v.first),
		!t.own && t.helping && !v.first && (v.second || t.writer.byName):
		t.drop(whyClarifies, 75)
	default:
		t.writer.asks++
		t.need(0, 0)
		t.opens()
	}
}

// statement places a message that neither asks nor answers.
func (t *turn) statement() {
	v, p, own := t.verdict, t.writer, t.own
	switch {
	case v.solved && own && !v.problem && v.words <= 6:
		t.thank(whySettles, 75)
	case v.later && !v.problem && v.words <= 12 && !t.byPlatform:
		t.drop(whyLater, 75)
	case (v.filler || v.brief) && !(own && p.wanted && (v.reply || v.brief)) && !t.byPlatform, v.slip():
		t.drop(0, 85)
	case own && (p.thanked == 0 || v.problem || t.speaksTo(p.partner)):
		t.need(whyFollows, 70)
	case t.tells && (!t.helping || t.guest) && (!t.inThread || own):
		t.need(whyProblem, 75)
		t.opens()
	case t.byPlatform && !t.helping:
		t.need(whyInflight, 60)
	case t.helping:
		t.drop(whyHelps, 80)
	case v.problem || v.first && v.words >= longTalk:
		t.drop(0, 65)
	default:
		t.drop(0, 80)
	}
}

// toHelper reports whether the message addresses someone who mostly helps.
func (t *turn) toHelper() bool {
	return slices.ContainsFunc(t.to[:t.nto], func(who int32) bool { return t.persons[who].isHelper() })
}
