package classify

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"

	"tri/lib/base/ndjson"
	"tri/lib/record/event"
)

// message holds the fields that the rules need, as parts of the event's line.
type message struct {
	platform, chat, id, thread []byte
	content                    []byte
	created                    int64 // Unix seconds
	sender                     []byte
	bot                        bool // sender.type
	deleted                    bool
	inferred                   bool // the thread was inferred by tri-thread
	mentions                   [][]byte
	scan                       ndjson.Scanner
}

// maxMentions is how many mentions are read; a message with more addresses no one in particular.
const maxMentions = 1000

// read extracts the fields of a record that has been checked. The error names a field that is missing or
// of another type.
func (m *message) read(rec *ndjson.Record) error {
	*m = message{mentions: m.mentions[:0], scan: m.scan}
	var created []byte
	for i := range rec.Members {
		f := &rec.Members[i]
		var err error
		switch string(f.Key) {
		case "platform":
			m.platform, err = text1(f)
		case "chat_id":
			m.chat, err = text1(f)
		case "message_id":
			m.id, err = text1(f)
		case "content":
			m.content, err = text1(f)
		case "create_time":
			created, err = text1(f)
		case "thread_id":
			if string(f.Value) != "null" {
				m.thread, err = text1(f)
			}
		case "thread_inferred":
			m.inferred = string(f.Value) != `""`
		case "sender":
			err = m.readSender(f.Value)
		case "mentions":
			err = m.readMentions(f.Value)
		case "deleted":
			m.deleted = string(f.Value) == "true"
		}
		if err != nil {
			return err
		}
	}
	return m.complete(created)
}

func (m *message) complete(created []byte) error {
	for _, f := range [...]struct {
		name  string
		value []byte
	}{{"platform", m.platform}, {"chat_id", m.chat}, {"message_id", m.id}, {"content", m.content},
		{"create_time", created}, {"sender", m.sender}} {
		if f.value == nil {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	var err error
	m.created, err = event.UnixTime(created)
	return err
}

func text1(f *ndjson.Member) ([]byte, error) {
	text, ok := ndjson.Text(nil, f.Value)
	if !ok {
		return nil, fmt.Errorf("%s is not a string", f.Key)
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}

func (m *message) readSender(raw []byte) error {
	if raw[0] != '{' {
		return errors.New("sender is not an object")
	}
	m.scan.Again(raw)
	for i := range m.scan.Members {
		f := &m.scan.Members[i]
		switch string(f.Key) {
		case "id":
			id, err := text1(f)
			if err != nil {
				return fmt.Errorf("sender.%w", err)
			}
			m.sender = id
		case "type":
			m.bot = string(f.Value) == `"bot"`
		}
	}
	if m.sender == nil {
		return errors.New("sender.id is missing")
	}
	return nil
}

func (m *message) readMentions(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var ok bool
	if m.mentions, ok = ndjson.FirstStrings(m.mentions, raw, maxMentions); !ok {
		return errors.New("mentions is not a list of strings")
	}
	return nil
}

// facts fills in room, people and thread as 64-bit hashes.
func (m *message) facts(seed maphash.Seed, buf []byte, f *facts) []byte {
	buf = append(append(buf[:0], m.platform...), 0)
	buf = append(append(buf, m.chat...), 0)
	f.room = maphash.Bytes(seed, buf)
	f.who = pair(f.room, maphash.Bytes(seed, m.sender))
	for _, id := range m.mentions[:min(len(m.mentions), len(f.to))] {
		f.to[f.nto] = pair(f.room, maphash.Bytes(seed, id))
		f.nto++
	}
	if f.nto == 0 {
		m.maybeNames(seed, f)
	}
	root := m.thread
	f.threaded, f.inferred = len(root) > 0, m.inferred
	f.reply = f.threaded && !bytes.Equal(root, m.id)
	f.root = pair(^f.room, maphash.Bytes(seed, m.id))
	if f.thread = f.root; f.reply {
		f.thread = pair(^f.room, maphash.Bytes(seed, root))
	}
	return buf
}

// maybeNames takes the words that may name the addressee: the first two, and the last of a short text.
func (m *message) maybeNames(seed maphash.Seed, f *facts) {
	const shortText = 60 // bytes
	rest := m.content
	for range 2 {
		rest = bytes.TrimLeft(rest, " \t\n@")
		end := 0
		for end < len(rest) && !blank(rest[end]) {
			end++
		}
		m.maybeName(seed, f, rest[:end])
		rest = rest[end:]
	}
	if len(m.content) <= shortText {
		rest = bytes.TrimRight(rest, " \t\n")
		m.maybeName(seed, f, rest[bytes.LastIndexAny(rest, " \t\n@")+1:])
	}
}

func (m *message) maybeName(seed maphash.Seed, f *facts, word []byte) {
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
