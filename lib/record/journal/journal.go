// Package journal is dispatch.ndjson: the order in which tri-dispatch took its inputs, and what
// the rules said of each. A line refers to its text by log, offset and SHA-256; the text stays in
// the one log that it came from.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// Name is the log's name below the home.
const Name = "dispatch.ndjson"

const (
	eventsLog    = "events.ndjson"
	decisionsLog = "decisions.ndjson"
	repliesLog   = "replies.ndjson"
)

// Ref locates the text of an input: a line of one of the home's logs, or the result of a run,
// which is written once.
type Ref struct {
	Log    string `json:"log"`
	Seq    int64  `json:"seq"` // byte offset of the line
	SHA256 string `json:"sha256"`
}

// ErrGone reports that the target of a reference is missing or has changed.
var ErrGone = errors.New("gone or changed")

// Line is one line of the journal. The field of Input that Ref refers to is nil.
type Line struct {
	thread.Input
	Ref *Ref `json:"ref,omitempty"`
	// MessageID is the id of the event that Ref refers to. Said holds the fields that the stages
	// before the dispatcher added to it.
	MessageID string          `json:"message_id,omitempty"`
	Said      json.RawMessage `json:"said,omitempty"`
}

// Journal is the log, open for appending.
type Journal struct {
	// Whole writes the results of runs in full, for a log that is copied to other machines: their files
	// are not.
	Whole bool

	log    *durable.Log
	reader *Reader
}

// Open opens the journal of a home and creates it if missing.
func Open(h *durable.Home) (*Journal, error) {
	log, err := h.OpenLog(Name)
	if err != nil {
		return nil, err
	}
	return &Journal{log: log, reader: NewReader(h)}, nil
}

// Close closes the journal.
func (j *Journal) Close() error { return errors.Join(j.log.Close(), j.reader.Close()) }

// Append makes inputs durable with one fsync, and returns the journal's size. An input whose text
// is in no log of the home is written in full.
func (j *Journal) Append(ins []thread.Input) (int64, error) {
	var buf bytes.Buffer
	for _, in := range ins {
		l := j.reader.line(in)
		if j.Whole && in.Run != nil && l.Ref != nil && j.reader.size(l.Ref) < maxWhole {
			l = &Line{Input: in}
		}
		if err := ndjson.Write(&buf, l); err != nil {
			return 0, fmt.Errorf("append to %s: %w", Name, err)
		}
	}
	end, err := j.log.Append(func(int64) ([]byte, error) { return buf.Bytes(), nil })
	return end + int64(buf.Len()), err
}

// maxWhole keeps a line that holds a result well below ndjson.MaxLine, in bytes of the result's file.
const maxWhole = 256 << 10

// size returns the size of the file of a reference; a very large number if it cannot be read.
func (r *Reader) size(ref *Ref) int64 {
	info, err := r.home.Root().Stat(ref.Log)
	if err != nil {
		return 1 << 62
	}
	return info.Size()
}

// line returns the line of an input. It holds a reference only if resolving it yields the same
// input.
func (r *Reader) line(in thread.Input) *Line {
	l := &Line{Input: in}
	ref, text := r.source(in)
	if text == nil || in.Event != nil && !isOf(text, in.Event) {
		return l
	}
	l.Ref = ref
	switch {
	case in.Event != nil:
		l.MessageID, l.Said = in.Event.MessageID, added(text, in.Event)
		l.Event = nil
	case in.Run != nil:
		l.Run = nil
	case in.Decision != nil:
		l.Decision = nil
	case in.Reply != nil:
		l.Reply = nil
	}
	back := *l
	if r.resolve(&back, text) != nil || !same(back.Input, in) {
		return &Line{Input: in}
	}
	return l
}

// isOf reports whether a line of events is the given event. The seq is not enough: the event may
// come from another home.
func isOf(text []byte, e *event.Classified) bool {
	got := gjson.GetManyBytes(text, "platform", "chat_id", "message_id", "content")
	return got[0].Str == e.Platform && got[1].Str == e.ChatID && got[2].Str == e.MessageID &&
		got[3].Str == e.Content
}

// source finds the text of an input, nil if no log of the home has it.
func (r *Reader) source(in thread.Input) (*Ref, []byte) {
	ref := &Ref{}
	switch {
	case in.Event != nil && in.Event.Seq != nil:
		ref.Log, ref.Seq = eventsLog, *in.Event.Seq
	case in.Run != nil:
		ref.Log = run.ResultFile(r.home, in.Run.RunID)
	case in.Decision != nil && in.Source != nil:
		ref.Log, ref.Seq = decisionsLog, *in.Source
	case in.Reply != nil && in.Source != nil:
		ref.Log, ref.Seq = repliesLog, *in.Source
	default:
		return nil, nil
	}
	said, err := r.text(ref)
	if err != nil {
		return nil, nil
	}
	ref.SHA256 = text.SHA256(said)
	return ref, said
}

// same reports whether two inputs have the same encoding.
func same(a, b thread.Input) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// added returns the fields of a classified event that its line in the log lacks or has with
// another value.
func added(base []byte, e *event.Classified) json.RawMessage {
	whole, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	had := map[string]string{}
	gjson.ParseBytes(base).ForEach(func(k, v gjson.Result) bool {
		had[k.String()] = v.Raw
		return true
	})
	out := []byte{'{'}
	gjson.ParseBytes(whole).ForEach(func(k, v gjson.Result) bool {
		if was, ok := had[k.String()]; ok && alike(was, v.Raw) {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, k.Raw...), ':'), v.Raw...)
		return true
	})
	return append(out, '}')
}

// alike reports whether two JSON values are the same text, even if escaped differently.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	x, y := gjson.Parse(a), gjson.Parse(b)
	return x.Type == gjson.String && y.Type == gjson.String && x.Str == y.Str
}

// resolve stores the target of a line's reference in its Input.
func (r *Reader) resolve(l *Line, text []byte) error {
	var err error
	switch {
	case l.Ref.Log == eventsLog:
		if l.Event, err = event.Parse(text); err == nil && l.Said != nil {
			err = json.Unmarshal(l.Said, l.Event)
		}
	case l.Ref.Log == decisionsLog:
		err = json.Unmarshal(text, &l.Decision)
		if d := l.Decision; d != nil {
			d.Evidence, d.Sources, d.Meta = nil, nil, nil // a thread needs only the decision itself
		}
	case l.Ref.Log == repliesLog:
		err = json.Unmarshal(text, &l.Reply)
	default:
		if err = json.Unmarshal(text, &l.Run); err == nil && l.Run != nil {
			err = compact(&l.Run.Value)
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %s at %d: %w", Name, l.Ref.Log, l.Ref.Seq, err)
	}
	l.Ref, l.MessageID, l.Said = nil, "", nil
	return nil
}

func compact(raw *json.RawMessage) error {
	if len(*raw) == 0 {
		return nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, *raw)
	*raw = b.Bytes()
	return err
}

func gone(ref *Ref, err error) error {
	return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %s at %d: %w", Name, ref.Log, ref.Seq,
		errors.Join(ErrGone, err)))
}
