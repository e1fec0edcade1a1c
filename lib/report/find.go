package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/report/task"
)

// errUnknown means that no log contains the message.
var errUnknown = errors.New("no such message")

// names reports whether id can mean e: it is the message's id, alone or preceded by the chat, or by
// platform and chat.
func names(e *event.Classified, id string) bool {
	if id == e.MessageID {
		return true
	}
	rest, ok := strings.CutSuffix(id, ":"+e.MessageID)
	return ok && (rest == e.ChatID || rest == e.ChatName || rest == e.Platform+":"+e.ChatID ||
		rest == e.Platform+":"+e.ChatName)
}

// needle returns bytes that every line about id contains. A message's own id may contain colons, so
// any tail of the name may be it; all of these contain the shortest.
func needle(id string) []byte {
	tail := id[strings.LastIndexByte(id, ':')+1:]
	q := quoted(tail)
	return q[1:] // the tail, and the quote that ends it
}

// found is what the logs contain about a message.
type found struct {
	key        string             // of the item that was named; "" if a message was
	events     []event.Classified // as received
	classified []event.Classified
}

// locate is find, also by the id of an item or of its draft, or the beginning of one: the item's
// first message.
func locate(h *durable.Home, cfg *config.Config, id string) (*found, error) {
	f, err := find(h, id)
	if !errors.Is(err, errUnknown) {
		return f, err
	}
	view := &task.View{Home: h, Policy: decision.PolicyOf(cfg), Now: time.Now}
	t, other := view.Find(id)
	if other != nil || t.TaskID != id { // the key of another conversation may be its beginning
		if name := keyed(h, id); name != "" {
			return find(h, name)
		}
	}
	if status, _ := sysexit.Of(other); status == sysexit.Usage {
		return nil, other
	}
	if other != nil || len(t.MessageIDs) == 0 {
		return nil, err
	}
	th := t.Thread()
	if f, err = find(h, th.Platform+":"+th.ChatID+":"+t.MessageIDs[0]); err == nil {
		f.key = th.Key
	}
	return f, err
}

// keyed returns the full name of the first message of the conversation with a key, "" if none has it.
func keyed(h *durable.Home, key string) (name string) {
	if strings.Count(key, ".") < 2 {
		return ""
	}
	_ = scan(h, eventsLog, 0, nil, func(line []byte) error { // find has read the log without an error
		var e event.Classified
		if name == "" && json.Unmarshal(line, &e) == nil && e.Key() == key {
			name = e.FullName()
		}
		return nil
	})
	return name
}

// find reads the logs for a message. The log of events has all messages; if the stages are joined
// by pipes, only later logs exist.
func find(h *durable.Home, id string) (*found, error) {
	if id == "" {
		return nil, sysexit.With(sysexit.Usage, errors.New("which message?"))
	}
	f := new(found)
	for _, log := range []struct {
		name string
		to   *[]event.Classified
	}{{eventsLog, &f.events}, {classifiedLog, &f.classified}} {
		err := scan(h, log.name, 0, needle(id), func(line []byte) error {
			var e event.Classified
			if json.Unmarshal(line, &e) == nil && names(&e, id) {
				*log.to = append(*log.to, e)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(f.classified) == 0 {
		if err := f.fromJournal(h, id); err != nil {
			return nil, err
		}
	}
	if len(f.events) == 0 {
		f.events = f.classified
	}
	return f, f.single(id)
}

// fromJournal reads the dispatcher's journal, for a home without a log of classified events.
func (f *found) fromJournal(h *durable.Home, id string) error {
	r := journal.NewReader(h)
	defer r.Close()
	return scan(h, dispatchLog, 0, needle(id), r.Whole(func(line []byte) error {
		var in struct{ Event *event.Classified }
		if json.Unmarshal(line, &in) == nil && in.Event != nil && names(in.Event, id) {
			f.classified = append(f.classified, *in.Event)
		}
		return nil
	}))
}

// single returns an error if a name denotes no message or several.
func (f *found) single(id string) error {
	var all []string
	for i := range f.events {
		if name := f.events[i].FullName(); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	switch len(all) {
	case 0:
		err := sysexit.With(sysexit.No, fmt.Errorf("%q: %w", id, errUnknown))
		return sysexit.Hint(err, "jq -r .message_id events.ndjson lists those that came in")
	case 1:
		return nil
	}
	return sysexit.Hint(sysexit.With(sysexit.Usage,
		fmt.Errorf("%q names %d messages: %s", id, len(all), some(all, 10))), "give one of them whole")
}

// some joins the first n items of a list.
func some(items []string, n int) string {
	if len(items) <= n {
		return strings.Join(items, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:n], " "), len(items)-n)
}
