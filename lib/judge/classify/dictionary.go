package classify

// dictionary finds the number of a word by its last eight letters as an integer (see spelled). Most words
// of chat have no more.
type dictionary struct {
	words []string // by number; "" and "*" are never found
	keys  []uint64 // by number
	slots []uint16 // hash table of numbers with linear probing; 0 is empty
}

// keyLetters is the number of letters in a key.
const keyLetters = 8

// newDictionary returns a dictionary with space for room words; it grows when needed.
func newDictionary(room int) dictionary {
	d := dictionary{words: make([]string, 2, 2+room), keys: make([]uint64, 2, 2+room)}
	d.words[anyWord] = "*"
	d.slots = make([]uint16, 1024)
	for len(d.slots) < 2*room {
		d.slots = make([]uint16, 2*len(d.slots))
	}
	return d
}

// partly is a bit set in keys that may not hold their whole word: those of longer words, and a few in
// scripts beyond ASCII.
const partly = 1 << 63

// spelled returns the key of a word.
func spelled[T string | []byte](word T) (key uint64) {
	for i := max(0, len(word)-keyLetters); i < len(word); i++ {
		key = key<<8 | uint64(word[i])
	}
	if len(word) > keyLetters {
		key |= partly
	}
	return key
}

// slot returns where the search for a key begins.
func (d *dictionary) slot(key uint64) int {
	const spread = 0x9E3779B97F4A7C15
	return int(key * spread >> 32 & uint64(len(d.slots)-1))
}

// find returns the number of a word with its key, or unknown.
func (d *dictionary) find(key uint64, word []byte) uint16 {
	for i := d.slot(key); ; i = (i + 1) & (len(d.slots) - 1) {
		id := d.slots[i]
		if id == unknown || d.keys[id] == key && (key&partly == 0 || string(word) == d.words[id]) {
			return id
		}
	}
}

// add assigns a number to a new word.
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
