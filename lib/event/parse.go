package event

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"tri/lib/ndjson"
)

// fields are the names of a classified event, by their lower case.
var fields = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous {
				add(f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[strings.ToLower(name)] = name
		}
	}
	add(reflect.TypeFor[Classified]())
	return names
})

// Parse reads an event, classified or not, from a line that ndjson.Check has
// passed. A field whose name differs from one of ours in case only is refused:
// encoding/json would take it, jq would not, and two readers that disagree on
// what a message says are a hole.
func Parse(line []byte) (*Classified, error) {
	err := ndjson.Members(line, func(key, _ []byte) error {
		name := strings.Trim(string(key), `"`)
		if known, ok := fields()[strings.ToLower(name)]; ok && known != name {
			return fmt.Errorf("field %q: should be %q", name, known)
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
