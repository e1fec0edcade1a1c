package classify

import (
	"math/bits"
	"slices"
)

// match returns the length in words of the longest phrase of one of the kinds
// that begins at words[0], and where it ends; 0 when there is none.
func (l *lexicon) match(words []word, kinds kind) (int, *node) {
	id := words[0].id
	if l.below[id]&kinds == 0 {
		return 0, nil
	}
	return l.walk(l.first[id], words[1:], kinds, 1)
}

// walk is match from a node on. Of two phrases of one length the one that tells
// wins: it is there to make an exception.
func (l *lexicon) walk(at int32, rest []word, kinds kind, depth int) (n int, end *node) {
	nd := &l.nodes[at]
	if nd.kinds&kinds != 0 {
		n, end = depth, nd
	}
	if len(rest) == 0 || rest[0].breaks {
		return n, end
	}
	for _, i := range [...]int32{l.behind(nd, rest[0].id), nd.star} {
		if i == 0 {
			continue
		}
		if m, e := l.walk(i, rest[1:], kinds, depth+1); m > n || m == n && m > depth && e.kinds&kinds&told != 0 {
			n, end = m, e
		}
	}
	return n, end
}

// behind is the node of a word behind another; 0 for none.
func (l *lexicon) behind(nd *node, id uint16) int32 {
	if id == unknown || nd.follow>>(id&63)&1 == 0 {
		return 0
	}
	if nd.fan != 0 {
		fan := l.fans[nd.fan-1]
		if i, ok := slices.BinarySearchFunc(fan, id, func(a after, id uint16) int { return int(a.word) - int(id) }); ok {
			return fan[i].node
		}
		return 0
	}
	for i := nd.child; i != 0; i = l.nodes[i].next {
		if l.nodes[i].word == id {
			return i
		}
	}
	return 0
}

// after is a word behind others.
type after struct {
	word uint16
	node int32
}

// fanOut makes the words behind a node quick to find where there are many.
func (l *lexicon) fanOut() {
	const few = 12
	for i := range l.nodes {
		nd := &l.nodes[i]
		if bits.OnesCount64(nd.follow) < few {
			continue
		}
		var fan []after
		for to := nd.child; to != 0; to = l.nodes[to].next {
			fan = append(fan, after{l.nodes[to].word, to})
		}
		slices.SortFunc(fan, func(a, b after) int { return int(a.word) - int(b.word) })
		l.fans = append(l.fans, fan)
		nd.fan = uint16(len(l.fans))
	}
}

// gather returns the kinds of all phrases that begin above a node of the tree and
// go on with these words.
func (l *lexicon) gather(at int32, rest []word) kind {
	nd := &l.nodes[at]
	kinds := nd.kinds
	if len(rest) == 0 || rest[0].breaks {
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
