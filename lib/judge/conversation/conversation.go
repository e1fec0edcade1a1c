// Package conversation finds the conversation that a message continues, for platforms without threads, by
// rules and in one pass. It never changes a platform's own thread.
//
// Each message is compared with the recent conversations of its room. Every rule that holds gives a
// conversation points, and starting a new one scores points too. The highest score wins, and the strongest
// rule is the reason in the record. The result for a message is a function of the Window of stream before
// it and of nothing else.
//
// The task is disentanglement as in Kummerfeld et al., "A Large-Scale Corpus for Conversation
// Disentanglement" (ACL 2019), whose measures are used to evaluate the rules: scripts/bench/judgement.
package conversation

import (
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
)

// Event is one message in the stage.
type Event struct {
	line    []byte
	at      int64 // position in the stream
	message message
	spans   spans
}

// prepare parses a record. It may run concurrently for several records. The error names a field that is
// missing or of another type.
func prepare(rec ndjson.Record, e *Event) error {
	e.line, e.at = rec.Bytes, rec.Seq
	if e.at < 0 {
		e.at = rec.Offset
	}
	e.spans.find(rec.Members)
	r := readers.Get().(*reader)
	defer readers.Put(r)
	return r.read(&rec, &e.message)
}

// Stage returns the stage for one stream; each stream needs its own.
func Stage() stream.Stage[Event] {
	rooms := newRooms(epoch)
	return stream.Stage[Event]{
		Prepare: prepare,
		Emit: func(dst []byte, e *Event) ([]byte, error) {
			root, why := rooms.place(e.at, &e.message)
			return append(e.spans.splice(dst, e.line, root, why), '\n'), nil
		},
		Warm: func(e *Event) { rooms.place(e.at, &e.message) },
	}
}
