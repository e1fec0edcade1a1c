package ndjson

import (
	"bytes"
	"hash/maphash"
)

// name is a member's name with a mark that distinguishes most names at once: one bit or, if there
// are many names, a hash.
type name struct {
	text []byte
	mark uint64
}

// fewNames is the number of names of an object up to which they are compared one by one. Beyond it
// a table is used, so that a hostile line does not cost the square of its length.
const fewNames = 32

// nameSet holds the names seen so far in one object: s.names from base on. If there are many, a
// hash table finds their indexes.
type nameSet struct {
	base  int
	seen  uint64  // one bit for each mark
	table []int32 // index in s.names, plus 1; its length is a power of two
}

// hashSeed prevents hostile names from being chosen to collide.
var hashSeed = maphash.MakeSeed()

// add reports whether key is new.
func (s *Scanner) add(set *nameSet, key []byte) bool {
	own := s.names[set.base:]
	if set.table != nil {
		return s.addMany(set, key)
	}
	mark := uint64(len(key))
	if len(key) > 0 {
		mark = uint64(len(key))*5 + uint64(key[0])*3 + uint64(key[len(key)-1])
	}
	mark = 1 << (mark & 63)
	if set.seen&mark != 0 {
		for i := range own {
			if own[i].mark == mark && bytes.Equal(own[i].text, key) {
				return false
			}
		}
	}
	set.seen |= mark
	s.names = append(s.names, name{key, mark})
	if len(own)+1 > fewNames {
		s.grow(set, 8*fewNames)
	}
	return true
}

func (s *Scanner) addMany(set *nameSet, key []byte) bool {
	hash := maphash.Bytes(hashSeed, key)
	slot := s.slot(set, key, hash)
	if set.table[slot] != 0 {
		return false
	}
	s.names = append(s.names, name{key, hash})
	set.table[slot] = int32(len(s.names))
	if n := len(set.table); len(s.names)-set.base > n/2 {
		s.grow(set, 2*n)
	}
	return true
}

// slot returns the index of key in the table, or of the free slot for it.
func (s *Scanner) slot(set *nameSet, key []byte, hash uint64) int {
	mask := len(set.table) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		at := set.table[i]
		if at == 0 || s.names[at-1].mark == hash && bytes.Equal(s.names[at-1].text, key) {
			return i
		}
	}
}

// grow makes a table of n slots; marks become hashes.
func (s *Scanner) grow(set *nameSet, n int) {
	first := set.table == nil
	set.table = make([]int32, n)
	for i := set.base; i < len(s.names); i++ {
		nm := &s.names[i]
		if first {
			nm.mark = maphash.Bytes(hashSeed, nm.text)
		}
		set.table[s.slot(set, nm.text, nm.mark)] = int32(i + 1)
	}
}
