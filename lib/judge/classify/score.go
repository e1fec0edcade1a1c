package classify

// Weights for and against a remark of someone who is being helped, in percentage points of being worth
// reading. They began as a logistic regression over labelled rooms, were rounded, and in part adjusted by
// hand on the tuning rooms.
const (
	remarkStart  = 70
	remarkLeast  = 48 // worth reading from here on
	remarkMost   = 95
	remarkFewest = 20

	isBrief    = -14 // one or two words
	isShortish = -6  // three to five words
	isLong     = 12  // more than 2*longTalk words
	shows      = 8   // a link, code or a quote
	troubled   = 6   // mentions a problem
	delighted  = -9  // a smiley, an emoji or an exclamation mark
	agrees     = -10 // half of it acknowledges
	bursts     = 9   // directly continues a question not answered yet
	replies    = 14  // its writer was asked something
	addresses  = 4   // addresses the person who addressed its writer
	assisted   = 6   // its writer has received an answer
	noted      = -8  // its writer acknowledged an answer
	instructs  = -8  // speaks of "you" and not of "me"
	peer       = -6  // its writer helps others too
	goesOn     = -2  // for each recent remark without need, up to five
)

// remark weighs a message by someone who is being helped.
func (t *turn) remark() int {
	v, p := t.v, t.p
	n := remarkStart
	add := func(holds bool, points int) {
		if holds {
			n += points
		}
	}
	add(v.words <= 2, isBrief)
	add(v.words > 2 && v.words <= 5, isShortish)
	add(v.words > 2*longTalk, isLong)
	add(v.code, shows)
	add(v.problem, troubled)
	add(v.emoji || v.loud, delighted)
	add(v.hollow, agrees)
	add(p.partner == nobody && t.r.last == t.me && t.e.time-p.opened <= burstTime, bursts)
	add(p.wanted, replies)
	add(t.speaksTo(p.partner), addresses)
	add(p.helpers.n > 0, assisted)
	add(p.noted != 0, noted)
	add(v.second && !v.first, instructs)
	add(p.breadth > 0, peer)
	if v.problem || v.linked || p.wanted || t.speaksTo(p.partner) {
		p.remarks = 0
	} else {
		p.remarks++
		n += goesOn * int(min(p.remarks, 5))
	}
	return min(max(n, remarkFewest), remarkMost)
}

// followUp places a message by someone who is being helped: it either continues their request or is a mere
// remark.
func (t *turn) followUp() {
	if n := t.remark(); n >= remarkLeast {
		t.need(whyFollows, n)
	} else {
		t.drop(whyRemark, 100-n)
	}
}
