package event

import (
	"errors"
	"fmt"

	"tri/lib/base/ndjson"
)

// Header holds the fields of an event that the stages of the pipeline read, as parts of its line. It may be
// reused for the next event.
type Header struct {
	Platform, Chat, ID, Content []byte

	CreateTime         []byte
	Created            int64  // the same, Unix seconds
	Sender, Name, Type []byte // sender.id; sender.name and sender.type, nil for none
	Thread, Quotes     []byte // thread_id, reply_to_id; nil for none
	Mentions           [][]byte
	Deleted, Edited    bool
	Inferred           bool // the thread is that of tri-thread, not the platform's

	scan ndjson.Scanner
}

// Read reads the fields of a record that has been checked, with at most a number of mentions. The error
// names a field that is missing or of another type.
func (h *Header) Read(rec *ndjson.Record, mentions int) error {
	*h = Header{Mentions: h.Mentions[:0], scan: h.scan}
	for i := range rec.Members {
		if err := h.field(&rec.Members[i], mentions); err != nil {
			return err
		}
	}
	for _, f := range [...]struct {
		name  string
		value []byte
	}{{"platform", h.Platform}, {"chat_id", h.Chat}, {"message_id", h.ID}, {"content", h.Content},
		{"create_time", h.CreateTime}, {"sender", h.Sender}} {
		if f.value == nil {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	var err error
	h.Created, err = UnixTime(h.CreateTime)
	return err
}

func (h *Header) field(f *ndjson.Member, mentions int) (err error) {
	switch string(f.Key) {
	case "platform":
		h.Platform, err = required(f)
	case "chat_id":
		h.Chat, err = required(f)
	case "message_id":
		h.ID, err = required(f)
	case "content":
		h.Content, err = required(f)
	case "create_time":
		h.CreateTime, err = required(f)
	case "thread_id":
		h.Thread, err = nullable(f)
	case "reply_to_id":
		h.Quotes, err = nullable(f)
	case "thread_inferred":
		h.Inferred = len(f.Value) > len(`""`) && f.Value[0] == '"'
	case "sender":
		err = h.sender(f.Value)
	case "mentions":
		ok := true
		if string(f.Value) != "null" {
			h.Mentions, ok = ndjson.FirstStrings(h.Mentions, f.Value, mentions)
		}
		if !ok {
			err = errors.New("mentions is not a list of strings")
		}
	case "deleted":
		h.Deleted = string(f.Value) == "true"
	case "edited_at", "edit_id":
		h.Edited = h.Edited || len(f.Value) > len(`""`) && f.Value[0] == '"'
	}
	return err
}

func (h *Header) sender(raw []byte) error {
	if raw[0] != '{' {
		return errors.New("sender is not an object")
	}
	h.scan.Again(raw)
	for i := range h.scan.Members {
		f := &h.scan.Members[i]
		switch string(f.Key) {
		case "id":
			id, err := required(f)
			if err != nil {
				return fmt.Errorf("sender.%w", err)
			}
			h.Sender = id
		case "name":
			h.Name, _ = ndjson.Text(nil, f.Value)
		case "type":
			h.Type, _ = ndjson.Text(nil, f.Value)
		}
	}
	if h.Sender == nil {
		return errors.New("sender.id is missing")
	}
	return nil
}

// required returns the text of a member, which is not nil if it is empty.
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

func nullable(f *ndjson.Member) ([]byte, error) {
	if string(f.Value) == "null" {
		return nil, nil
	}
	return required(f)
}
