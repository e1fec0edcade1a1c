package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/text"
	"tri/lib/chat/emoji"
)

// head is what stands before a message's text.
type head struct {
	name string
	mark byte  // '>' in the thread of id, '!' a change of id, '~' a reaction to it, 0 none
	id   int64 // offset of the other message's line
	key  string
}

// anon is the sender of a line without a name.
const anon = "anon"

// headForm is "name", "name >ID", "name !ID", "name ~ID", each with " [key]" or
// without. The colon is followed by a space, so that http://x is no name.
var headForm = regexp.MustCompile(`^([^\s:>!\[\]@]{1,64})(?: ([>!~])([0-9]{1,18}))?(?: \[([a-z0-9-]{1,64})\])?:(?: |$)`)

// maxHead is more than any head can have.
const maxHead = 512

// parse splits a line. A line without a head is all text; ok is then false.
func parse(line string) (h head, text string, ok bool) {
	m := headForm.FindStringSubmatch(line[:min(len(line), maxHead)])
	if m == nil || strings.ContainsFunc(m[1], func(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }) {
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
	if h.mark == '~' { // what is no reaction is said by nobody, as any line without a head
		if _, _, ok := reaction(text); !ok || h.key != "" {
			return head{name: anon}, line, false
		}
	}
	return h, text, true
}

// reaction is the emoji of a reaction's text, "✅" or ":white_check_mark:", and
// whether it is taken away, "-✅".
func reaction(text string) (char string, off, ok bool) {
	char, off = strings.CutPrefix(strings.TrimSpace(text), "-")
	if name, found := strings.CutPrefix(char, ":"); found {
		char = emoji.Char(strings.TrimSuffix(name, ":"))
	}
	_, ok = emoji.Name(char)
	return char, off, ok
}

// encode is the line, or lines, of a message of the bot, with its newline.
func encode(bot string, thread int64, key, text string) string {
	return fmt.Sprintf("%s >%d [%s]: %s\n", bot, thread, key, encodeText(text))
}

// encodeText writes newlines as " \", newline, tab. The last line never ends in
// " \", or a line that somebody appends would become part of the message: a
// backslash there gets one more space, which decodeText takes away.
func encodeText(body string) string {
	body = text.Visible(body)
	if strings.HasSuffix(strings.TrimRight(body, " "), `\`) {
		body += " "
	}
	return strings.ReplaceAll(body, "\n", " \\\n\t")
}

// decodeText is the text of a line with a key.
func decodeText(s string) string {
	s = strings.ReplaceAll(s, " \\\n\t", "\n")
	if t := strings.TrimRight(s, " "); len(t) < len(s) && strings.HasSuffix(t, `\`) {
		s = s[:len(s)-1]
	}
	return s
}

// errLong is a line that is skipped.
var errLong = errors.New("line too long")

// chunk holds any message of the bot: maxText runes, each at most four bytes or
// six when escaped.
const chunk = 1 << 20

// walk calls fn with every whole message of r between off and size: its line
// without the newline, with the lines that it goes on in. It returns the offset
// behind the last one. What may go on beyond size is left for later, unless
// final. Of a line that is too long fn gets the beginning, and errLong.
func walk(r io.ReaderAt, off, size int64, final bool, fn func(off int64, line []byte, err error) error) (int64, error) {
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
			return off, err // what is left is no whole line yet
		}
		if err := fn(off, buf[:maxHead], errLong); err != nil {
			return off, err
		}
		off = end
	}
	return off, nil
}

// lineEnd is the offset behind the next newline, off itself when there is none.
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

// whole is the length of the first message of b with its last newline, -1 when
// more of it may come.
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
