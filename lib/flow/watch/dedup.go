package watch

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"tri/lib/record/event"
)

// Hash is the hash of an event's identity: 128 bits, so that no two events of a team collide by accident,
// and forging a collision is infeasible.
type Hash [16]byte

func hashOf(e *event.Event) Hash {
	sum := sha256.Sum256([]byte(e.Identity()))
	return Hash(sum[:16])
}

// set holds hashes in about 16 bytes each: most in a sorted slice, the newest in a map until there are
// many.
type set struct {
	sorted []Hash
	recent map[Hash]struct{}
}

func newSet() *set { return &set{recent: map[Hash]struct{}{}} }

func (s *set) has(h Hash) bool {
	if _, ok := s.recent[h]; ok {
		return true
	}
	_, ok := slices.BinarySearchFunc(s.sorted, h, compare)
	return ok
}

func (s *set) add(h Hash) {
	s.recent[h] = struct{}{}
	if len(s.recent) > 1<<14+len(s.sorted)/8 {
		s.merge()
	}
}

// merge moves the recent hashes into the slice.
func (s *set) merge() {
	s.sorted = slices.Grow(s.sorted, len(s.recent))
	for h := range s.recent {
		s.sorted = append(s.sorted, h)
	}
	slices.SortFunc(s.sorted, compare)
	s.recent = map[Hash]struct{}{}
}

func compare(a, b Hash) int { return bytes.Compare(a[:], b[:]) }

// fresh returns the items that are not in the set, without duplicates.
func (s *set) fresh(items []Item) []Item {
	var out []Item
	batch := map[Hash]struct{}{}
	for _, item := range items {
		if _, twice := batch[item.ID]; twice || s.has(item.ID) {
			continue
		}
		batch[item.ID] = struct{}{}
		out = append(out, item)
	}
	return out
}
