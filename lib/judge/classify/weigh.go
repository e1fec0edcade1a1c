package classify

import "math"

// weigh can overrule most of what the rules placed. The rules determine who is being helped and by whom, as
// far as names and times say it; the model weighs that against the words and the parts that people take.
// Messages in platforms' own threads have not been labelled: these, and messages other than statements and
// questions, are left to the rules. Threads inferred by tri-thread count as none.
// A statement without a problem or code whose words have points for it is an acknowledgement.
func (t *turn) weigh(with *model) {
	t.marks.when(ruled, t.wanted)
	t.marks.when(ruledAsk, t.wanted && t.asks)
	if t.settled() || t.early() {
		return
	}
	if v := t.verdict; v.acks > 0 && !t.asks && !v.problem && !v.code {
		t.ack, t.wanted, t.because, t.sure = true, false, uint16(whySign+isAck), confident(v.acks)
		return
	}
	t.weighed, t.points = true, t.verdict.worth
	for _, n := range t.marks.at[:t.marks.n] {
		t.points += int32(with.values[n].worth)
	}
	switch enough := t.points >= with.from; {
	case enough && !t.wanted:
		t.because, t.wanted = with.strongest(&t.marks, 1), true
	case !enough && t.wanted:
		t.because, t.wanted = with.strongest(&t.marks, -1), false
	}
	t.sure = confident(t.points - with.from)
}

// settled reports whether the rules alone decide.
func (t *turn) settled() bool {
	v := t.verdict
	switch {
	case t.replies && t.wanted && t.why == whyFollows && v.words <= 4,
		t.ack, v.mention, v.chatter, v.helper, t.event.threaded && !t.event.inferred, t.room.threaded():
		return true
	}
	return v.filler && v.words > 0 || v.slip()
}

// early reports whether the rules alone decide because everyone is new to the room. After a few messages the
// model weighs the next one, except a remark to no one by a newcomer or by a person who has given thanks, and
// languages other than English, of which no room's beginning has been labelled.
func (t *turn) early() bool {
	const few, enough = 9, 50
	v, said := t.verdict, t.room.said
	remark := (t.guest || t.writer.thanked != 0) && t.nto == 0 && !t.asks && !t.wanted &&
		!v.first && !v.problem
	return said < few || said < enough && (remark || v.lang != "en" && v.lang != "")
}

// confident returns the probability, in percent, that the side given by the points is right.
func confident(points int32) uint8 { return sureAt[min(max(points, -points), int32(len(sureAt)-1))] }

// sureAt is that probability by distance in points, up to the largest that is reported.
var sureAt = func() (sure [400]uint8) {
	const most = 97
	for n := range sure {
		sure[n] = uint8(min(math.Round(100/(1+math.Exp(-float64(n)/100))), most))
	}
	return sure
}()
