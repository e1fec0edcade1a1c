package event

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"tri/lib/base/ndjson"
)

// names maps every ASCII spelling that encoding/json accepts for a struct's fields, in lower case,
// to the field's name.
type names map[string]string

func namesOf(t reflect.Type) names {
	all := names{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for f := range t.Fields() {
			if f.Anonymous {
				add(f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			all[strings.ToLower(name)] = name
		}
	}
	add(t)
	return all
}

// The objects of a record: the event, its sender, its attachments.
var (
	fields     = sync.OnceValue(func() names { return namesOf(reflect.TypeFor[Classified]()) })
	ofSender   = sync.OnceValue(func() names { return namesOf(reflect.TypeFor[Sender]()) })
	attachment = sync.OnceValue(func() names { return namesOf(reflect.TypeFor[Attachment]()) })
)

// check refuses a name that encoding/json would match to a field although it is spelled
// differently: in other case, or with one of the two non-ASCII letters that fold to ASCII, the
// Kelvin sign and the long s.
func (n names) check(key []byte) error {
	if n.exact(key) {
		return nil
	}
	folded := strings.ToLower(string(key))
	if !ascii(key) {
		folded = strings.ReplaceAll(folded, "ſ", "s") // the Kelvin sign's lower case is k
	}
	if known, ok := n[folded]; ok {
		return fmt.Errorf("field %q: should be %q", key, known)
	}
	return nil
}

func (n names) exact(key []byte) bool { return n[string(key)] == string(key) && len(key) > 0 }

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Parse reads an event, classified or not, from a line that ndjson.Check has accepted. Names must
// match the schema exactly, in sender and attachments too: encoding/json ignores case and jq does
// not, and two readers that disagree on a message are a security hole. A duplicate name is refused
// at any level.
func Parse(line []byte) (*Classified, error) {
	err := ndjson.Members(line, func(key, value []byte) error {
		if err := fields().check(key); err != nil {
			return err
		}
		switch string(key) {
		case "sender":
			return within("sender", ofSender(), value)
		case "attachments":
			return eachWithin("attachments", attachment(), value)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	e := new(Classified)
	if err := json.Unmarshal(line, e); err != nil {
		return nil, fmt.Errorf("parse event: %w", err)
	}
	for _, f := range []struct{ name, value string }{
		{"platform", e.Platform}, {"chat_id", e.ChatID}, {"message_id", e.MessageID},
	} {
		if f.value == "" {
			return nil, fmt.Errorf("field %q: missing", f.name)
		}
	}
	return e, nil
}

// within checks the names of a nested object. A value that is not an object is left to the code
// that reads it.
func within(where string, known names, value []byte) error {
	if len(value) == 0 || value[0] != '{' {
		return nil
	}
	return ndjson.Members(value, func(key, _ []byte) error {
		if err := known.check(key); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return nil
	})
}

// eachWithin is within for a list of objects.
func eachWithin(where string, known names, value []byte) error {
	var list []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &list) != nil {
		return nil
	}
	for _, v := range list {
		if err := within(where, known, v); err != nil {
			return err
		}
	}
	return nil
}
