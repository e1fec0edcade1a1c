package conversation

import "slices"

// situation is the current message with everything needed to compare it with conversations.
type situation struct {
	r     *room
	m     *message
	me    *person
	named []*person // people whom the message addresses or mentions
	alone bool      // only one conversation was active in the last ten minutes
	hits  []hit     // words that a conversation used last
	rules []rule
}

type hit struct {
	conv   uint32
	points int
}

// look prepares the situation of a message.
func (r *room) look(rs *rooms, m *message) *situation {
	s := &rs.hand
	me := r.author(m)
	*s = situation{r: r, m: m, me: me, named: s.named[:0], hits: s.hits[:0], rules: s.rules[:0]}
	s.alone = len(r.live) == 1 || len(r.live) > 1 && m.time-r.live[1].time > silence
	for _, n := range m.named {
		p := r.people[n]
		if p == nil { // a person who is addressed may be about to speak
			p = &person{}
			r.people[n] = p
		}
		s.name(p)
	}
	for _, w := range m.words {
		e := rs.words.look(r, w.hash)
		// A name that is also a word counts as a word if it is said more often than its owner speaks.
		if p := r.people[w.hash]; p != nil && (w.calls || int(e.plain) <= 1+p.said/4) {
			s.name(p)
		}
		// In a room seen only briefly, common words look rare.
		if (w.says || r.n > 100) && e.count > 0 && e.count < 40 {
			s.hits = append(s.hits, hit{e.conv, rarity(e.count)})
		}
	}
	return s
}

func (s *situation) name(p *person) {
	if p != s.me && !slices.Contains(s.named, p) {
		s.named = append(s.named, p)
	}
}

// rarity returns the weight of a shared word by how often it has been said.
func rarity(count uint16) int {
	switch {
	case count < 4:
		return 4
	case count < 12:
		return 2
	}
	return 1
}

// best returns the conversation with the highest score, or nil if the message starts a new one.
func (s *situation) best() (c *conv, why string) {
	most := points(s.beginning())
	for _, other := range s.r.live {
		if s.m.time-other.time > cold || s.opens(other) {
			continue
		}
		if n := points(s.against(other)); n > most {
			c, most = other, n
		}
	}
	if c != nil {
		why = reason(s.against(c), c.asked && !s.m.question)
	}
	return c, why
}

// opens reports whether a message starts a conversation whatever it shares with c: its author has been
// silent for long, asks or greets, and has no tie to c. No one there has addressed them, and the message
// names no one in c.
func (s *situation) opens(c *conv) bool {
	known := s.me.said > 0 && s.r.n-s.me.at <= 40
	asks := s.m.question || s.m.greeting
	if known || !asks || slices.Contains(c.parts, s.me) || s.me.told == c || c.to == s.me {
		return false
	}
	for _, p := range s.named {
		if p.in == c || p.told == c || slices.Contains(c.parts, p) {
			return false
		}
	}
	return true
}

func points(rules []rule) int {
	n := 0
	for _, r := range rules {
		n += weights[r]
	}
	return n
}

// reason returns the reason of the strongest rule that holds.
func reason(rules []rule, answers bool) string {
	best, why := 0, nextInLine
	for _, r := range rules {
		if said := reasons[r]; said != "" && weights[r] > best {
			best, why = weights[r], said
		}
	}
	if why == nextInLine && answers {
		return answersOpen
	}
	return why
}

// against returns the rules that hold for a conversation.
func (s *situation) against(c *conv) []rule {
	list := append(s.rules[:0], near0+step(s.r.n-c.at, 0, 3, 8, 20, 50),
		soon1+step(int(max(0, s.m.time-c.time)), 60, 180, 600, 1800, 7200))
	switch {
	case s.me.in == c:
		list = append(list, mine)
	case !slices.Contains(c.parts, s.me):
		list = append(list, stranger)
	default:
		list = append(list, mineOnce)
	}
	if c.opener == s.me {
		list = append(list, opener)
	}
	if len(s.named) > 0 {
		list = s.byName(list, c)
	}
	switch {
	case s.me.told != c:
	case s.me.toldAt > s.me.at:
		list = append(list, toldMe)
	default:
		list = append(list, toldMeOnce)
	}
	switch {
	case c.to == nil || c.parts[0] == s.me:
	case c.to == s.me:
		list = append(list, lastToMe)
	default:
		list = append(list, lastToOther)
	}
	if c == s.r.live[0] && s.alone && c.parts[0] != s.me {
		list = append(list, only)
		if c.asked && !s.m.question {
			list = append(list, onlyOpen)
		}
	}
	shared := 0
	for _, h := range s.hits {
		if h.conv == c.number {
			shared += h.points
		}
	}
	// A newcomer who writes at length has their own subject, whatever words it shares.
	if newcomer := s.me.said == 0 && s.m.length >= 12 && len(s.named) == 0; shared > 2 && !newcomer {
		list = append(list, fewWords+step(shared, 4, 10))
	}
	s.rules = list
	return list
}

func (s *situation) byName(list []rule, c *conv) []rule {
	found := namedNot
	for _, p := range s.named {
		if p.in == c {
			found = namedLast
			break
		}
		if p.told == c || slices.Contains(c.parts, p) {
			found = namedOnce
		}
	}
	list = append(list, found)
	if found == namedLast && c.parts[0] == s.named[0] {
		list = append(list, namedSpeaker)
	}
	return list
}

// beginning returns the rules that hold for a new conversation.
func (s *situation) beginning() []rule {
	list := append(s.rules[:0], begins)
	for _, r := range [...]struct {
		rule  rule
		holds bool
	}{
		{firstWord, s.me.said == 0 && s.r.n > 40},
		{longSilent, s.me.said > 0 && s.r.n-s.me.at > 40},
		{beginAsking, s.m.question},
		{beginHello, s.m.greeting},
		{beginNaming, len(s.named) > 0},
		{beginLong, s.m.length >= 12},
	} {
		if r.holds {
			list = append(list, r.rule)
		}
	}
	s.rules = list
	return list
}

// step returns the index of the first limit that n does not exceed, or the number of limits.
func step(n int, limits ...int) rule {
	for i, limit := range limits {
		if n <= limit {
			return rule(i)
		}
	}
	return rule(len(limits))
}
