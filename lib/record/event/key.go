package event

import (
	"fmt"
	"strings"
	"tri/lib/base/text"
)

// maxKey keeps a key, with a suffix and an extension, within the 255 bytes that file systems allow
// for a name.
const maxKey = 160

// Key encodes (platform, chat, thread) as one name: readable, safe as a file name on any file
// system, and injective, so that two threads never share a file. Lower-case letters, digits and
// '-' encode themselves (some file systems fold case); every other byte is '_' and two hex digits;
// parts are joined by '.'. A key longer than 160 bytes is truncated and ends in '~' and the
// SHA-256 of the whole, which no shorter key can contain.
func Key(platform, chat, thread string) string {
	var b strings.Builder
	for i, part := range []string{platform, chat, thread} {
		if i > 0 {
			b.WriteByte('.')
		}
		encode(&b, part)
	}
	key := b.String()
	if len(key) <= maxKey {
		return key
	}
	digest := text.SHA256(key)
	return key[:maxKey-1-len(digest)] + "~" + digest
}

func encode(b *strings.Builder, part string) {
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(b, "_%02x", c)
		}
	}
}

// FullName returns the unambiguous name of a message, as tri-report why accepts it.
func (e *Event) FullName() string { return e.Platform + ":" + e.ChatID + ":" + e.MessageID }
