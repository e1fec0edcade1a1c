package sample

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

// drop is one dropped message of the frame.
type drop struct {
	platform, chat, message string
	class                   string
	order                   uint64 // the random order
	at                      int    // index in its chat, for the context
}

func (d *drop) key() string { return d.platform + "\x00" + d.chat + "\x00" + d.message }

// Sample is a simple random sample, without replacement, of the messages that the filter dropped, or of
// those that it took for actionable.
// The order is a hash of seed and message, so that the same seed draws the same messages again
// after a pause, and a new message has the same chance as all others.
type Sample struct {
	Version string // of the filter
	Seed    int64
	Since   time.Time // time of the oldest message in the frame
	Frame   int       // number of messages in the frame
	Others  int       // of another version of the filter and left out
	asked   bool      // of actionable messages
	drops   []drop    // the sample, in random order
	chats   map[string][]line
}

// line is a line of the context of a message.
type line struct {
	who, text, at string
}

// maxShown is how much of a message is kept for showing, in bytes.
const maxShown = 2000

// readFrame reads the results of a home's filter, those of messages later than now too.
func readFrame(ctx context.Context, h *durable.Home, now time.Time) (*frame, error) {
	if !h.Exists(classifiedLog) {
		err := sysexit.With(sysexit.NoInput, errors.New("audit: the home has no "+classifiedLog))
		return nil, sysexit.Hint(err, "tri-classify --out writes it")
	}
	f := &frame{state: map[string]*seen{}, newest: map[string]time.Time{}, now: now}
	_, err := stream.Each(ctx, stream.Input{Files: []string{h.Path(classifiedLog)}, After: -1},
		func(rec ndjson.Record) error {
			e, err := event.Parse(rec.Bytes)
			if err != nil {
				return stream.Refuse("%w", err)
			}
			f.add(e)
			return nil
		})
	if status, _ := sysexit.Of(err); err != nil && status != sysexit.Data {
		return nil, err
	}
	return f, nil
}

// sample draws o.Sample, 0 for all, of the messages that a version of the filter dropped, or took for
// actionable, in o.Window before its newest one that is not after now. If o.Seed is 0, that of the last label
// of these messages is used, else of the version's last label, or, if there is none, a new one. Messages of
// programs and deleted ones are excluded: the former are not questions, the latter cannot be judged any more.
func (f *frame) sample(version string, labels *Labels, o Order) *Sample {
	s := &Sample{Version: version, Seed: o.Seed, asked: o.Actionable, chats: map[string][]line{}}
	if o.Window > 0 {
		s.Since = f.newest[version].Add(-o.Window)
	}
	for _, asked := range []bool{o.Actionable, !o.Actionable} {
		if last, ok := labels.last[side{version, asked}]; ok && s.Seed == 0 {
			s.Seed = last.Seed
		}
	}
	if s.Seed == 0 {
		s.Seed = f.now.UnixNano()
	}
	s.draw(f, o.Sample)
	return s
}

// frame collects the latest version of each message.
type frame struct {
	state   map[string]*seen
	order   []string // keys, in order of first appearance
	version string   // of the newest record
	now     time.Time
	newest  map[string]time.Time // by version; not after now
}

// seen is the stored part of a message; the messages of a year fit into memory.
type seen struct {
	line
	platform, chat, class, version string
	gone                           bool // deleted, or of a program
}

func (f *frame) add(e *event.Classified) {
	k := e.Platform + "\x00" + e.ChatID + "\x00" + e.MessageID
	old := f.state[k]
	if old == nil {
		f.order = append(f.order, k)
	}
	text := e.Content
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	m := &seen{line{who(e), text, e.CreateTime}, e.Platform, e.ChatID, e.Classification, e.ClassifierVersion,
		e.Deleted || e.Sender.Type == "bot"}
	if old != nil && old.class == event.Actionable {
		m.class = event.Actionable // an edit cannot undo that it was seen as actionable
	}
	f.state[k] = m
	f.version = cmp.Or(e.ClassifierVersion, f.version)
	if at, err := time.Parse(time.RFC3339, e.CreateTime); err == nil &&
		at.After(f.newest[e.ClassifierVersion]) && !at.After(f.now) {
		f.newest[e.ClassifierVersion] = at
	}
}

func (s *Sample) draw(f *frame, n int) {
	for _, k := range f.order {
		m := f.state[k]
		chat := m.platform + "\x00" + m.chat
		s.chats[chat] = append(s.chats[chat], m.line)
		at, err := time.Parse(time.RFC3339, m.at)
		if dropped(m.class) == s.asked || m.class == "" || m.gone ||
			!s.Since.IsZero() && (err != nil || at.Before(s.Since) || at.After(f.now)) {
			continue
		}
		if m.version != s.Version {
			s.Others++
			continue
		}
		id := k[len(chat)+1:]
		s.drops = append(s.drops, drop{m.platform, m.chat, id, m.class, place(s.Seed, k),
			len(s.chats[chat]) - 1})
	}
	s.Frame = len(s.drops)
	slices.SortFunc(s.drops, func(a, b drop) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.message, b.message))
	})
	if n > 0 {
		s.drops = s.drops[:min(n, len(s.drops))]
	}
}

// place returns the sort key of a message for a seed.
func place(seed int64, key string) uint64 {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, uint64(seed)), key...))
	return binary.BigEndian.Uint64(sum[:])
}

// around returns the messages before and after a message in its chat.
func (s *Sample) around(d *drop, before, after int) (list []line, self int) {
	all := s.chats[d.platform+"\x00"+d.chat]
	from := max(0, d.at-before)
	return all[from:min(len(all), d.at+after+1)], d.at - from
}
