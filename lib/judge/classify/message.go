package classify

import (
	"bytes"
	"hash/maphash"

	"tri/lib/record/event"
)

// maxMentions is how many mentions are read; a message with more addresses no one in particular.
const maxMentions = 1000

// read fills in room, people and thread as 64-bit hashes.
func (f *facts) read(m *event.Header, seed maphash.Seed, buf []byte) []byte {
	buf = append(append(buf[:0], m.Platform...), 0)
	buf = append(append(buf, m.Chat...), 0)
	f.room = maphash.Bytes(seed, buf)
	f.who = pair(f.room, maphash.Bytes(seed, m.Sender))
	for _, id := range m.Mentions[:min(len(m.Mentions), len(f.to))] {
		f.to[f.nto] = pair(f.room, maphash.Bytes(seed, id))
		f.nto++
	}
	if f.nto == 0 {
		f.maybeNames(m.Content, seed)
	}
	root := m.Thread
	f.threaded, f.inferred = len(root) > 0, m.Inferred
	f.edited, f.deleted = m.Edited, m.Deleted
	f.reply = f.threaded && !bytes.Equal(root, m.ID)
	f.root = pair(^f.room, maphash.Bytes(seed, m.ID))
	if f.thread = f.root; f.reply {
		f.thread = pair(^f.room, maphash.Bytes(seed, root))
	}
	return buf
}

// maybeNames takes the words that may name the addressee: the first two, and the last of a short text.
func (f *facts) maybeNames(content []byte, seed maphash.Seed) {
	const shortText = 60 // bytes
	rest := content
	for range 2 {
		rest = bytes.TrimLeft(rest, " \t\n@")
		end := 0
		for end < len(rest) && !blank(rest[end]) {
			end++
		}
		f.maybeName(seed, rest[:end])
		rest = rest[end:]
	}
	if len(content) <= shortText {
		rest = bytes.TrimRight(rest, " \t\n")
		f.maybeName(seed, rest[bytes.LastIndexAny(rest, " \t\n@")+1:])
	}
}

func (f *facts) maybeName(seed maphash.Seed, word []byte) {
	const shortest = 3
	for len(word) > 0 && closes(word[len(word)-1]) {
		word = word[:len(word)-1]
	}
	if len(word) >= shortest && len(word) <= maxWord {
		f.maybe[f.nmaybe] = pair(f.room, maphash.Bytes(seed, word))
		f.nmaybe++
	}
}

func blank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

// closes reports whether a character can end a form of address.
func closes(b byte) bool {
	return b == ',' || b == ':' || b == ';' || b == '-' || b == '.' || b == '!' || b == '?'
}

func pair(a, b uint64) uint64 { return (a ^ b>>29 ^ b<<35) * 0x9E3779B97F4A7C15 }
