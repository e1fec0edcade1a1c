package conversation

import "container/list"

// epoch is how many bytes of stream a room is remembered at least. Then its memory is reset at the next
// silence, or without one after half an epoch more. Conversations are cut there, but memory is bounded,
// and so is how much a restart must read again.
const epoch = 2 << 20

// Window is how many bytes of stream before a message can affect its result. A room remembers the previous
// epoch and this one, and the ids of the period before. With one epoch more, a room first seen in the
// middle behaves as if it had been followed from its start.
const Window = 4 * epoch

const (
	maxRooms = 1024 // the rooms silent longest are forgotten
	silence  = 600  // seconds after which a room may be reset
)

// rooms are the chats of a stream.
type rooms struct {
	epoch int64
	last  int64
	byKey map[uint64]*list.Element // of *room
	order *list.List               // latest first
	words vocabulary
	convs uint32 // conversations so far
	lives uint64 // periods of rooms so far; a reset begins a new one
	hand  situation
}

func newRooms(epoch int64) *rooms {
	return &rooms{epoch: epoch, byKey: map[uint64]*list.Element{}, order: list.New()}
}

// place returns the conversation that a message continues, and the reason; "" if it starts one or has a
// thread of its platform.
func (rs *rooms) place(at int64, m *message) (root, why string) {
	if at < rs.last { // another stream
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

// room returns the room of a message, as far as it is still remembered.
func (rs *rooms) room(at int64, m *message) *room {
	now := at / rs.epoch
	for back := rs.order.Back(); back != nil && (rs.order.Len() > maxRooms ||
		back.Value.(*room).at/rs.epoch < now-1); back = rs.order.Back() {
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
