package classify

// What speaks for and against a remark of somebody who is being helped, in
// percent points of being worth reading. They began as a logistic regression over
// labelled rooms; they were rounded, and some set, by hand on the rooms to tune on.
const (
	remarkStart  = 70
	remarkLeast  = 48 // from here on it is worth reading
	remarkMost   = 95
	remarkFewest = 20

	isBrief    = -14 // one word or two
	isShortish = -6  // up to five
	isLong     = 12  // more than longTalk, twice
	shows      = 8   // it has a link, code or a quote
	troubled   = 6   // it speaks of a problem
	delighted  = -9  // it has a smiley or an exclamation mark
	agrees     = -10 // half of it acknowledges
	bursts     = 9   // it goes on at once with a question that nobody answered yet
	replies    = 14  // its writer was asked something
	addresses  = 4   // it speaks to who spoke to its writer
	assisted   = 6   // somebody answered its writer
	noted      = -8  // its writer took note of an answer
	instructs  = -8  // it speaks of "you" and not of "me"
	peer       = -6  // its writer helps others too
	goesOn     = -2  // each remark since, up to five, without any of need
)

// remark weighs what somebody says who is being helped.
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

// followUp takes what somebody says who is being helped: it goes on with that, or
// is a mere remark.
func (t *turn) followUp() {
	if n := t.remark(); n >= remarkLeast {
		t.need(whyFollows, n)
	} else {
		t.drop(whyRemark, 100-n)
	}
}
