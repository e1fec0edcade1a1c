package classify

// Window is how far before itself, in bytes of stream, a message is judged by what
// was said there; and so how much must be read again for a restart to give the
// same answers.
const Window = 2 * generation

// generation is how much stream, in bytes, a memory gathers before it is asked.
const generation = 2 << 20

// memory is what the filter remembers of the stream: two folds of it, of which
// one is asked while the next gathers. Each begins empty at a multiple of
// generation, is asked in the generation after that, and then dropped. So what is
// said of a record is a function of at most a Window before it, wherever the
// reading began, however far in a fold one thing leads to another.
type memory struct {
	asked, next *fold
	number      int64 // of the generation
	last        int64
}

// see takes a message in and says where it stands in its conversation.
func (m *memory) see(e *Event) stand {
	number := e.at / generation
	switch {
	case m.asked == nil || e.at < m.last || number > m.number+1: // another stream begins, or a gap is behind us
		m.asked, m.next = newFold(), newFold()
	case number == m.number+1:
		m.asked, m.next = m.next, m.asked
		m.next.forget()
	}
	m.number, m.last = number, e.at
	s := m.asked.see(e, true)
	m.next.see(e, false)
	return s
}
