package classify

import (
	"math"
	"math/bits"
)

// sign is a feature that speaks for or against a message being worth reading for helpers.
type sign uint8

// signs is the set of signs that hold for a message.
type signs uint64

func (s *signs) put(n sign, holds bool) {
	var bit signs
	if holds {
		bit = 1
	}
	*s |= bit << n
}

// points returns the sum of the signs' weights, in hundredths of a logit.
func (s signs) points() int {
	sum := atFirst
	for ; s != 0; s &= s - 1 {
		sum += int(weights[bits.TrailingZeros64(uint64(s))].points)
	}
	return sum
}

// worthwhile is the number of points from which a message is worth reading: at that score, two of five
// messages of the labelled rooms are, each weighed with weights fitted on the other rooms.
const worthwhile = -119

// weigh can overrule most of what the rules placed. The rules determine who is being helped and by whom;
// how that counts against the other signs is fitted on labelled rooms. Messages in platforms' own threads
// have not been labelled, and messages other than statements and questions are left to the rules. Threads
// inferred by tri-thread count as none: as signs of their own they added nothing on held-out rooms.
func (t *turn) weigh(s signs) {
	if t.settled() {
		return
	}
	s.put(ruled, t.wanted)
	s.put(ruledAsk, t.wanted && t.asks)
	t.weighed = s
	points := s.points()
	switch {
	case points >= worthwhile && !t.wanted && t.r.known():
		t.because, t.wanted = s.strongest(1), true
	case points < worthwhile && t.wanted:
		t.because, t.wanted = s.strongest(-1), false
	}
	t.sure = confident(points)
}

// tellsOnly reports whether the message, unasked, says something that is not a problem, in a room where no
// one has asked yet, or hours after its writer did. Where people help strangers that is rare, and may be
// worth reading; in a team's room most messages are like that.
func (t *turn) tellsOnly() bool {
	const over = 3 * 60 * 60 // seconds
	v, p := t.v, t.p
	if t.asks || v.problem || t.own || p.wanted {
		return false
	}
	return p.opened == 0 && t.r.asker == nobody || p.opened != 0 && t.e.time-p.opened > over
}

// settled reports whether the rules alone decide.
func (t *turn) settled() bool {
	v, p := t.v, t.p
	switch {
	case t.ack, v.mention, v.chatter, v.helper, t.e.threaded && !t.e.inferred, t.r.threaded(),
		t.why == whyAnnounces:
		return true
	case !t.wanted && t.tellsOnly():
		return true
	case t.asks:
		return t.wanted && v.phrase && t.nto == 0 && !v.second // it asks the room
	case v.filler && v.words > 0, v.slip(), v.solved && !v.problem && !t.own:
		return true
	}
	return v.linked && p.asks == 0 && p.said >= 2 && p.links == p.said // probably announcements
}

// confident returns the probability, in percent, that the side given by the points is right.
func confident(points int) uint8 {
	n := points - worthwhile
	return sureAt[min(max(n, -n), len(sureAt)-1)]
}

// sureAt is that probability by distance in points, up to the largest that is reported.
var sureAt = func() (sure [400]uint8) {
	const most = 97
	for n := range sure {
		sure[n] = uint8(min(math.Round(100/(1+math.Exp(-float64(n)/100))), most))
	}
	return sure
}()

// strongest returns the reason of the sign with the largest weight for a side, 1 or -1.
func (s signs) strongest(side int) uint16 {
	best, of := 0, 0
	for ; s != 0; s &= s - 1 {
		n := bits.TrailingZeros64(uint64(s))
		if p := side * int(weights[n].points); p > best && n > int(ruled) {
			best, of = p, n
		}
	}
	return uint16(whySign + of)
}
