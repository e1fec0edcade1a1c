package turn

import (
	"cmp"
	"strconv"
	"sync"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/record/event"
)

// Event is one event in the stage.
type Event struct {
	line    []byte
	drop    []span // fields that an earlier run wrote
	end     int    // of the last member
	at      int64  // position in the stream
	message Message

	senderType, created string
}

type span struct{ from, to int }

// prepare parses a record. It may run concurrently for several records. The error names a field that is
// missing or of another type.
func prepare(rec ndjson.Record, e *Event) error {
	*e = Event{line: rec.Bytes, drop: e.drop[:0], at: rec.Seq}
	if e.at < 0 {
		e.at = rec.Offset
	}
	h := headers.Get().(*event.Header)
	defer headers.Put(h)
	if err := h.Read(&rec, 0); err != nil {
		return err
	}
	e.cut(rec.Members)
	e.message = Message{Platform: string(h.Platform), Chat: string(h.Chat), ID: string(h.ID),
		Conversation: cmp.Or(string(h.Thread), string(h.ID)), Sender: string(h.Sender),
		Inferred: h.Inferred, At: h.Created, Change: h.Deleted || h.Edited}
	e.senderType, e.created = string(h.Type), string(h.CreateTime)
	return nil
}

var headers = sync.Pool{New: func() any { return new(event.Header) }}

// cut finds where the fields go, and the members that an earlier run wrote. There are always other members.
func (e *Event) cut(members []ndjson.Member) {
	kept := false
	for i := range members {
		m := &members[i]
		e.end = m.End
		switch key := string(m.Key); {
		case key != "turn_id" && key != "turn_n" && key != "turn_why":
			kept = true
		case kept: // with the preceding comma
			e.drop = append(e.drop, span{members[i-1].End, m.End})
		case i+1 < len(members): // with the following comma
			e.drop = append(e.drop, span{m.Start, members[i+1].Start})
		}
	}
}

// splice appends the record with p behind its own members.
func (e *Event) splice(dst []byte, p Place) []byte {
	at := 0
	for _, d := range e.drop {
		dst = append(dst, e.line[at:d.from]...)
		at = d.to
	}
	dst = append(append(dst, e.line[at:e.end]...), `,"turn_id":`...)
	dst = append(ndjson.AppendString(dst, p.ID), `,"turn_n":`...)
	dst = append(strconv.AppendInt(dst, int64(p.N), 10), `,"turn_why":"`...)
	dst = append(append(dst, p.Why...), '"')
	return append(append(dst, e.line[e.end:]...), '\n')
}

// Stage returns the stage for one stream; each stream needs its own.
func Stage() stream.Stage[Event] {
	f := NewFold()
	return stream.Stage[Event]{
		Prepare: prepare,
		Emit: func(dst []byte, e *Event) ([]byte, error) {
			return e.splice(dst, f.Add(e.at, e.message)), nil
		},
		Warm: func(e *Event) { f.Add(e.at, e.message) },
	}
}
