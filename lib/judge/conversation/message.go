package conversation

import (
	"errors"
	"fmt"
	"sync"

	"tri/lib/base/ndjson"
	"tri/lib/record/event"
)

// maxNames is the maximum number of mentions used of one message.
const maxNames = 8

// message holds the fields that the rules need. Names and ids are hashes.
type message struct {
	room, id, quoted uint64 // quoted is 0 if nothing is quoted
	root             string // message_id
	thread           string // the platform's own; "" if none
	change           bool   // an edit or a deletion
	time             int64  // Unix seconds
	author, alias    uint64 // by id; alias by name, or 0
	named            []uint64
	words            []word
	length           int // in words
	question         bool
	greeting         bool
}

// reader parses events; it reuses its buffers.
type reader struct {
	scan     ndjson.Scanner
	mentions [][]byte
	fold     []byte
	raw      struct{ platform, chat, id, content, created, thread, quoted, inferred []byte }
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// read extracts the fields of a record that has been checked.
func (r *reader) read(rec *ndjson.Record, m *message) error {
	*m = message{named: m.named[:0], words: m.words[:0]}
	r.mentions = r.mentions[:0]
	raw := &r.raw
	raw.platform, raw.chat, raw.id, raw.content, raw.created = nil, nil, nil, nil, nil
	raw.thread, raw.quoted, raw.inferred = nil, nil, nil
	for i := range rec.Members {
		if err := r.field(&rec.Members[i], m); err != nil {
			return err
		}
	}
	for _, f := range [...]struct {
		name  string
		value []byte
	}{{"platform", raw.platform}, {"chat_id", raw.chat}, {"message_id", raw.id}, {"content", raw.content},
		{"create_time", raw.created}} {
		if f.value == nil {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	if m.author == 0 {
		return errors.New("sender is missing")
	}
	var err error
	if m.time, err = event.UnixTime(raw.created); err != nil {
		return err
	}
	m.root = string(raw.id)
	if raw.inferred == nil { // otherwise an earlier run inferred it, and it is inferred again
		m.thread = string(raw.thread)
	}
	m.room = hash(hash(basis, raw.platform), raw.chat)
	m.id = hash(m.room, raw.id)
	if len(raw.quoted) > 0 {
		m.quoted = hash(m.room, raw.quoted)
	}
	for _, name := range r.mentions {
		m.named = append(m.named, r.name(name))
	}
	r.readWords(raw.content, m)
	return nil
}

func (r *reader) field(f *ndjson.Member, m *message) (err error) {
	switch string(f.Key) {
	case "platform":
		r.raw.platform, err = required(f)
	case "chat_id":
		r.raw.chat, err = required(f)
	case "message_id":
		r.raw.id, err = required(f)
	case "content":
		r.raw.content, err = required(f)
	case "create_time":
		r.raw.created, err = required(f)
	case "thread_id":
		r.raw.thread, err = optional(f)
	case "thread_inferred":
		r.raw.inferred, err = optional(f)
	case "reply_to_id":
		r.raw.quoted, err = optional(f)
	case "sender":
		err = r.sender(f.Value, m)
	case "mentions":
		var ok bool
		if r.mentions, ok = ndjson.FirstStrings(r.mentions, f.Value, maxNames); !ok &&
			string(f.Value) != "null" {
			err = errors.New("mentions is not a list of strings")
		}
	case "deleted":
		m.change = m.change || string(f.Value) == "true"
	case "edited_at", "edit_id":
		m.change = m.change || len(f.Value) > len(`""`) && f.Value[0] == '"'
	}
	return err
}

func required(f *ndjson.Member) ([]byte, error) {
	text, ok := ndjson.Text(nil, f.Value)
	if !ok {
		return nil, fmt.Errorf("%s is not a string", f.Key)
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}

func optional(f *ndjson.Member) ([]byte, error) {
	if string(f.Value) == "null" {
		return nil, nil
	}
	return required(f)
}

func (r *reader) sender(raw []byte, m *message) error {
	if raw[0] != '{' {
		return errors.New("sender is not an object")
	}
	if err := r.scan.Scan(raw); err != nil {
		return err // impossible: it was part of a checked line
	}
	for i := range r.scan.Members {
		f := &r.scan.Members[i]
		switch string(f.Key) {
		case "id":
			id, err := required(f)
			if err != nil {
				return fmt.Errorf("sender.%w", err)
			}
			m.author = r.name(id)
		case "name":
			if name, ok := ndjson.Text(nil, f.Value); ok && len(name) > 0 {
				m.alias = r.name(name)
			}
		}
	}
	if m.author == 0 {
		return errors.New("sender.id is missing")
	}
	return nil
}
