package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/chat/emoji"
)

// head is the part before a message's text.
type head struct {
	name string
	mark byte  // '>' in the thread of id, '!' a change of id, '~' a reaction to it, 0 none
	id   int64 // offset of the other message's line
	key  string
}

// anon is the sender of a line without a name.
const anon = "anon"

// headForm matches "name", "name >ID", "name !ID", "name ~ID", each with or without " [key]". The
// colon must be followed by a space, so that http://x is not a head.
var headForm = lazyregexp.New(`^([^\s:>!\[\]@]{1,64})(?: ([>!~])([0-9]{1,18}))?(?: \[([a-z0-9-]{1,64})\])?:(?: |$)`)

// maxHead is more than the length of any head.
const maxHead = 512

// parse splits a line into head and text. If there is no head, ok is false and the whole line is
// text.
func parse(line string) (h head, text string, ok bool) {
	m := headForm.FindStringSubmatch(line[:min(len(line), maxHead)])
	if m == nil || strings.ContainsFunc(m[1], func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsGraphic(r)
	}) {
		return head{name: anon}, line, false
	}
	h = head{name: m[1], key: m[4]}
	if m[2] != "" {
		h.mark = m[2][0]
		for _, d := range m[3] {
			h.id = h.id*10 + int64(d-'0')
		}
	}
	text = line[len(m[0]):]
	if h.mark == '~' { // an invalid reaction is a message of anon, like any line without a head
		if _, _, ok := reaction(text); !ok || h.key != "" {
			return head{name: anon}, line, false
		}
	}
	return h, text, true
}

// reaction parses a reaction's text, "✅" or ":white_check_mark:"; off is true if it is removed,
// "-✅".
func reaction(text string) (char string, off, ok bool) {
	char, off = strings.CutPrefix(strings.TrimSpace(text), "-")
	if name, found := strings.CutPrefix(char, ":"); found {
		char = emoji.Char(strings.TrimSuffix(name, ":"))
	}
	_, ok = emoji.Name(char)
	return char, off, ok
}

// encode returns the line, or lines, of a message of the bot, with the final newline.
func encode(bot string, thread int64, key, text string) string {
	return fmt.Sprintf("%s >%d [%s]: %s\n", bot, thread, key, encodeText(text))
}

// encodeText writes newlines as " \", newline, tab. The last line never ends in " \", because the
// next line that somebody appends would then become part of the message: a final backslash gets one
// more space, which decodeText removes.
func encodeText(body string) string {
	body = text.Visible(body)
	if strings.HasSuffix(strings.TrimRight(body, " "), `\`) {
		body += " "
	}
	return strings.ReplaceAll(body, "\n", " \\\n\t")
}

// decodeText returns the text of a line with a key.
func decodeText(s string) string {
	s = strings.ReplaceAll(s, " \\\n\t", "\n")
	if t := strings.TrimRight(s, " "); len(t) < len(s) && strings.HasSuffix(t, `\`) {
		s = s[:len(s)-1]
	}
	return s
}

// errLong means that a line is skipped.
var errLong = errors.New("line too long")

// chunk can hold any message of the bot: maxText runes of at most four bytes, six when escaped.
const chunk = 1 << 20

// walk calls fn with every complete message of r between off and size: its line without the
// newline, joined with its continuation lines. It returns the offset after the last one. A message
// that may continue after size is left for later, unless final. For a line that is too long fn gets
// its beginning and errLong.
func walk(r io.ReaderAt, off, size int64, final bool,
	fn func(off int64, line []byte, err error) error) (int64, error) {
	buf := make([]byte, min(chunk, max(size-off, 0)))
	for off < size {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-off)], off)
		if n == 0 {
			return off, err
		}
		used, err := walkChunk(buf[:n], off, final && off+int64(n) == size, fn)
		off += used
		if err != nil {
			return off, err
		}
		if used > 0 {
			continue
		}
		end := off
		if n == chunk {
			end, err = lineEnd(r, off, size)
		}
		if err != nil || end == off {
			return off, err // the rest is not a complete line yet
		}
		if err := fn(off, buf[:maxHead], errLong); err != nil {
			return off, err
		}
		off = end
	}
	return off, nil
}

// lineEnd returns the offset after the next newline, or off if there is none.
func lineEnd(r io.ReaderAt, off, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for at := off; at < size; {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if n == 0 {
			return off, err
		}
		at += int64(n)
	}
	return off, nil
}

func walkChunk(b []byte, off int64, final bool, fn func(int64, []byte, error) error) (used int64, err error) {
	for len(b) > 0 {
		n := whole(b, final)
		if n < 0 {
			return used, nil
		}
		line := bytes.TrimSuffix(b[:n], []byte("\n"))
		if h, _, _ := parse(string(line[:min(len(line), maxHead)])); h.key == "" && len(line) > maxLine {
			err = fn(off+used, line[:maxHead], errLong)
		} else {
			err = fn(off+used, line, nil)
		}
		if err != nil {
			return used, err
		}
		used += int64(n)
		b = b[n:]
	}
	return used, nil
}

// whole returns the length of the first message of b including its last newline, or -1 if more of
// it may follow.
func whole(b []byte, final bool) int {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if final {
			return len(b)
		}
		return -1
	}
	h, _, _ := parse(string(b[:min(end, maxHead)]))
	for h.key != "" && bytes.HasSuffix(b[:end], []byte(` \`)) {
		if end+1 == len(b) && !final {
			return -1 // the next line decides
		}
		if end+1 == len(b) || b[end+1] != '\t' {
			break
		}
		next := bytes.IndexByte(b[end+1:], '\n')
		if next < 0 && final {
			return len(b)
		}
		if next < 0 {
			return -1
		}
		end += 1 + next
	}
	return end + 1
}
