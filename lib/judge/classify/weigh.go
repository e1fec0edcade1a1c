package classify

import (
	"math"
	"math/bits"
)

// sign is something that speaks for or against a message being worth reading by
// who helps.
type sign uint8

// signs are those that hold of a message.
type signs uint64

func (s *signs) put(n sign, holds bool) {
	var bit signs
	if holds {
		bit = 1
	}
	*s |= bit << n
}

// points is the sum of the weights of the signs, in hundredths of a logit.
func (s signs) points() int {
	sum := atFirst
	for ; s != 0; s &= s - 1 {
		sum += int(weights[bits.TrailingZeros64(uint64(s))].points)
	}
	return sum
}

// worthwhile is the points from which on a message is worth reading: where two of
// five messages of the labelled rooms are, each weighed by what the others taught.
const worthwhile = -119

// weigh has the last word on most of what the rules placed: the rules tell who is
// being helped and by whom, and how that is to be weighed against what else holds
// is fitted on labelled rooms. Platforms' own threads have not been labelled, and
// what is no statement or question is for the rules alone. Threads that tri-thread
// guessed count as none: as signs of their own they added nothing on rooms left out.
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

// tellsOnly reports whether the message tells something of no problem, unasked, in
// a room where nobody has asked yet, or hours after its writer did. Where people
// help strangers that is rare, and may be worth reading; where a team talks it is
// what most is.
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
	case t.ack, v.mention, v.chatter, v.helper, t.e.threaded && !t.e.inferred, t.r.threaded(), t.why == whyAnnounces:
		return true
	case !t.wanted && t.tellsOnly():
		return true
	case t.asks:
		return t.wanted && v.phrase && t.nto == 0 && !v.second // it asks the room
	case v.filler && v.words > 0, v.slip(), v.solved && !v.problem && !t.own:
		return true
	}
	return v.linked && p.asks == 0 && p.said >= 2 && p.links == p.said // it announces, most likely
}

// confident is how likely the side that the points are on is the right one, in percent.
func confident(points int) uint8 {
	n := points - worthwhile
	return sureAt[min(max(n, -n), len(sureAt)-1)]
}

// sureAt is that by distance, in points, up to the largest that is told.
var sureAt = func() (sure [400]uint8) {
	const most = 97
	for n := range sure {
		sure[n] = uint8(min(math.Round(100/(1+math.Exp(-float64(n)/100))), most))
	}
	return sure
}()

// strongest is the reason of the sign that speaks most for a side, 1 or -1.
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
