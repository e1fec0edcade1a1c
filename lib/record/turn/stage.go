package turn

import (
	"errors"
	"fmt"
	"strconv"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/record/event"
)

// Event is one event in the stage.
type Event struct {
	line       []byte
	drop       []span // fields that an earlier run wrote
	end        int    // of the last member
	at         int64  // position in the stream
	message    Message
	senderType string
	created    string
}

type span struct{ from, to int }

// prepare parses a record. It may run concurrently for several records. The error names a field that is
// missing or of another type.
func prepare(rec ndjson.Record, e *Event) error {
	*e = Event{line: rec.Bytes, drop: e.drop[:0], at: rec.Seq}
	if e.at < 0 {
		e.at = rec.Offset
	}
	for i := range rec.Members {
		if err := e.field(&rec.Members[i]); err != nil {
			return err
		}
	}
	e.cut(rec.Members)
	m := &e.message
	for _, f := range [...]struct{ name, value string }{
		{"platform", m.Platform}, {"chat_id", m.Chat}, {"message_id", m.ID}, {"create_time", e.created},
		{"sender.id", m.Sender},
	} {
		if f.value == "" {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	if m.Conversation == "" {
		m.Conversation = m.ID
	}
	var err error
	m.At, err = event.UnixTime([]byte(e.created))
	return err
}

func (e *Event) field(f *ndjson.Member) (err error) {
	m := &e.message
	switch string(f.Key) {
	case "platform":
		m.Platform, err = text(f)
	case "chat_id":
		m.Chat, err = text(f)
	case "message_id":
		m.ID, err = text(f)
	case "create_time":
		e.created, err = text(f)
	case "thread_id":
		if string(f.Value) != "null" {
			m.Conversation, err = text(f)
		}
	case "thread_inferred":
		m.Inferred = string(f.Value) != "null" // the rule by which tri-thread found thread_id
	case "sender":
		err = e.sender(f.Value)
	case "deleted":
		m.Change = m.Change || string(f.Value) == "true"
	case "edited_at", "edit_id":
		m.Change = m.Change || len(f.Value) > len(`""`) && f.Value[0] == '"'
	}
	return err
}

func text(f *ndjson.Member) (string, error) {
	b, ok := ndjson.Text(nil, f.Value)
	if !ok {
		return "", fmt.Errorf("%s is not a string", f.Key)
	}
	return string(b), nil
}

func (e *Event) sender(raw []byte) error {
	if raw[0] != '{' {
		return errors.New("sender is not an object")
	}
	return ndjson.Members(raw, func(key, value []byte) (err error) {
		switch string(key) {
		case "id":
			e.message.Sender, err = text(&ndjson.Member{Key: []byte("sender.id"), Value: value})
		case "type":
			e.senderType, err = text(&ndjson.Member{Key: []byte("sender.type"), Value: value})
		}
		return err
	})
}

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
