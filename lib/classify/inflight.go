package classify

// Window is how far behind itself, in bytes of stream, a message is still seen
// as part of a thread that a question has opened; and so how much must be read
// again for a restart to give the same answers.
const Window = 4 << 20

// windowTime is the same in seconds of stream time.
const windowTime = 24 * 60 * 60

// threads remembers which threads have been opened lately. What it says of a
// record is a function of the records in the Window before it and of nothing
// else, wherever in the stream it began.
type threads struct {
	opened map[uint64]opening
	queue  []opening // oldest first, from head on
	head   int
	last   int64
}

type opening struct {
	key      uint64
	at, time int64 // position in the stream; Unix seconds
}

// see looks a message's thread up and then, if the message itself opens it,
// remembers that.
func (t *threads) see(key uint64, at, time int64, opens bool) (inflight bool) {
	if t.opened == nil || at < t.last { // another stream begins
		*t = threads{opened: map[uint64]opening{}}
	}
	t.last = at
	t.forget(at - Window)
	if o, ok := t.opened[key]; ok {
		inflight = abs(time-o.time) <= windowTime
	}
	if opens {
		o := opening{key, at, time}
		t.opened[key] = o
		t.queue = append(t.queue, o)
	}
	return inflight
}

// forget lets go of what was opened before the position low.
func (t *threads) forget(low int64) {
	for t.head < len(t.queue) && t.queue[t.head].at < low {
		o := t.queue[t.head]
		if t.opened[o.key] == o {
			delete(t.opened, o.key)
		}
		t.head++
	}
	if t.head > 1024 && t.head > len(t.queue)/2 {
		n := copy(t.queue, t.queue[t.head:])
		t.queue, t.head = t.queue[:n], 0
	}
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
