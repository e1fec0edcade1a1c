// Package journal is dispatch.ndjson: the order in which tri-dispatch took its
// inputs in, and what the rules said of each. A line refers to its text by log,
// offset and SHA-256; the text stays in the one log that it came from.
package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
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

// Ref is where the text of an input is kept: a line of a log of the home, or the
// result of a run, which is written once.
type Ref struct {
	Log    string `json:"log"`
	Seq    int64  `json:"seq"` // byte offset of the line
	SHA256 string `json:"sha256"`
}

// ErrGone means that what a line refers to is not there, or is something else.
var ErrGone = errors.New("gone or changed")

// Line is one of the journal. What Ref refers to is nil in Input.
type Line struct {
	thread.Input
	Ref *Ref `json:"ref,omitempty"`
	// MessageID is that of the event which Ref refers to; Said is what the stages
	// before the dispatcher added to it.
	MessageID string          `json:"message_id,omitempty"`
	Said      json.RawMessage `json:"said,omitempty"`
}

// Journal is the log, open to be appended to.
type Journal struct {
	log    *durable.Log
	reader *Reader
}

// Open opens the journal of a home, made if it is not there.
func Open(h *durable.Home) (*Journal, error) {
	log, err := h.OpenLog(Name)
	if err != nil {
		return nil, err
	}
	return &Journal{log: log, reader: NewReader(h)}, nil
}

// Close closes it.
func (j *Journal) Close() error { return errors.Join(j.log.Close(), j.reader.Close()) }

// Append makes inputs durable, all with one fsync, and returns the journal's size.
// An input whose text stands in no log of the home is written whole.
func (j *Journal) Append(ins []thread.Input) (int64, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, in := range ins {
		if err := enc.Encode(j.reader.line(in)); err != nil {
			return 0, fmt.Errorf("append to %s: %w", Name, err)
		}
	}
	end, err := j.log.Append(func(int64) ([]byte, error) { return buf.Bytes(), nil })
	return end + int64(buf.Len()), err
}

// line makes the line of an input: with a reference where what that gives back is
// the same.
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

// isOf reports whether a line of events is that of an event. The seq alone does not
// say so: the event may be of another home.
func isOf(text []byte, e *event.Classified) bool {
	got := gjson.GetManyBytes(text, "platform", "chat_id", "message_id", "content")
	return got[0].Str == e.Platform && got[1].Str == e.ChatID && got[2].Str == e.MessageID && got[3].Str == e.Content
}

// source finds the text of an input; nil where no log of the home has it.
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
	text, err := r.text(ref)
	if err != nil {
		return nil, nil
	}
	ref.SHA256 = sum(text)
	return ref, text
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// same reports whether two inputs are written alike.
func same(a, b thread.Input) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// added are the members of an event, classified, that a line of events does not
// have, or has otherwise.
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

// alike reports whether two values are the same text, or the same by other escapes.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	x, y := gjson.Parse(a), gjson.Parse(b)
	return x.Type == gjson.String && y.Type == gjson.String && x.Str == y.Str
}

// resolve puts what a line refers to into its Input.
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
			d.Evidence, d.Sources, d.Meta = nil, nil, nil // the word alone moves a thread
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
	return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %s at %d: %w", Name, ref.Log, ref.Seq, errors.Join(ErrGone, err)))
}
