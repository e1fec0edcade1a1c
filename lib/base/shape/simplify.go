package shape

// simplify makes schemas that ask the same and are looked at faster: what only
// refers to another is that other, and what is asked of one object by two plain
// schemas is asked by one.
func simplify(at **node, seen map[*node]bool) {
	n := *at
	for n.onlyRefers() && !seen[n] {
		seen[n] = true // a reference that leads back to itself is left
		n = n.all[0]
	}
	*at = n
	if seen[n] {
		return
	}
	seen[n] = true
	for i := range n.props {
		if n.props[i].node != nil {
			simplify(&n.props[i].node, seen)
		}
	}
	for _, part := range []**node{&n.items, &n.cond, &n.then} {
		if *part != nil {
			simplify(part, seen)
		}
	}
	for i := range n.any {
		simplify(&n.any[i], seen)
	}
	var left []*node
	for _, sub := range n.all {
		simplify(&sub, seen)
		if !n.absorb(sub) {
			left = append(left, sub)
		}
	}
	n.all = left
	for _, p := range n.required {
		n.need |= 1 << p
	}
	n.when = n.cond.asWhen()
}

func (n *node) asksOfValue() bool {
	return n.enum != nil || n.format != "" || n.pattern != nil || n.minLen > 0 || n.maxLen >= 0 || n.min != nil || n.max != nil ||
		n.items != nil || n.minItems > 0 || n.maxItems >= 0
}

func (n *node) onlyRefers() bool {
	return len(n.all) == 1 && n.types == 0 && !n.asksOfValue() && len(n.props) == 0 && n.any == nil && n.cond == nil
}

// absorb takes what sub asks of an object into n; false where that would not be
// the same.
func (n *node) absorb(sub *node) bool {
	if n.types != object || sub.types&^object != 0 || sub.asksOfValue() || sub.all != nil || sub.any != nil || sub.cond != nil {
		return false
	}
	more := 0
	for _, p := range sub.props {
		i, both := n.byName[p.name]
		if both && p.node != nil && n.props[i].node != nil {
			return false
		}
		if !both {
			more++
		}
	}
	if len(n.props)+more > maxProps {
		return false
	}
	for _, p := range sub.props {
		if i := n.prop(p.name); p.node != nil {
			n.props[i].node = p.node
		}
	}
	for _, r := range sub.required {
		n.required = append(n.required, n.prop(sub.props[r].name))
	}
	return true
}

// asWhen is a condition that is no more than one member's words, else nil.
func (n *node) asWhen() *when {
	if n == nil || len(n.props) != 1 || n.types != 0 || n.required != nil || n.asksOfValue() || n.all != nil || n.any != nil || n.cond != nil {
		return nil
	}
	p := n.props[0].node
	if p == nil || p.enum == nil || p.types != 0 || p.any != nil || p.all != nil || p.cond != nil || len(p.props) > 0 {
		return nil
	}
	for _, word := range p.enum {
		if word[0] != '"' {
			return nil
		}
	}
	return &when{n.props[0].name, p.enum}
}
