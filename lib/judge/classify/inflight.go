package classify

// Window is how many bytes of stream before a message can affect its classification. A restart must read
// that much again to give the same answers.
const Window = 2 * generation

// generation is how many bytes of stream a memory gathers before it is used.
const generation = 2 << 20

// memory is what the filter remembers of the stream: two folds, one in use while the next gathers. Each
// starts empty at a multiple of generation, is used in the generation after that, and is then dropped. So
// the result for a record is a function of at most a Window before it, wherever reading began, however
// long the chains within a fold.
type memory struct {
	asked, next *fold
	number      int64 // of the current generation
	last        int64
	model       *model
}

// see adds a message and returns its place in its conversation.
func (m *memory) see(e *Event) placement {
	number := e.at / generation
	switch {
	case m.asked == nil || e.at < m.last || number > m.number+1: // another stream, or after a gap
		m.asked, m.next = newFold(), newFold()
	case number == m.number+1:
		m.asked, m.next = m.next, m.asked
		m.next.forget()
	}
	m.number, m.last = number, e.at
	s := m.asked.see(e, m.model)
	m.next.see(e, nil)
	return s
}
