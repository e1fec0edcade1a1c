package shape

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"tri/lib/base/ndjson"
)

// Check says how a value departs from the shape, naming the member; nil where it
// does not. line is one that ndjson.Check has accepted.
func (s *Shape) Check(line []byte) error { return s.check(s.root, bytes.TrimSpace(line)) }

// Members is Check for an object whose members are known already.
func (s *Shape) Members(members []ndjson.Member) error { return s.object(s.root, members, 0) }

// MembersLike is Members where the first ones are those of a record that the shape has
// accepted from which this one is derived.
func (s *Shape) MembersLike(members []ndjson.Member, alike int) error {
	return s.object(s.root, members, alike)
}

func (s *Shape) check(n *node, raw []byte) error {
	if raw[0] != '{' && raw[0] != '[' {
		return s.alone(n, raw)
	}
	_, err := s.at(n, raw, 0)
	return err
}

// at checks the value that begins at b[i], and says where it ends: what stands inside
// is looked at once. Of a nil node nothing is asked.
func (s *Shape) at(n *node, b []byte, i int) (end int, err error) {
	switch c := b[i]; {
	case n == nil || n.enum != nil:
	case c == '{' && n.may(object) && n.looksInside():
		return s.inside(n, b, i)
	case c == '[' && n.may(list) && (n.items != nil || n.minItems > 0 || n.maxItems >= 0):
		if end, err = s.list(n, b, i); err == nil && n.combines() {
			err = s.combined(n, b[i:end], nil)
		}
		return end, err
	}
	end = valueEnd(b, i)
	if n == nil {
		return end, nil
	}
	return end, s.alone(n, b[i:end])
}

// alone checks a value, but not what stands inside it.
func (s *Shape) alone(n *node, raw []byte) error {
	k := kindOf(raw)
	if !n.may(k) {
		return fmt.Errorf("is of the wrong type: %.40q", raw)
	}
	if n.enum != nil && !oneOf(n.enum, raw) {
		return fmt.Errorf("is none of what it may be: %.40q", raw)
	}
	switch {
	case k == text:
		if n.format == "" && n.pattern == nil && n.minLen == 0 && n.maxLen < 0 {
			break
		}
		if err := n.text(raw); err != nil {
			return err
		}
	case k&(number|integer) != 0 && (n.min != nil || n.max != nil):
		if err := n.bounds(raw); err != nil {
			return err
		}
	}
	if !n.combines() {
		return nil
	}
	return s.combined(n, raw, nil)
}

// combines reports whether other schemas ask something of the same value.
func (n *node) combines() bool { return n.all != nil || n.any != nil || n.cond != nil }

// may reports whether a value may be of a kind.
func (n *node) may(k kind) bool { return n.types == 0 || n.types&k != 0 }

// inside checks the object that begins at b[i], member by member.
func (s *Shape) inside(n *node, b []byte, i int) (end int, err error) {
	var there uint64
	from, last := len(s.open), &n.first
	whole := n.combines()
	for i = skip(b, i+1); b[i] == '"'; {
		end, escaped := ndjson.StringEnd(b, i)
		key := b[i+1 : end-1]
		if escaped {
			key, _ = ndjson.Text(nil, b[i:end])
		}
		at := skip(b, skip(b, end)+1) // behind the colon
		var sub *node
		p := n.place(key, *last)
		if p >= 0 {
			*last = p
			last, sub = &n.props[p].next, n.props[p].node
			there |= 1 << p
		}
		if i, err = s.at(sub, b, at); err != nil {
			s.open = s.open[:from]
			return i, fmt.Errorf("%s: %w", n.props[p].name, err)
		}
		if whole {
			s.open = append(s.open, ndjson.Member{Key: key, Value: b[at:i]})
		}
		if i = skip(b, i); b[i] == ',' {
			i = skip(b, i+1)
		}
	}
	if err = n.misses(there); err == nil && whole {
		err = s.combined(n, nil, s.open[from:len(s.open):len(s.open)])
	}
	s.open = s.open[:from]
	return i + 1, err
}

// looksInside reports whether an object's members matter.
func (n *node) looksInside() bool {
	return len(n.props) > 0 || n.combines()
}

// place is the place of a member among those that a schema knows, -1 for none. Before
// looks at where it was last: records of one writer have their members in one order.
func (n *node) place(key []byte, before int) int {
	if before < len(n.props) && n.props[before].name == string(key) {
		return before
	}
	if p, known := n.byName[string(key)]; known {
		return p
	}
	return -1
}

// misses says which member has to be there and is not.
func (n *node) misses(there uint64) error {
	if n.need&^there == 0 {
		return nil
	}
	for _, p := range n.required {
		if there&(1<<p) == 0 {
			return fmt.Errorf("%s is missing", n.props[p].name)
		}
	}
	return nil
}

// object checks members, of which the first are known to be as another shape wants
// them, then what is asked of the whole.
func (s *Shape) object(n *node, ms []ndjson.Member, alike int) error {
	var there uint64 // props, by place; a schema of ours knows fewer than 64
	last := &n.first
	for i := range ms {
		p := n.place(ms[i].Key, *last)
		if p < 0 {
			continue
		}
		*last = p
		last = &n.props[p].next
		there |= 1 << p
		if i < alike && s.common>>p&1 != 0 {
			continue
		}
		if sub := n.props[p].node; sub != nil {
			if err := s.check(sub, ms[i].Value); err != nil {
				return fmt.Errorf("%s: %w", n.props[p].name, err)
			}
		}
	}
	if err := n.misses(there); err != nil || !n.combines() {
		return err
	}
	return s.combined(n, nil, ms)
}

// combined checks allOf, anyOf and if; the value is raw, or an object's members.
func (s *Shape) combined(n *node, raw []byte, ms []ndjson.Member) error {
	for _, sub := range n.all {
		if err := s.holds(sub, raw, ms); err != nil {
			return err
		}
	}
	if n.cond != nil && s.applies(n, raw, ms) {
		if err := s.holds(n.then, raw, ms); err != nil {
			return err
		}
	}
	var last error
	for i, sub := range n.any {
		if i < len(n.any)-1 && sub.types != 0 && sub.types&kindOfEither(raw) == 0 {
			continue // most often null, and not worth an error
		}
		if last = s.holds(sub, raw, ms); last == nil {
			return nil
		}
	}
	return last
}

// kindOfEither is the kind of a value, or of an object by its members alone.
func kindOfEither(raw []byte) kind {
	if raw == nil {
		return object
	}
	return kindOf(raw)
}

func (s *Shape) holds(n *node, raw []byte, ms []ndjson.Member) error {
	if raw != nil {
		return s.check(n, raw)
	}
	if n.types != 0 && n.types&object == 0 || n.enum != nil {
		return errObject
	}
	return s.object(n, ms, 0)
}

var errObject = errors.New("is an object")

// applies reports whether a schema's if holds.
func (s *Shape) applies(n *node, raw []byte, ms []ndjson.Member) bool {
	if n.when == nil || raw != nil {
		return s.holds(n.cond, raw, ms) == nil
	}
	for i := range ms {
		if string(ms[i].Key) == n.when.name {
			return oneOf(n.when.words, ms[i].Value)
		}
	}
	return true
}

// list checks the list that begins at b[i], and says where it ends.
func (s *Shape) list(n *node, b []byte, i int) (end int, err error) {
	count := 0
	for i = skip(b, i+1); b[i] != ']'; count++ {
		if i, err = s.at(n.items, b, i); err != nil {
			return i, fmt.Errorf("%d: %w", count, err)
		}
		if i = skip(b, i); b[i] == ',' {
			i = skip(b, i+1)
		}
	}
	if count < n.minItems || n.maxItems >= 0 && count > n.maxItems {
		err = fmt.Errorf("has %d items", count)
	}
	return i + 1, err
}

// bounds checks a number. Most are whole and short.
func (n *node) bounds(raw []byte) error {
	const digits = 15 // a float64 keeps them
	var f float64
	if seq := ndjson.Seq(raw); seq >= 0 && len(raw) <= digits {
		f = float64(seq)
	} else {
		var err error
		if f, err = strconv.ParseFloat(string(raw), 64); err != nil {
			return fmt.Errorf("is out of bounds: %.40q", raw)
		}
	}
	if n.min != nil && f < *n.min || n.max != nil && f > *n.max {
		return fmt.Errorf("is out of bounds: %.40q", raw)
	}
	return nil
}

func (n *node) text(raw []byte) error {
	s, ok := ndjson.Text(nil, raw)
	if !ok {
		return fmt.Errorf("is no text")
	}
	const most = utf8.UTFMax // bytes of a character: counting them is slow
	if (n.minLen > 0 || n.maxLen >= 0) && (len(s) < most*n.minLen || n.maxLen >= 0 && len(s) > n.maxLen) {
		if c := utf8.RuneCount(s); c < n.minLen || n.maxLen >= 0 && c > n.maxLen {
			return fmt.Errorf("has %d characters", c)
		}
	}
	switch {
	case n.format == "date-time" && !dateTime(s), n.format == "date" && !date(s):
		return fmt.Errorf("is no %s: %.40q", n.format, s)
	case n.pattern != nil && !n.pattern(s):
		return fmt.Errorf("does not look as it must: %.40q", s)
	}
	return nil
}

// dateTime reports whether s is a time of RFC 3339. Those in UTC to the second,
// which nearly all of ours are, are checked by their digits.
func dateTime(s []byte) bool {
	if len(s) == 20 && s[19] == 'Z' && s[4] == '-' && s[7] == '-' && s[10] == 'T' && s[13] == ':' && s[16] == ':' {
		num := func(i int) int {
			a, b := s[i]-'0', s[i+1]-'0'
			if a > 9 || b > 9 {
				return -1
			}
			return int(a)*10 + int(b)
		}
		month, day := num(5), num(8)
		if num(0) >= 0 && num(2) >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= 28 &&
			num(11) >= 0 && num(11) <= 23 && num(14) >= 0 && num(14) <= 59 && num(17) >= 0 && num(17) <= 59 {
			return true
		}
	}
	_, err := time.Parse(time.RFC3339, string(s))
	return err == nil
}

func date(s []byte) bool {
	_, err := time.Parse(time.DateOnly, string(s))
	return err == nil
}

func kindOf(raw []byte) kind {
	switch raw[0] {
	case '{':
		return object
	case '[':
		return list
	case '"':
		return text
	case 't', 'f':
		return boolean
	case 'n':
		return null
	}
	whole := true
	for _, c := range raw {
		whole = whole && c != '.' && c|0x20 != 'e'
	}
	if whole {
		return integer
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == float64(int64(f)) {
		return integer // 1.0 is one
	}
	return number
}

// oneOf reports whether raw is one of some values as we write them, however it
// escapes what it says.
func oneOf(values []string, raw []byte) bool {
	for _, v := range values {
		if v == string(raw) {
			return true
		}
	}
	if raw[0] != '"' || bytes.IndexByte(raw, '\\') < 0 {
		return false
	}
	s, _ := ndjson.Text(nil, raw)
	return slices.Contains(values, string(ndjson.AppendString(nil, string(s))))
}
