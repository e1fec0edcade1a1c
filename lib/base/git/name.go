package git

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// name determines the file's name. All headers that contain it must agree.
func (p *parser) name(c *Change, both string) error {
	switch {
	case c.Kind == Renamed || c.Kind == Copied:
		if c.From == "" || c.Path == "" {
			return fmt.Errorf("%s from or to nothing", c.Kind)
		}
	case p.named:
		c.Path = p.names[1]
		if c.Kind == Deleted {
			c.Path = p.names[0]
		}
		c.From = ""
	default:
		half, err := halves(both)
		if err != nil {
			return err
		}
		c.Path = half
	}
	from := cmp.Or(c.From, c.Path)
	if !says(both, from, c.Path) {
		return fmt.Errorf("names that differ: %.120q and %q", both, c.Path)
	}
	if !p.named {
		if c.Kind == Modified && !c.Binary && c.OldMode == c.NewMode {
			return fmt.Errorf("%q: no change", c.Path)
		}
		return nil
	}
	want := [2]string{from, c.Path}
	switch c.Kind {
	case Added:
		want[0] = ""
	case Deleted:
		want[1] = ""
	}
	if p.names != want {
		return fmt.Errorf("names that differ: %q and %q", p.names, want)
	}
	return nil
}

// side parses a name of a --- or +++ line.
func side(s, letter string) (string, error) {
	name, err := unquote(s)
	if err != nil || name == "/dev/null" {
		return "", err
	}
	name, ok := strings.CutPrefix(name, letter+"/")
	if !ok || name == "" {
		return "", fmt.Errorf("name %.120q, want %s/…", s, letter)
	}
	return name, nil
}

// halves parses the name that occurs twice in a diff --git line.
func halves(both string) (string, error) {
	if n := quoted(both); n > 0 {
		return side(both[:n], "a")
	}
	if n := len(both); n%2 == 1 && both[n/2] == ' ' { // a/NAME b/NAME
		return side(both[:n/2], "a")
	}
	return "", fmt.Errorf("names that differ: %.120q", both)
}

// quoted returns the length of the quoted name at the start of s, 0 if there is none.
func quoted(s string) int {
	for i := 1; i < len(s) && s[0] == '"'; i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// says reports whether a diff --git line names exactly these two.
func says(both, from, to string) bool {
	first := "a/" + from
	if n := quoted(both); n > 0 {
		name, err := unquote(both[:n])
		if err != nil || name != first {
			return false
		}
		first = both[:n]
	}
	rest, ok := strings.CutPrefix(both, first+" ")
	second, err := unquote(rest)
	return ok && err == nil && second == "b/"+to
}

// unquote parses a name as git writes it: verbatim, or quoted as in C.
func unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", fmt.Errorf("quoted name %.120q", s)
	}
	var b strings.Builder
	for body := s[1 : len(s)-1]; body != ""; {
		ch, n, err := unescape(body)
		if err != nil {
			return "", fmt.Errorf("quoted name %.120q", s)
		}
		b.WriteByte(ch)
		body = body[n:]
	}
	return b.String(), nil
}

// unescape returns one byte and the length of its encoding.
func unescape(s string) (byte, int, error) {
	bad := fmt.Errorf("escape %.4q", s)
	switch {
	case s[0] == '"':
		return 0, 0, bad
	case s[0] != '\\':
		return s[0], 1, nil
	case len(s) < 2:
		return 0, 0, bad
	}
	if i := strings.IndexByte(`abtnvfr"\`, s[1]); i >= 0 {
		return "\a\b\t\n\v\f\r\"\\"[i], 2, nil
	}
	if len(s) < 4 {
		return 0, 0, bad
	}
	n, err := strconv.ParseUint(s[1:4], 8, 8)
	if err != nil || n == 0 {
		return 0, 0, bad
	}
	return byte(n), 4, nil
}
