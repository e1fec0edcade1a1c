package conversation

// Limits of the comparison.
const (
	maxLive  = 32 // latest conversations of a room that can be continued
	maxParts = 8  // latest people of one conversation
)

// room is the memory of one chat.
type room struct {
	key      uint64
	salt     uint64 // separates the words of this room and period from others in the vocabulary
	epoch    int64  // in which this period began
	at, time int64  // of its last message
	n        int    // messages so far
	live     []*conv
	people   map[uint64]*person
	ids      map[uint64]string // the root of each message
	before   map[uint64]string // the same, of the period before
}

// conv is a conversation that can be continued.
type conv struct {
	number uint32
	root   string
	at     int   // number of its last message in the room
	time   int64 // of its last message
	opener *person
	to     *person // the addressee of its last message; nil: none
	asked  bool    // its last message is a question
	parts  []*person
}

// person is a person in a room.
type person struct {
	said   int   // messages
	in     *conv // the conversation of their last message
	at     int   // number of that message
	told   *conv // the conversation in which they were last addressed
	toldAt int   // number of that message
}

func (rs *rooms) newRoom(key uint64, epoch int64) *room {
	rs.lives++
	return &room{
		key: key, salt: rs.lives * 0x9e3779b97f4a7c15, epoch: epoch,
		people: map[uint64]*person{}, ids: map[uint64]string{},
	}
}

func (r *room) remember(id uint64, root string) { r.ids[id] = root }

// rootOf returns the root of a message's conversation, or "" if it is unknown.
func (r *room) rootOf(id uint64) string {
	if root, ok := r.ids[id]; ok {
		return root
	}
	return r.before[id]
}

// author finds the author of a message, by id, or by name among those who were named and have not spoken.
func (r *room) author(m *message) *person {
	p := r.people[m.author]
	if p == nil {
		if p = r.people[m.alias]; p == nil || p.said > 0 {
			p = &person{}
		}
	}
	r.people[m.author] = p
	if m.alias != 0 && r.people[m.alias] == nil {
		r.people[m.alias] = p
	}
	return p
}

// place assigns a message to the conversation that it continues, or a new one, and returns its root.
func (r *room) place(rs *rooms, m *message) (root, why string) {
	s := r.look(rs, m)
	var c *conv
	if m.quoted != 0 {
		if root := r.rootOf(m.quoted); root != "" {
			c, why = r.conv(rs, root), quoted
		}
	}
	if c == nil {
		c, why = s.best()
	}
	if c == nil {
		c, why = rs.newConv(m.root, s.me), ""
	}
	r.enter(rs, s, c)
	return c.root, why
}

// conv returns the conversation of a root, reviving it if needed.
func (r *room) conv(rs *rooms, root string) *conv {
	for _, c := range r.live {
		if c.root == root {
			return c
		}
	}
	return rs.newConv(root, nil)
}

func (rs *rooms) newConv(root string, opener *person) *conv {
	rs.convs++
	return &conv{number: rs.convs, root: root, opener: opener}
}

// enter makes the current message the last one of c.
func (r *room) enter(rs *rooms, s *situation, c *conv) {
	r.n++
	c.at, c.time, c.asked, c.to = r.n, s.m.time, s.m.question, nil
	for _, p := range s.named {
		p.told, p.toldAt = c, r.n
	}
	if len(s.named) > 0 {
		c.to = s.named[0]
	}
	s.me.in, s.me.at = c, r.n
	s.me.said++
	c.parts = toFront(c.parts, s.me, maxParts)
	r.live = toFront(r.live, c, maxLive)
	for _, w := range s.m.words {
		rs.words.learn(r, w, c.number)
	}
}

// toFront moves x to the front of a list, or inserts it there; a full list loses its last element.
func toFront[T comparable](list []T, x T, most int) []T {
	i := 0
	for i < len(list) && list[i] != x {
		i++
	}
	switch {
	case i == len(list) && i < most:
		list = append(list, x)
	case i == len(list):
		i--
	}
	copy(list[1:i+1], list[:i])
	list[0] = x
	return list
}
