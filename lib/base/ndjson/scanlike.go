package ndjson

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// ScanLike is Scan of a line that may begin with the same members as the last line of
// another scanner, which has passed, as what a stage writes does of what it read:
// those are not looked at again. It says how many they are.
func (s *Scanner) ScanLike(line []byte, other *Scanner) (alike int, err error) {
	at := 0
	for i := range other.Members {
		m := &other.Members[i]
		if len(line) <= m.End || !bytes.Equal(line[at:m.End], other.b[at:m.End]) || !ends(line[m.End]) {
			break
		}
		alike, at = i+1, m.End
	}
	if alike == 0 || len(line) > MaxLine {
		return 0, s.Scan(line)
	}
	s.start(line)
	s.i, s.depth = at, 1
	if !utf8.Valid(line[at:]) {
		return alike, fmt.Errorf("invalid UTF-8 at byte %d", invalidAt(line))
	}
	var set nameSet
	for _, m := range other.Members[:alike] {
		s.add(&set, m.Key)
	}
	s.Members = append(s.Members, other.Members[:alike]...)
	if err := s.more(&set); err != nil {
		return alike, err
	}
	return alike, s.end()
}

// ends reports whether no number goes on with c.
func ends(c byte) bool { return c == ',' || c == '}' || c <= ' ' }
