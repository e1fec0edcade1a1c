package classify

// part is a person's part in the conversations of a room, as estimated from the words of their messages:
// points above 0 say that they are being helped, below 0 that they help. Points are hundredths of a logit.
type part struct {
	total     int32 // messages since the fold began
	at        int64 // their last message, Unix seconds
	atSaid    int32 // the room's count at that time
	came      bool  // their first message since they were last silent for long is a question of their own
	points    int32 // of the messages since they were last silent for long, later ones counting more
	opened    int32 // of the first of these
	most      int32 // the highest of these
	ever      int32 // sum over the last messages, however long ago
	asked     bool  // their last message asks
	thanked   bool  // they have given thanks since they last asked
	questions int32 // in hundredths, later ones counting more

	partner      int32 // who last spoke to them, or right behind them
	partnerSaid  int32 // the room's count at that time
	partnerAsked bool
	partnerOfYou bool
	replies      int32
}

// Silence after which a person's part begins anew.
const (
	silentSaid = 60
	silentTime = 3 * 60 * 60
	burstEnd   = 20 * 60 // after which a room begins anew
)

// recent is a message of the room that may matter for the next ones.
type recent struct {
	who, said int32
}

// recents is how many messages are kept.
const recents = 16

// average returns the mean points of all messages of a person, cautious while there are few.
func (p *part) average() int32 { return p.ever / (min(p.total, 60) + 4) }

// besideQuestion reports whether another person was the first to ask since the room was last quiet.
func (t *turn) besideQuestion() bool {
	return t.room.began != nobody && t.room.began != t.me && t.event.time-t.room.lastAt <= burstEnd
}

// silent reports whether the writer has been silent for long.
func (t *turn) silent() bool {
	a := &t.writer.part
	return a.total == 0 || t.room.said-a.atSaid > silentSaid || t.event.time-a.at > silentTime
}

// takePart records the message in the parts of its writer and of those it is to.
func (t *turn) takePart() {
	r, a, at := t.room, &t.writer.part, t.event.time
	points := min(max(t.verdict.role, -400), 400)
	to := int32(nobody)
	if t.nto > 0 {
		to = t.to[0]
	} else if m := r.other(t.me); m != nil && r.said-m.said <= 4 {
		to = m.who
	}
	if to != nobody {
		b := &t.persons[to].part
		b.points -= min(max(t.verdict.role, -150), 150) * 30 / 100
	}
	if t.silent() {
		came := t.asks && (t.nto == 0 || !t.besideQuestion())
		*a = part{total: a.total, ever: a.ever, opened: points, came: came}
	}
	a.total++
	a.at, a.atSaid = at, r.said
	a.points = a.points*109/128 + points/2
	a.most = max(a.most*7/8, points)
	if a.total > 60 {
		a.ever -= a.ever / 60
	}
	a.ever += min(max(points, -200), 200)
	a.asked = t.verdict.question
	a.questions = a.questions * 4 / 5
	if t.verdict.question {
		a.questions += 100
	}
	a.thanked = t.verdict.thanks || a.thanked && !t.verdict.question
	if to != nobody {
		b := &t.persons[to].part
		b.partner, b.partnerSaid = t.me, r.said
		b.partnerAsked, b.partnerOfYou = t.verdict.question, t.verdict.second
		b.replies++
	}
	m := &r.recent[r.nrecent%recents]
	r.nrecent++
	*m = recent{t.me, r.said}
	if at-r.lastAt > burstEnd {
		r.began = nobody
	}
	if t.asks && r.began == nobody {
		r.began = t.me
	}
	r.lastAt = at
}

// other returns the last of the recent messages that is not by who; nil if there is none.
func (r *room) other(who int32) *recent {
	for i := r.nrecent - 1; i >= max(r.nrecent-recents, 0); i-- {
		if m := &r.recent[i%recents]; m.who != who {
			return m
		}
	}
	return nil
}
