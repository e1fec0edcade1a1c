package classify

// dictionary finds the number of a word by its last eight letters as one number
// (see spelled): most words of chat have no more than those.
type dictionary struct {
	words []string // by number; "" and "*" are not found
	keys  []uint64 // by number
	slots []uint16 // numbers, each where its key leads to or behind it; 0 for none
}

// keyLetters is how many letters a key holds.
const keyLetters = 8

// newDictionary has room for some words; it grows with more.
func newDictionary(room int) dictionary {
	d := dictionary{words: make([]string, 2, 2+room), keys: make([]uint64, 2, 2+room)}
	d.words[anyWord] = "*"
	d.slots = make([]uint16, 1024)
	for len(d.slots) < 2*room {
		d.slots = make([]uint16, 2*len(d.slots))
	}
	return d
}

// partly is a bit of keys that may not be all of their word: of longer ones it is set,
// and of a few others in scripts that have more than ASCII.
const partly = 1 << 63

// spelled is the key of a word.
func spelled[T string | []byte](word T) (key uint64) {
	for i := max(0, len(word)-keyLetters); i < len(word); i++ {
		key = key<<8 | uint64(word[i])
	}
	if len(word) > keyLetters {
		key |= partly
	}
	return key
}

// slot is where a key's search begins.
func (d *dictionary) slot(key uint64) int {
	const spread = 0x9E3779B97F4A7C15
	return int(key * spread >> 32 & uint64(len(d.slots)-1))
}

// find is the number of a word, which is its key's, or unknown.
func (d *dictionary) find(key uint64, word []byte) uint16 {
	for i := d.slot(key); ; i = (i + 1) & (len(d.slots) - 1) {
		id := d.slots[i]
		if id == unknown || d.keys[id] == key && (key&partly == 0 || string(word) == d.words[id]) {
			return id
		}
	}
}

// add gives a word, which has none, a number.
func (d *dictionary) add(word string, key uint64) uint16 {
	id := uint16(len(d.words))
	d.words, d.keys = append(d.words, word), append(d.keys, key)
	if 2*len(d.words) <= len(d.slots) {
		d.put(id)
		return id
	}
	d.slots = make([]uint16, 2*len(d.slots))
	for id := range d.words[anyWord+1:] {
		d.put(uint16(id) + anyWord + 1)
	}
	return id
}

func (d *dictionary) put(id uint16) {
	i := d.slot(d.keys[id])
	for d.slots[i] != unknown {
		i = (i + 1) & (len(d.slots) - 1)
	}
	d.slots[i] = id
}
