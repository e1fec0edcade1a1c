package conversation

// Limits of what is compared.
const (
	maxLive  = 32 // conversations of a room that can be continued, the latest
	maxParts = 8  // people of one conversation, the latest
)

// room is what is remembered of one chat.
type room struct {
	key      uint64
	salt     uint64 // tells this life of the room from others, in the vocabulary
	epoch    int64  // in which it began
	at, time int64  // of its last message
	n        int    // messages so far
	live     []*conv
	people   map[uint64]*person
	ids      map[uint64]string // the roots of messages
	before   map[uint64]string // the same, of the room before it began anew
}

// conv is a conversation that can be continued.
type conv struct {
	number uint32
	root   string
	at     int   // number, in the room, of its last message
	time   int64 // of its last message
	opener *person
	to     *person // to whom its last message spoke; nil: to nobody
	asked  bool    // its last message asks
	parts  []*person
}

// person is somebody in a room.
type person struct {
	said   int   // messages
	in     *conv // in which they spoke last
	at     int   // number of that message
	told   *conv // in which somebody spoke to them last
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

// rootOf is the root of the conversation of a message; "" when it is not known.
func (r *room) rootOf(id uint64) string {
	if root, ok := r.ids[id]; ok {
		return root
	}
	return r.before[id]
}

// author finds who wrote a message, by id or by name.
func (r *room) author(m *message) *person {
	p := r.people[m.author]
	if p == nil && m.alias != 0 {
		p = r.people[m.alias]
	}
	if p == nil {
		p = &person{}
	}
	r.people[m.author] = p
	if m.alias != 0 && r.people[m.alias] == nil {
		r.people[m.alias] = p
	}
	return p
}

// place puts a message into the conversation that it continues, or a new one,
// and returns its root.
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

// conv finds the conversation of a root, or takes it up again.
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

// enter makes the message in hand the last one of c.
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

// toFront moves x to the front of a list, or puts it there; a full one loses its
// last.
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
