package declaration

import (
	"bytes"
	"path"
	"strings"
)

// quoting says how a language writes comments and strings.
type quoting struct {
	line   string   // begins a comment to the end of the line
	block  bool     // has /* */
	quotes []string // longest first
	chars  bool     // ' quotes one character, or is a lifetime
}

// Mask returns the text of a file with its comments and strings replaced by spaces; quotes and line ends
// stay. nil if the language is not known.
func Mask(name string, text []byte) []byte {
	if path.Ext(name) == ".go" {
		return (&quoting{line: "//", block: true, quotes: []string{"`", `"`}, chars: true}).mask(text)
	}
	if g := grammars[strings.ToLower(path.Ext(name))]; g != nil {
		return g.mask(text)
	}
	return nil
}

// mask returns text with its comments and strings replaced by spaces; quotes and line ends stay. The result
// has the length of text.
func (q *quoting) mask(text []byte) []byte {
	out := bytes.Clone(text)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		end := 0
		switch {
		case bytes.HasPrefix(rest, []byte(q.line)):
			end = until(rest, "\n", 0)
			blank(i, i+end)
		case q.block && bytes.HasPrefix(rest, []byte("/*")):
			end = until(rest[2:], "*/", 2) + 2
			blank(i, i+end)
		case q.chars && rest[0] == '\'':
			end = 1
			if n := bytes.IndexByte(rest[1:min(len(rest), 12)], '\''); n >= 0 && (n <= 1 || rest[1] == '\\') {
				end = n + 2
				blank(i+1, i+end-1)
			}
		default:
			for _, quote := range q.quotes {
				if !bytes.HasPrefix(rest, []byte(quote)) {
					continue
				}
				end = len(quote) + closing(rest[len(quote):], quote)
				blank(i+len(quote), i+end-len(quote))
				break
			}
		}
		i += max(end, 1)
	}
	return out
}

// until returns the length of text up to a mark, with extra bytes of the mark; all of it if there is none.
func until(text []byte, mark string, extra int) int {
	if n := bytes.Index(text, []byte(mark)); n >= 0 {
		return n + extra
	}
	return len(text)
}

// closing returns the length of a string with its closing quote. A string in a single quote ends with its
// line, except one in backticks.
func closing(text []byte, quote string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case bytes.HasPrefix(text[i:], []byte(quote)):
			return i + len(quote)
		case text[i] == '\n' && len(quote) == 1 && quote != "`":
			return i
		}
	}
	return len(text)
}
