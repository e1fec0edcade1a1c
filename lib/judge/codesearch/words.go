package codesearch

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

const maxRun = 64 // bytes of a name; longer ones are hashes and the like

// lexer splits text into words. It reuses its buffers.
type lexer struct{ buf, whole []byte }

// runs calls fn for each run of letters, digits and '_' in line.
func runs(line []byte, fn func(run []byte)) {
	start := -1
	for i := 0; i < len(line); {
		c := line[i]
		size := 1
		in := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(line[i:])
			in = r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
		}
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			fn(line[start:i])
			start = -1
		}
		i += size
	}
	if start >= 0 {
		fn(line[start:])
	}
}

// whole precedes the word that stands for a whole name of several parts.
const whole = '='

// words calls fn for each word of a run: for a name of several parts the whole name without underscores
// (prefixed, with whole set), and each part. Words are in lower case and stemmed; in scripts without
// spaces they are pairs of characters.
func (l *lexer) words(run []byte, fn func(word []byte, whole bool)) {
	if len(run) > maxRun && !wide(run) {
		return
	}
	if wide(run) {
		l.pairs(run, fn)
		return
	}
	parts := 0
	l.whole = l.whole[:0]
	for rest := run; len(rest) > 0; {
		part := nextPart(rest)
		rest = rest[len(part):]
		part = bytes.Trim(part, "_")
		if len(part) == 0 {
			continue
		}
		parts++
		l.buf = lower(l.buf[:0], part)
		l.whole = append(l.whole, l.buf...)
		if w := fold(stem(l.buf)); utf8.RuneCount(w) > 1 {
			fn(w, false)
		}
	}
	if parts > 1 {
		name := stem(l.whole)
		fn(append(name[:0:0], append([]byte{whole}, name...)...), true)
	}
}

// nextPart returns the first part of a camelCase or snake_case name: "HTTPServer2" has the parts HTTP,
// Server, 2.
func nextPart(run []byte) []byte {
	class := func(i int) int {
		switch c := run[i]; {
		case c == '_':
			return 0
		case '0' <= c && c <= '9':
			return 1
		case 'A' <= c && c <= 'Z':
			return 2
		}
		return 3 // lower case, and all other scripts
	}
	for i := 1; i < len(run); i++ {
		was, is := class(i-1), class(i)
		switch {
		case was == 2 && is == 2 && i+1 < len(run) && class(i+1) == 3: // the S of HTTPServer
			return run[:i]
		case was == is, was == 2 && is == 3, is == 1 && was >= 2: // sha256 and V2 are not split
		default:
			return run[:i]
		}
	}
	return run
}

func lower(dst, part []byte) []byte {
	for _, c := range part {
		if c >= utf8.RuneSelf {
			return append(dst[:0:0], bytes.ToLower(part)...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// wide reports whether a run contains a script written without spaces.
func wide(run []byte) bool {
	for _, r := range string(run) {
		if spaceless(r) {
			return true
		}
	}
	return false
}

// asking are characters of Chinese and Japanese questions that carry no meaning.
const asking = "的了吗呢吧啊在哪里是什么怎为和与有多少几个请问能不会要我你他这那么のはがをにでとかもですますどこなに"

func spaceless(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
		unicode.Hangul)
}

// pairs calls fn for each pair of adjacent characters of a spaceless run, and for words of other scripts
// in it ("在retry_limit里" contains one).
func (l *lexer) pairs(run []byte, fn func([]byte, bool)) {
	text := []rune(string(run))
	for i := 0; i < len(text); i++ {
		if !spaceless(text[i]) {
			j := i
			for j < len(text) && !spaceless(text[j]) {
				j++
			}
			l.words([]byte(string(text[i:j])), fn)
			i = j - 1
			continue
		}
		if i+1 < len(text) && spaceless(text[i+1]) {
			fn([]byte(string(text[i:i+2])), false)
		}
	}
}

// endings are removed, longest first, if enough of the word remains. The stem need not be a word; it only
// has to be the same for related words.
var endings = []struct {
	end, put string
	left     int // minimum length of what remains before put
}{
	{"ications", "y", 4}, {"ication", "y", 4}, {"izations", "", 4}, {"ization", "", 4},
	{"ations", "", 4}, {"ation", "", 4}, {"ators", "", 4}, {"ator", "", 4}, {"iers", "y", 4}, {"ier", "y", 4},
	{"ates", "", 4}, {"ated", "", 4}, {"ating", "", 4}, {"ate", "", 4},
	{"ings", "", 3}, {"ing", "", 3}, {"ions", "", 4}, {"ion", "", 4}, {"ies", "y", 3}, {"ied", "y", 3},
	{"sses", "ss", 2}, {"ches", "ch", 2}, {"shes", "sh", 2}, {"xes", "x", 2},
	{"ers", "", 4}, {"er", "", 4}, {"ors", "", 4}, {"or", "", 4}, {"ed", "", 3}, {"ment", "", 4},
	{"ments", "", 4},
	{"nya", "", 4}, {"kah", "", 4}, {"ly", "", 4}, {"es", "", 4}, {"s", "", 3},
}

// stem removes the ending of an English word (and two Indonesian endings), in place.
func stem(w []byte) []byte {
	if len(w) < 4 || w[len(w)-1] >= utf8.RuneSelf || w[len(w)-1] <= '9' {
		return w
	}
	for _, e := range endings {
		if bytes.HasSuffix(w, []byte(e.end)) && len(w)-len(e.end) >= e.left {
			if e.end == "s" && (w[len(w)-2] == 's' || w[len(w)-2] == 'u') {
				break // class, status
			}
			w = append(w[:len(w)-len(e.end)], e.put...)
			break
		}
	}
	if n := len(w); n >= 4 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
		w = w[:n-1] // dropped, running
	}
	if n := len(w); n >= 4 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// fold replaces a stem by the one that stands for it.
func fold(w []byte) []byte {
	if short, ok := same[string(w)]; ok {
		return short
	}
	return w
}
