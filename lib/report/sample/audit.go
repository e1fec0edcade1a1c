// Package sample measures the filter: which messages a change of rules would move, and how many
// dropped messages were actionable. It writes only labels.ndjson; lib/report writes nothing.
package sample

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

// Rules is a filter: it reads events and writes them classified, one line each, in order. Each call
// starts with an empty state. The caller provides it, so that this package need not import the
// classifier.
type Rules func(ctx context.Context, in stream.Input, out io.Writer) error

// Compile returns the filter of a configuration.
type Compile func(*config.Config) (Rules, error)

// The logs that contain a home's history, in order of preference. With the classified events the
// dropped messages are known, and classifying them again replaces only the classifier's own fields.
const (
	eventsLog     = "events.ndjson"
	classifiedLog = "events-classified.ndjson"
)

// history returns a home's own events, or those of the given files.
func history(h *durable.Home, files []string, say func(string, ...any)) (stream.Input, error) {
	in := stream.Input{Files: files, After: -1, Say: say}
	if len(files) > 0 {
		return in, nil
	}
	for _, name := range []string{eventsLog, classifiedLog} {
		if h.Exists(name) {
			in.Files = []string{h.Path(name)}
			return in, nil
		}
	}
	err := sysexit.With(sysexit.NoInput, errors.New("no history: the home has no events.ndjson"))
	return in, sysexit.Hint(err, "name a file of events, or run tri-watch first")
}

// lines is a writer that calls fn for each complete line.
type lines struct {
	fn   func(line []byte) error
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.rest = append(l.rest, p...)
			return n, nil
		}
		line := p[:i]
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
			l.rest = l.rest[:0]
		}
		if err := l.fn(line); err != nil {
			return 0, err
		}
		p = p[i+1:]
	}
}

// each runs rules over a history. Invalid records are reported by the stream and do not end it.
func each(ctx context.Context, rules Rules, in stream.Input, fn func(line []byte) error) error {
	err := rules(ctx, in, &lines{fn: fn})
	if status, _ := sysexit.Of(err); status == sysexit.Data {
		return nil
	}
	return err
}

// said is the result for a message, small enough to keep it for the messages of a year.
type said struct {
	of      uint64 // hash of the message
	class   string
	reasons string // interned
}

// sayings remembers results, with each text stored once.
type sayings struct {
	list  []said
	texts map[string]string
}

func (s *sayings) add(line []byte) said {
	v := gjson.GetManyBytes(line, "classification", "reasons", "platform", "chat_id", "message_id")
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s", v[2].String(), v[3].String(), v[4].String())
	out := said{h.Sum64(), s.intern(v[0].String()), s.intern(joined(v[1]))}
	s.list = append(s.list, out)
	return out
}

func (s *sayings) intern(text string) string {
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	if known, ok := s.texts[text]; ok {
		return known
	}
	text = strings.Clone(text)
	s.texts[text] = text
	return text
}

func joined(reasons gjson.Result) string {
	var all []string
	for _, r := range reasons.Array() {
		all = append(all, r.String())
	}
	return strings.Join(all, "; ")
}

func dropped(class string) bool { return class == event.Ambient || class == event.Ack }
