package conversation

// vocabulary records how often each word of a room was said, and in which conversation last. It is a table
// of fixed size (1.5 MB) in which a new word replaces an older one. An entry is valid only for its room
// and period, identified by its tag.
type vocabulary [1 << 16]entry

type entry struct {
	tag   uint64
	conv  uint32 // in which it was last said
	count uint16
	plain uint16 // times said other than as a form of address
}

// look returns the entry of a word; the zero entry if there is none.
func (v *vocabulary) look(r *room, word uint64) entry {
	if e := v[slot(r, word)]; e.tag == word^r.salt {
		return e
	}
	return entry{}
}

func (v *vocabulary) learn(r *room, w word, conv uint32) {
	e := &v[slot(r, w.hash)]
	if tag := w.hash ^ r.salt; e.tag != tag {
		*e = entry{tag: tag}
	}
	e.conv = conv
	e.count = min(e.count+1, 1<<15)
	if !w.calls {
		e.plain = min(e.plain+1, 1<<15)
	}
}

func slot(r *room, word uint64) uint64 {
	h := word ^ r.key
	return (h ^ h>>16 ^ h>>32 ^ h>>48) % (1 << 16)
}
