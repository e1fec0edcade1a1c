package conversation

import (
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
	event.Header
	fold []byte
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// read extracts the fields of a record that has been checked.
func (r *reader) read(rec *ndjson.Record, m *message) error {
	*m = message{named: m.named[:0], words: m.words[:0]}
	if err := r.Read(rec, maxNames); err != nil {
		return err
	}
	m.time, m.change, m.root = r.Created, r.Deleted || r.Edited, string(r.ID)
	if !r.Inferred { // otherwise an earlier run inferred it, and it is inferred again
		m.thread = string(r.Thread)
	}
	m.room = hash(hash(basis, r.Platform), r.Chat)
	m.id = hash(m.room, r.ID)
	if len(r.Quotes) > 0 {
		m.quoted = hash(m.room, r.Quotes)
	}
	m.author = r.name(r.Sender)
	if len(r.Name) > 0 {
		m.alias = r.name(r.Name)
	}
	for _, name := range r.Mentions {
		m.named = append(m.named, r.name(name))
	}
	r.readWords(r.Content, m)
	return nil
}
