package conversation

import "container/list"

// epoch is for how many bytes of stream a room is remembered at least: then it
// begins anew, at the first silence, or where there is none after half an epoch
// more. Conversations are cut there; but what is remembered is bounded, and so is
// what a restart has to read again.
const epoch = 2 << 20

// Window is how many bytes of stream before a message can bear on what is said of
// it: a room remembers since the epoch before this one, and the ids of the room
// as it was before that; an epoch more, and a room met in the middle is as if it
// had been followed from its start.
const Window = 4 * epoch

const (
	maxRooms = 1024 // the others are forgotten, the longest silent first
	silence  = 600  // seconds after which a room may begin anew
)

// rooms are the chats of a stream.
type rooms struct {
	epoch int64
	last  int64
	byKey map[uint64]*list.Element // of *room
	order *list.List               // the latest first
	words vocabulary
	convs uint32 // conversations so far
	lives uint64 // of rooms so far; one that begins anew has another
	hand  situation
}

func newRooms(epoch int64) *rooms {
	return &rooms{epoch: epoch, byKey: map[uint64]*list.Element{}, order: list.New()}
}

// place says which conversation a message continues, and why; "" when it begins
// one, or has a thread of its platform's.
func (rs *rooms) place(at int64, m *message) (root, why string) {
	if at < rs.last { // another stream begins
		clear(rs.byKey)
		rs.order.Init()
	}
	rs.last = at
	r := rs.room(at, m)
	switch {
	case m.change:
		if m.thread == "" {
			root, why = r.rootOf(m.id), sameMessage
		}
	case m.thread != "":
		r.remember(m.id, m.thread)
	default:
		root, why = r.place(rs, m)
		r.remember(m.id, root)
	}
	if root == m.root || root == "" {
		return "", ""
	}
	return root, why
}

// room finds the room of a message, as far as it is still remembered.
func (rs *rooms) room(at int64, m *message) *room {
	now := at / rs.epoch
	for back := rs.order.Back(); back != nil && (rs.order.Len() > maxRooms || back.Value.(*room).at/rs.epoch < now-1); back = rs.order.Back() {
		delete(rs.byKey, rs.order.Remove(back).(*room).key)
	}
	el := rs.byKey[m.room]
	if el == nil {
		el = rs.order.PushFront(rs.newRoom(m.room, now))
		rs.byKey[m.room] = el
	}
	rs.order.MoveToFront(el)
	r := el.Value.(*room)
	if r.epoch < now && (m.time-r.time >= silence || r.epoch < now-1 || at%rs.epoch >= rs.epoch/2) {
		old := r.ids
		*r = *rs.newRoom(m.room, now)
		r.before = old
	}
	r.at, r.time = at, m.time
	return r
}
