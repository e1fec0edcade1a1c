package shape

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"tri/lib/ndjson"
)

// Check says how a value departs from the shape, naming the member; nil where it
// does not. line is one that ndjson.Check has accepted.
func (s *Shape) Check(line []byte) error { return s.check(s.root, bytes.TrimSpace(line)) }

// Members is Check for an object whose members are known already.
func (s *Shape) Members(members []ndjson.Member) error { return s.object(s.root, members) }

func (s *Shape) check(n *node, raw []byte) error {
	k := kindOf(raw)
	if n.types != 0 && n.types&k == 0 {
		return fmt.Errorf("is of the wrong type: %.40q", raw)
	}
	if n.enum != nil && !slices.Contains(n.enum, string(raw)) && !slices.Contains(n.enum, canonical(raw, k)) {
		return fmt.Errorf("is none of what it may be: %.40q", raw)
	}
	switch {
	case k == text && (n.format != "" || n.pattern != nil || n.minLen > 0 || n.maxLen >= 0):
		if err := n.text(raw); err != nil {
			return err
		}
	case k&(number|integer) != 0 && (n.min != nil || n.max != nil):
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || n.min != nil && f < *n.min || n.max != nil && f > *n.max {
			return fmt.Errorf("is out of bounds: %.40q", raw)
		}
	case k == list && (n.items != nil || n.minItems > 0 || n.maxItems >= 0):
		if err := s.list(n, raw); err != nil {
			return err
		}
	case k == object && n.looksInside():
		from := len(s.open)
		s.open = members(s.open, raw)
		err := s.object(n, s.open[from:len(s.open):len(s.open)])
		s.open = s.open[:from]
		return err
	}
	return s.combined(n, raw, nil)
}

// looksInside reports whether an object's members matter.
func (n *node) looksInside() bool {
	return len(n.props) > 0 || n.all != nil || n.any != nil || n.cond != nil
}

// object checks members, then what is asked of the whole.
func (s *Shape) object(n *node, ms []ndjson.Member) error {
	var there uint64 // props, by place; a schema of ours knows fewer than 64
	last := &n.first
	for i := range ms {
		if len(n.props) == 0 {
			break
		}
		p := *last // records of one writer have their members in one order
		if n.props[p].name != string(ms[i].Key) {
			var known bool
			if p, known = n.byName[string(ms[i].Key)]; !known {
				continue
			}
			*last = p
		}
		last = &n.props[p].next
		there |= 1 << p
		if sub := n.props[p].node; sub != nil {
			if err := s.check(sub, ms[i].Value); err != nil {
				return fmt.Errorf("%s: %w", n.props[p].name, err)
			}
		}
	}
	for _, p := range n.required {
		if there&(1<<p) == 0 {
			return fmt.Errorf("%s is missing", n.props[p].name)
		}
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
	return s.object(n, ms)
}

var errObject = errors.New("is an object")

// applies reports whether a schema's if holds.
func (s *Shape) applies(n *node, raw []byte, ms []ndjson.Member) bool {
	if n.when == nil || raw != nil {
		return s.holds(n.cond, raw, ms) == nil
	}
	for i := range ms {
		if string(ms[i].Key) == n.when.name {
			return slices.Contains(n.when.words, string(ms[i].Value)) || slices.Contains(n.when.words, canonical(ms[i].Value, kindOf(ms[i].Value)))
		}
	}
	return true
}

func (s *Shape) list(n *node, raw []byte) error {
	count := 0
	for rest := skip(raw[1:]); len(rest) > 0 && rest[0] != ']'; count++ {
		end := valueEnd(rest)
		if n.items != nil {
			if err := s.check(n.items, rest[:end]); err != nil {
				return fmt.Errorf("%d: %w", count, err)
			}
		}
		if rest = skip(rest[end:]); rest[0] == ',' {
			rest = skip(rest[1:])
		}
	}
	if count < n.minItems || n.maxItems >= 0 && count > n.maxItems {
		return fmt.Errorf("has %d items", count)
	}
	return nil
}

func (n *node) text(raw []byte) error {
	s, ok := ndjson.Text(nil, raw)
	if !ok {
		return fmt.Errorf("is no text")
	}
	if n.minLen > 0 || n.maxLen >= 0 {
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
	if !bytes.ContainsAny(raw, ".eE") {
		return integer
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == float64(int64(f)) {
		return integer // 1.0 is one
	}
	return number
}

// canonical is a text without needless escapes.
func canonical(raw []byte, k kind) string {
	if k != text || bytes.IndexByte(raw, '\\') < 0 {
		return ""
	}
	s, _ := ndjson.Text(nil, raw)
	return string(ndjson.AppendString(nil, string(s)))
}

// members cuts a checked object into its members.
func members(dst []ndjson.Member, raw []byte) []ndjson.Member {
	for rest := skip(raw[1:]); len(rest) > 0 && rest[0] == '"'; {
		end := stringEnd(rest)
		key, _ := ndjson.Text(nil, rest[:end])
		rest = skip(skip(rest[end:])[1:]) // behind the colon
		end = valueEnd(rest)
		dst = append(dst, ndjson.Member{Key: key, Value: rest[:end]})
		if rest = skip(rest[end:]); len(rest) > 0 && rest[0] == ',' {
			rest = skip(rest[1:])
		}
	}
	return dst
}

func skip(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// stringEnd is where a text ends that begins b.
func stringEnd(b []byte) int {
	for i := 1; ; {
		q := bytes.IndexByte(b[i:], '"')
		i += q
		back := 0
		for b[i-1-back] == '\\' {
			back++
		}
		if i++; back%2 == 0 {
			return i
		}
	}
}

// valueEnd is where a value ends that begins b.
func valueEnd(b []byte) int {
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '{', '[':
		depth := 0
		for i := 0; ; {
			switch b[i] {
			case '"':
				i += stringEnd(b[i:])
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i, c := range b {
		if c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			return i
		}
	}
	return len(b)
}
