package conversation

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// babble is n messages of some rooms, with names, quotes, edits, threads and
// silences, as Prepare would leave them.
func babble(rnd *rand.Rand, n int) []*Event {
	var es []*Event
	now := int64(1e9)
	at := int64(0)
	for i := range n {
		if rnd.IntN(40) == 0 {
			now += int64(rnd.IntN(3000))
		}
		now += int64(rnd.IntN(30))
		room := uint64(rnd.IntN(3)) + 1
		if rnd.IntN(50) == 0 {
			room = uint64(rnd.IntN(40))
		}
		e := &Event{at: at, message: message{
			room: room, id: uint64(i + 1), root: fmt.Sprint(i), time: now, author: uint64(rnd.IntN(9)) + 1,
			question: rnd.IntN(4) == 0, length: rnd.IntN(20),
		}}
		at += int64(100 + rnd.IntN(300))
		m := &e.message
		for range rnd.IntN(8) {
			m.words = append(m.words, word{hash: uint64(rnd.IntN(200)), calls: rnd.IntN(9) == 0, says: true})
		}
		switch rnd.IntN(20) {
		case 0:
			m.quoted = uint64(max(0, i-rnd.IntN(60))) + 1
		case 1:
			m.change, m.id = true, uint64(max(0, i-rnd.IntN(60)))+1
		case 2:
			m.thread = fmt.Sprint(max(0, i-rnd.IntN(60)))
		}
		es = append(es, e)
	}
	return es
}

// TestWindow checks that the result for a message is a function of the window before it, wherever reading
// begins.
func TestWindow(t *testing.T) {
	const short = 8 << 10 // some 30 messages: so a cut comes often
	rnd := rand.New(rand.NewPCG(5, 6))
	es := babble(rnd, 6000)
	said := func(rs *rooms, e *Event) string {
		root, why := rs.place(e.at, &e.message)
		return root + ":" + why
	}
	var want []string
	continued := 0
	for rs, i := newRooms(short), 0; i < len(es); i++ {
		want = append(want, said(rs, es[i]))
		if want[i] != ":" {
			continued++
		}
	}
	if continued < len(es)/4 {
		t.Errorf("only %d of %d continue anything: little is tested", continued, len(es))
	}
	for range 300 {
		from := rnd.IntN(len(es) - 400)
		rs := newRooms(short)
		for i := from; i < min(from+700, len(es)); i++ {
			got := said(rs, es[i])
			if es[i].at-es[from].at >= Window/epoch*short && got != want[i] {
				t.Fatalf("read from %d on, message %d has %q; read from the start, %q", from, i, got, want[i])
			}
		}
	}
}

// TestBounded floods a stream with names, rooms and words: memory is bounded by the window, not by the
// stream.
func TestBounded(t *testing.T) {
	rs := newRooms(epoch)
	const step = 200 // bytes a record
	most := 0
	for i := range 300_000 {
		m := message{
			room: uint64(i%5) + 1, id: uint64(i), root: fmt.Sprint(i), time: 1e9 + int64(i),
			author: uint64(i) << 20,
			words:  []word{{hash: uint64(i) * 31}, {hash: uint64(i) * 37}},
			named:  []uint64{uint64(i)<<20 + 1},
		}
		if i%3 == 0 {
			m.room = uint64(i) // a room of its own
		}
		rs.place(int64(i)*step, &m)
		if i%1000 == 0 {
			held := 0
			for el := rs.order.Front(); el != nil; el = el.Next() {
				r := el.Value.(*room)
				held += len(r.people) + len(r.ids) + len(r.before)
			}
			most = max(most, held)
			if rs.order.Len() > maxRooms+1 || len(rs.byKey) != rs.order.Len() {
				t.Fatalf("%d rooms, %d by key", rs.order.Len(), len(rs.byKey))
			}
		}
	}
	// A room remembers at most an epoch and a half, and the ids of as much before:
	// of each record two people and an id.
	if limit := 3 * epoch / step * 3; most > limit {
		t.Errorf("%d people and messages remembered, want at most %d", most, limit)
	}
}
