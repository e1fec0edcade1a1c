package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Check returns why line is not a record, nil if it is one: one JSON object (RFC 8259) in valid
// UTF-8, without duplicate names in any object, of at most MaxLine bytes, MaxDepth levels and
// MaxNames names in one object. Nothing is repaired, since two readers that repair differently see
// two records. Numbers may have any size.
func Check(line []byte) error {
	var s Scanner
	return s.Scan(line)
}

// Members checks line and then calls fn with each top-level member: its name, unescaped, and its
// raw value. It stops at fn's first error and returns it.
func Members(line []byte, fn func(key, value []byte) error) error {
	var s Scanner
	if err := s.Scan(line); err != nil {
		return err
	}
	for _, m := range s.Members {
		if err := fn(m.Key, m.Value); err != nil {
			return err
		}
	}
	return nil
}

// Scanner is Check with memory that is reused from line to line.
type Scanner struct {
	// Members are the top-level members of the last line, in order. They are valid until the next
	// Scan and as long as the line.
	Members []Member

	b     []byte
	i     int
	depth int
	names []name // of the open objects, the innermost last
	known bool   // the line was checked before: names are unique
}

// manyMembers is the number of members above which a record's memory is released.
const manyMembers = 1024

var bom = []byte("\xef\xbb\xbf")

// Scan is Check; it also sets Members.
func (s *Scanner) Scan(line []byte) error {
	s.start(line)
	switch {
	case len(line) > MaxLine:
		return errLong
	case bytes.HasPrefix(line, bom):
		return errors.New("begins with a byte order mark")
	case !utf8.Valid(line):
		return fmt.Errorf("invalid UTF-8 at byte %d", invalidAt(line))
	}
	s.space()
	if s.i == len(s.b) || s.b[s.i] != '{' {
		return s.notObject()
	}
	if err := s.object(); err != nil {
		return err
	}
	return s.end()
}

func (s *Scanner) end() error {
	s.space()
	if s.i < len(s.b) {
		return s.unexpected("after the record")
	}
	return nil
}

// Again finds the members of an object in a line that was checked before.
func (s *Scanner) Again(object []byte) {
	s.start(object)
	s.known = true
	_ = s.object() // checked before
	s.known = false
}

func (s *Scanner) start(b []byte) {
	if cap(s.Members) > manyMembers { // do not keep the memory of one hostile line for ever
		s.Members, s.names = nil, nil
	}
	s.Members, s.names = s.Members[:0], s.names[:0]
	s.b, s.i, s.depth = b, 0, 0
}

var errLong = fmt.Errorf("longer than %d bytes", MaxLine)

func invalidAt(b []byte) int {
	for i := 0; ; {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}

// notObject distinguishes a value that is not an object from text that is not JSON.
func (s *Scanner) notObject() error {
	if s.i == len(s.b) {
		return s.unexpected("at the start")
	}
	if err := s.value(); err != nil {
		return err
	}
	if s.space(); s.i < len(s.b) {
		return s.unexpected("after the value")
	}
	return errors.New("not a JSON object")
}

func (s *Scanner) unexpected(where string) error {
	if s.i >= len(s.b) {
		return fmt.Errorf("invalid JSON: ends too early %s", where)
	}
	r, _ := utf8.DecodeRune(s.b[s.i:])
	return fmt.Errorf("invalid JSON at byte %d: unexpected %q %s", s.i, r, where)
}

func (s *Scanner) space() {
	for s.i < len(s.b) && s.b[s.i] <= ' ' {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

func (s *Scanner) value() error {
	if s.i == len(s.b) {
		return s.unexpected("where a value belongs")
	}
	switch c := s.b[s.i]; c {
	case '"':
		if end := simple(s.b, s.i); end > 0 {
			s.i = end
			return nil
		}
		_, err := s.str()
		return err
	case '{':
		return s.object()
	case '[':
		return s.array()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return s.number()
		}
		return s.unexpected("where a value belongs")
	}
}

func (s *Scanner) enter() error {
	s.i++
	if s.depth++; s.depth > MaxDepth {
		return fmt.Errorf("deeper than %d levels", MaxDepth)
	}
	s.space()
	return nil
}

func (s *Scanner) leave() error {
	s.i++
	s.depth--
	return nil
}

func (s *Scanner) object() error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.i < len(s.b) && s.b[s.i] == '}' {
		return s.leave()
	}
	set := nameSet{base: len(s.names)}
	if err := s.member(&set); err != nil {
		return err
	}
	return s.more(&set)
}

// more reads the rest of an object after one of its members.
func (s *Scanner) more(set *nameSet) error {
	for {
		s.space()
		if s.i == len(s.b) {
			return s.unexpected("inside an object")
		}
		switch s.b[s.i] {
		case '}':
			s.names = s.names[:set.base]
			return s.leave()
		case ',':
			s.i++
			s.space()
		default:
			return s.unexpected("inside an object")
		}
		if err := s.member(set); err != nil {
			return err
		}
	}
}

func (s *Scanner) member(set *nameSet) error {
	if s.i == len(s.b) || s.b[s.i] != '"' {
		return s.unexpected("where a name belongs")
	}
	start := s.i
	var key []byte
	if end := simple(s.b, start); end > 0 {
		key, s.i = s.b[start+1:end-1], end
	} else {
		escaped, err := s.str()
		if err != nil {
			return err
		}
		key = s.b[start+1 : s.i-1]
		if escaped {
			key = unescape(nil, key)
		}
	}
	if len(s.names)-set.base == MaxNames {
		return fmt.Errorf("more than %d names in one object", MaxNames)
	}
	if !s.known && !s.add(set, key) {
		return fmt.Errorf("duplicate name %q at byte %d", short(key), start)
	}
	s.space()
	if s.i == len(s.b) || s.b[s.i] != ':' {
		return s.unexpected("after a name")
	}
	s.i++
	s.space()
	from := s.i
	if err := s.value(); err != nil {
		return err
	}
	if s.depth == 1 {
		s.Members = append(s.Members, Member{Key: key, Value: s.b[from:s.i], Start: start, End: s.i})
	}
	return nil
}

func short(b []byte) []byte { return b[:min(len(b), 64)] }

func (s *Scanner) array() error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.i < len(s.b) && s.b[s.i] == ']' {
		return s.leave()
	}
	for {
		if err := s.value(); err != nil {
			return err
		}
		s.space()
		if s.i == len(s.b) {
			return s.unexpected("inside an array")
		}
		switch s.b[s.i] {
		case ']':
			return s.leave()
		case ',':
			s.i++
			s.space()
		default:
			return s.unexpected("inside an array")
		}
	}
}

func (s *Scanner) literal(word string) error {
	if !bytes.HasPrefix(s.b[s.i:], []byte(word)) {
		return s.unexpected("where a value belongs")
	}
	s.i += len(word)
	return nil
}

func (s *Scanner) number() error {
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if !s.digits() {
		return s.unexpected("in a number")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return s.unexpected("in a number")
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return s.unexpected("in a number")
		}
	}
	return nil
}

func (s *Scanner) digits() bool {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > from
}
