package classify

// table is an open-addressing map whose keys are already hashes, such as those of rooms, people and
// threads.
type table[V any] struct {
	keys   []uint64 // 0 is empty; the length is a power of two
	values []V
	used   int
}

// place returns where a key is, or belongs.
func (t *table[V]) place(key uint64) int {
	mask := uint64(len(t.keys) - 1)
	i := key & mask
	for t.keys[i] != key && t.keys[i] != 0 {
		i = (i + 1) & mask
	}
	return int(i)
}

// get returns the value of a key; ok is false if there is none.
func (t *table[V]) get(key uint64) (v V, ok bool) {
	key = max(key, 1)
	if t.used == 0 {
		return v, false
	}
	i := t.place(key)
	return t.values[i], t.keys[i] == key
}

func (t *table[V]) put(key uint64, v V) {
	key = max(key, 1)
	if 2*t.used >= len(t.keys) {
		t.grow()
	}
	i := t.place(key)
	if t.keys[i] == 0 {
		t.keys[i] = key
		t.used++
	}
	t.values[i] = v
}

func (t *table[V]) grow() {
	const least = 64
	old := *t
	n := max(least, 2*len(old.keys))
	*t = table[V]{keys: make([]uint64, n), values: make([]V, n), used: old.used}
	for i, key := range old.keys {
		if key != 0 {
			at := t.place(key)
			t.keys[at], t.values[at] = key, old.values[i]
		}
	}
}

// forget empties the table.
func (t *table[V]) forget() {
	clear(t.keys)
	clear(t.values)
	t.used = 0
}
