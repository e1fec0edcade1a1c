package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// Filler says all that is wrong with a record that a filter refused, and completes records that a
// person wrote by hand. Its methods may be called from any goroutine.
type Filler struct {
	// Fill completes records. Set it where the output is not a log: ids that are filled in are
	// unique in one input only.
	Fill bool
	Now  func() time.Time                 // the create_time of a record without one
	Say  func(format string, args ...any) // reports the first completion; may be nil

	once sync.Once
}

// needed are the fields without which no filter can work, and other names that people give them.
var needed = []struct {
	name   string
	others []string
}{
	{"platform", nil},
	{"chat_id", []string{"chat", "channel_id", "channel", "room"}},
	{"message_id", []string{"id", "ts"}},
	{"create_time", []string{"time", "timestamp", "created_at", "date"}},
	{"content", []string{"text", "body", "message", "msg", "question"}},
	{"sender", []string{"user", "author", "from", "username"}},
}

// optional are the fields that a completed record gets too, so that it has the form of an event.
var optional = []lack{
	{name: "chat_name", value: `""`}, {name: "msg_type", value: `"text"`},
	{name: "thread_id", value: "null"}, {name: "mentions", value: "[]"},
}

// lack is a missing field.
type lack struct {
	name  string
	other string // the field of the record that is probably meant; "" if none
	value string // JSON to fill in; "" if there is none
}

// Complete returns the completed line of a record that a filter refused for cause. The error names
// every fault of the record; it is cause if none is found. A record with a seq is part of a log
// and is not completed.
func (f *Filler) Complete(rec ndjson.Record, cause error) ([]byte, error) {
	lacks, faults := f.inspect(&rec)
	need := lacks
	if f.Fill && rec.Seq < 0 {
		need = slices.DeleteFunc(slices.Clone(lacks), func(l lack) bool { return l.value != "" })
	}
	switch {
	case len(need) > 0:
		faults = append([]string{sentence(need)}, faults...)
	case len(faults) == 0 && len(lacks) == 0:
		return nil, cause
	case len(faults) == 0:
		f.once.Do(func() { f.report(lacks) })
		return splice(&rec, lacks), nil
	}
	return nil, errors.New(strings.Join(faults, "; "))
}

// inspect lists the missing fields and describes those of the wrong type.
func (f *Filler) inspect(rec *ndjson.Record) (lacks []lack, faults []string) {
	for _, field := range needed {
		if value := rec.Get(field.name); value != nil {
			if fault := faultOf(field.name, value); fault != "" {
				faults = append(faults, fault)
			}
			continue
		}
		l := lack{name: field.name, other: meant(rec, field.name, field.others)}
		l.value = f.value(rec, &l)
		lacks = append(lacks, l)
	}
	if value := rec.Get("mentions"); value != nil && string(value) != "null" {
		if _, ok := ndjson.Strings(nil, value); !ok {
			faults = append(faults, "mentions is not a list of strings")
		}
	}
	return lacks, faults
}

// meant returns the record's field that a missing field probably is: one with another usual name,
// or with a typing error in its name.
func meant(rec *ndjson.Record, name string, others []string) string {
	for _, other := range others {
		if rec.Get(other) != nil {
			return other
		}
	}
	names := []string{name}
	if name == "content" { // without which a record is refused; others have a default, and shorter names
		names = append(names, others...)
	}
	for i := range rec.Members {
		key := string(rec.Members[i].Key)
		if sysexit.Nearest(key, names) != "" {
			return key
		}
	}
	return ""
}

// sentence names the missing fields: `platform, chat_id and content ("text"?) are missing`.
func sentence(lacks []lack) string {
	var names []string
	for _, l := range lacks {
		if l.other != "" {
			l.name += fmt.Sprintf(" (%q?)", l.other)
		}
		names = append(names, l.name)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0] + " is missing"
	}
	return strings.Join(names[:last], ", ") + " and " + names[last] + " are missing"
}

func (f *Filler) report(lacks []lack) {
	if f.Say == nil {
		return
	}
	var made, taken []string
	for _, l := range lacks {
		if l.other == "" {
			made = append(made, l.name)
		} else {
			taken = append(taken, fmt.Sprintf("%s is taken from %q", l.name, l.other))
		}
	}
	if len(made) > 0 {
		taken = append(taken, "filled in: "+strings.Join(made, ", "))
	}
	f.Say("the records are not events of tri-watch: %s (said once)", strings.Join(taken, "; "))
}

// faultOf says what is wrong with the value of a needed field; "" if nothing is.
func faultOf(name string, value []byte) string {
	text, isText := ndjson.Text(nil, value)
	switch {
	case name == "sender" && isText:
		return fmt.Sprintf(`sender is not an object: {"id":%q,"type":"user"}?`, text)
	case name == "sender":
		var s struct{ ID *string }
		if value[0] != '{' || json.Unmarshal(value, &s) != nil {
			return "sender is not an object with an id"
		}
		if s.ID == nil {
			return "sender.id is missing"
		}
	case !isText:
		return name + " is not a string"
	case name == "create_time":
		if _, err := UnixTime(text); err != nil {
			return err.Error()
		}
	}
	return ""
}

// value returns the JSON that completes a record, from the field that is probably meant if it fits.
func (f *Filler) value(rec *ndjson.Record, l *lack) string {
	from := rec.Get(l.other)
	text, isText := ndjson.Text(nil, from)
	given := func(otherwise string) string {
		if isText && len(text) > 0 {
			return string(from)
		}
		l.other = ""
		return string(ndjson.AppendString(nil, otherwise))
	}
	switch l.name {
	case "platform":
		return given("text")
	case "chat_id":
		return given(rec.Source)
	case "message_id":
		if len(from) > 0 && from[0] >= '0' && from[0] <= '9' {
			return `"` + string(from) + `"`
		}
		return given(strconv.FormatInt(rec.Line, 10))
	case "create_time":
		if _, err := UnixTime(text); err != nil {
			isText = false
		}
		return given(f.Now().UTC().Format(time.RFC3339))
	case "content":
		if isText {
			return string(from)
		}
	case "sender":
		if len(from) > 0 && from[0] == '{' && faultOf("sender", from) == "" {
			return string(from)
		}
		return `{"id":` + given("unknown") + `,"type":"user"}`
	}
	return ""
}

// splice adds fields at the end of a record. The record's own bytes stay.
func splice(rec *ndjson.Record, lacks []lack) []byte {
	line := bytes.TrimRight(rec.Bytes, " \t\r\n")
	out := slices.Clone(line[:len(line)-1]) // without the brace
	for _, o := range optional {
		if rec.Get(o.name) == nil {
			lacks = append(lacks, o)
		}
	}
	for i, l := range lacks {
		if i > 0 || len(rec.Members) > 0 {
			out = append(out, ',')
		}
		out = append(ndjson.AppendString(out, l.name), ':')
		out = append(out, l.value...)
	}
	return append(out, '}')
}
