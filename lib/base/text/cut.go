package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Cut returns s if it has at most n characters, else its first n-1 and an ellipsis.
func Cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n <= 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// leastID is how many characters of an id name it.
const leastID = 3

// Names reports whether word names an id: it is the id, or its beginning of at least three bytes. Whether
// word names several ids is the caller's to find out.
func Names(word, id string) bool {
	return word == id && id != "" || len(word) >= leastID && strings.HasPrefix(id, word)
}

// CutBytes returns the longest prefix of s that has at most n bytes and ends between two
// characters.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Line returns s as one line for a terminal: white space collapsed to single spaces, unsafe
// characters escaped (see Visible), cut to n characters unless n is 0.
func Line(s string, n int) string {
	s = strings.Join(strings.Fields(Visible(s)), " ")
	if n > 0 {
		s = Cut(s, n)
	}
	return s
}

// Few lists the first most words, quoted, and says how many more there are.
func Few(words []string, most int) string {
	quoted := make([]string, min(most, len(words)))
	for i := range quoted {
		quoted[i] = strconv.Quote(words[i])
	}
	list := strings.Join(quoted, ", ")
	if n := len(words) - most; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return list
}

// Timestamp returns t in the form used in records: RFC 3339 in UTC, with nanoseconds.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ParseTime returns the time of a record, zero if s is not RFC 3339.
func ParseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// CompareTimes compares two times of records, as ParseTime reads them.
func CompareTimes(a, b string) int { return ParseTime(a).Compare(ParseTime(b)) }

// SHA256 returns the SHA-256 of b in hex.
func SHA256[T string | []byte](b T) string {
	sum := sha256.Sum256([]byte(b))
	return hex.EncodeToString(sum[:])
}

// Set returns the words of a list, for a table of them.
func Set(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// Sections returns the lines of a word list by section, which "[name]" begins; those before the first are
// of "". Blank lines and comments, which begin with '#', are left out.
func Sections(list string) map[string][]string {
	sections, name := map[string][]string{}, ""
	for line := range strings.Lines(list) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			name = strings.Trim(line, "[]")
			sections[name] = nil
		default:
			sections[name] = append(sections[name], line)
		}
	}
	return sections
}

// Quote quotes an argument for a shell.
func Quote(arg string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("-_./=:,+@", r)
	}
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool { return !plain(r) }) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
