package conversation

// vocabulary remembers of the words of all rooms how often each was said and in
// which conversation last. It is a table of fixed size (1.5 MB) where a new word
// takes the place of an older one; an entry counts for the life of its room only,
// which its tag says.
type vocabulary [1 << 16]entry

type entry struct {
	tag   uint64
	conv  uint32 // in which it was said last
	count uint16
	plain uint16 // times that it was said other than to call somebody
}

// look returns what is known of a word; the zero entry where nothing is.
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
