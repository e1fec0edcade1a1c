// Package conversation finds the conversation that a message continues, for platforms
// without threads, by rules and in one pass. It never touches a platform's own thread.
//
// Each message is compared with the conversations of its room that are still
// warm. Every rule that holds gives a conversation some points, beginning a new
// one earns points too; the most points win, and the strongest rule is the reason
// in the record. What is said of a message is a function of the Window of stream
// before it and of nothing else.
//
// The task is disentanglement as in Kummerfeld et al., "A Large-Scale Corpus for
// Conversation Disentanglement" (ACL 2019), by whose measures the rules are
// judged: scripts/bench/judgement.
package conversation

import (
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
)

// Event is one message on its way through the stage.
type Event struct {
	line    []byte
	at      int64 // position in the stream
	message message
	spans   spans
}

// Prepare takes a record apart; it may run at the same time as others. What is
// missing or of another type is named in the error.
func Prepare(rec ndjson.Record, e *Event) error {
	e.line, e.at = rec.Bytes, rec.Seq
	if e.at < 0 {
		e.at = rec.Offset
	}
	e.spans.find(rec.Members)
	r := readers.Get().(*reader)
	defer readers.Put(r)
	return r.read(&rec, &e.message)
}

// Stage is the program's work on a stream: a new one for each.
func Stage() stream.Stage[Event] {
	rooms := newRooms(epoch)
	return stream.Stage[Event]{
		Prepare: Prepare,
		Emit: func(dst []byte, e *Event) ([]byte, error) {
			root, why := rooms.place(e.at, &e.message)
			return append(e.spans.splice(dst, e.line, root, why), '\n'), nil
		},
		Warm: func(e *Event) { rooms.place(e.at, &e.message) },
	}
}
