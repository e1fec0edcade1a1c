package classify

import "math/bits"

// match returns the length in words of the longest phrase of one of the kinds that begins at words[0], and
// its last node; 0 if there is none.
func (l *lexicon) match(words []word, kinds kind) (int, *node) {
	if words[0].below&kinds == 0 {
		return 0, nil
	}
	return l.walk(l.first[words[0].id], words[1:], kinds, 1)
}

// walk is match from a node on. Of two phrases of the same length, the one of kind told wins: it is there
// as an exception.
func (l *lexicon) walk(at int32, rest []word, kinds kind, depth int) (n int, end *node) {
	nd := &l.nodes[at]
	if nd.kinds&kinds != 0 {
		n, end = depth, nd
	}
	if nd.follow == 0 || len(rest) == 0 || rest[0].breaks {
		return n, end
	}
	for _, i := range [...]int32{l.behind(nd, rest[0].id), nd.star} {
		if i == 0 {
			continue
		}
		if m, e := l.walk(i, rest[1:], kinds, depth+1); m > n ||
			m == n && m > depth && e.kinds&kinds&told != 0 {
			n, end = m, e
		}
	}
	return n, end
}

// behind returns the node of a word that follows another; 0 for none.
func (l *lexicon) behind(nd *node, id uint16) int32 {
	if id == unknown || nd.follow>>(id&63)&1 == 0 {
		return 0
	}
	if nd.fan != 0 {
		return l.fans[nd.fan-1].find(id)
	}
	for i := nd.child; i != 0; i = l.nodes[i].next {
		if l.nodes[i].word == id {
			return i
		}
	}
	return 0
}

// fan is a hash table of the children of one node, with linear probing; its length is a power of two.
type fan []after

type after struct {
	word uint16 // unknown: empty
	node int32
}

func (f fan) slot(id uint16) int { return int(id*0x9E37>>4) & (len(f) - 1) }

func (f fan) find(id uint16) int32 {
	for i := f.slot(id); ; i = (i + 1) & (len(f) - 1) {
		if f[i].word == id || f[i].word == unknown {
			return f[i].node
		}
	}
}

// fanOut makes lookups fast for nodes with many children.
func (l *lexicon) fanOut() {
	const few = 12
	for i := range l.nodes {
		nd := &l.nodes[i]
		if bits.OnesCount64(nd.follow) < few {
			continue
		}
		l.fans = append(l.fans, l.fanOf(nd))
		nd.fan = uint16(len(l.fans))
	}
}

func (l *lexicon) fanOf(nd *node) fan {
	many := 0
	for to := nd.child; to != 0; to = l.nodes[to].next {
		many++
	}
	f := make(fan, 1<<bits.Len(uint(2*many)))
	for to := nd.child; to != 0; to = l.nodes[to].next {
		i := f.slot(l.nodes[to].word)
		for f[i].word != unknown {
			i = (i + 1) & (len(f) - 1)
		}
		f[i] = after{l.nodes[to].word, to}
	}
	return f
}

// gather returns the kinds of all phrases that end at a node or below it along these words.
func (l *lexicon) gather(at int32, rest []word) kind {
	nd := &l.nodes[at]
	kinds := nd.kinds
	if nd.follow == 0 || len(rest) == 0 || rest[0].breaks {
		return kinds
	}
	if to := l.behind(nd, rest[0].id); to != 0 {
		kinds |= l.gather(to, rest[1:])
	}
	if nd.star != 0 {
		kinds |= l.gather(nd.star, rest[1:])
	}
	return kinds
}
