package sample

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
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

// draw reads the results of a home's filter and draws o.Sample of the messages dropped, or taken for
// actionable, in o.Window before the newest one that is not after now. If o.Seed is 0, that of the filter's
// last label is used, or, if there is none, a new one. Messages of programs and deleted ones are excluded:
// the former are not questions, the latter cannot be judged any more.
func draw(ctx context.Context, h *durable.Home, labels *Labels, o Order, now time.Time) (*Sample, error) {
	if !h.Exists(classifiedLog) {
		err := sysexit.With(sysexit.NoInput, errors.New("audit: the home has no "+classifiedLog))
		return nil, sysexit.Hint(err, "tri-classify --out writes it")
	}
	f := frame{state: map[string]*seen{}, now: now}
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
	s := &Sample{Version: f.version, Seed: o.Seed, asked: o.Actionable, chats: map[string][]line{}}
	if o.Window > 0 {
		s.Since = f.newest.Add(-o.Window)
	}
	if last, ok := labels.last[s.Version]; ok && o.Seed == 0 {
		s.Seed = last.Seed
	} else if o.Seed == 0 {
		s.Seed = now.UnixNano()
	}
	s.draw(&f, o.Sample)
	return s, nil
}

// frame collects the latest version of each message.
type frame struct {
	state   map[string]*seen
	order   []string // keys, in order of first appearance
	version string   // of the newest record
	now     time.Time
	newest  time.Time // that is not after now
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
		at.After(f.newest) && !at.After(f.now) {
		f.newest = at
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
	s.drops = s.drops[:min(n, len(s.drops))]
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

// Estimate is the result of the labels of a sample for the whole frame.
type Estimate struct {
	Version string  `json:"classifier_version"`
	Seed    int64   `json:"seed"`
	Of      string  `json:"of"`       // "dropped" or "actionable" messages
	Frame   int     `json:"frame"`    // number of these
	Sample  int     `json:"sample"`   // messages to label
	Labels  int     `json:"labelled"` // without the skipped
	Misses  int     `json:"misses"`   // that the filter had wrong
	Skipped int     `json:"skipped"`
	Rate    float64 `json:"misses_per_100"` // of these messages
	Low     float64 `json:"low_per_100"`    // exact 95% bounds
	High    float64 `json:"high_per_100"`
	Others  int     `json:"other_versions"` // messages of other versions, left out
	Target  float64 `json:"target_per_100,omitempty"`
}

// target is the maximum rate of acceptance criterion AC-11, in percent; fewer than least labels decide
// nothing, even if the window has no more messages.
const (
	target = 1
	least  = 20
)

// Estimate counts the labels in the order of drawing up to the first message without one: only
// these are a simple random sample. A skipped message counts as not drawn.
func (s *Sample) Estimate(labels *Labels) Estimate {
	e := Estimate{Version: s.Version, Seed: s.Seed, Of: Right, Frame: s.Frame, Sample: len(s.drops),
		Others: s.Others, Target: target}
	if s.asked {
		e.Of, e.Target = Miss, 0
	}
	for i := range s.drops {
		l, ok := labels.of(s.Version, &s.drops[i])
		if !ok {
			break
		}
		switch l.Label {
		case Skip:
			e.Skipped++
			continue
		case e.Of:
		default:
			e.Misses++
		}
		e.Labels++
	}
	e.judge()
	return e
}

// judge computes the rate and its bounds from the counts.
func (e *Estimate) judge() {
	if e.Labels == 0 {
		e.High = 100
		return
	}
	population := e.Frame - e.Skipped
	if population < e.Labels { // the labels are of several frames: as if there was no end of messages
		population = 1000 * e.Labels
	}
	low, high := interval(e.Misses, e.Labels, population)
	e.Rate = 100 * float64(e.Misses) / float64(e.Labels)
	e.Low, e.High = 100*float64(low)/float64(population), 100*float64(high)/float64(population)
}

// String returns the estimate as text.
func (e Estimate) String() string {
	if e.Labels == 0 {
		return fmt.Sprintf("no labels yet; %d %s messages to draw from", e.Frame, e.Of)
	}
	what := "misses"
	if e.Target == 0 {
		what = "that needed no answer"
	}
	text := fmt.Sprintf("%d %s in %d of %d %s messages: %.1f per 100, 95%% interval %.1f to %.1f",
		e.Misses, what, e.Labels, e.Frame, e.Of, e.Rate, e.Low, e.High)
	if e.Target > 0 {
		text += fmt.Sprintf("; the threshold is %d", target)
	}
	if e.Labels == e.Frame-e.Skipped {
		text += "\nall messages of the window are labelled: the rate is exact"
	}
	if e.Target > 0 {
		text += "\n"
	}
	switch {
	case e.Target == 0:
	case e.Labels < least:
		text += fmt.Sprintf("open: at least %d labels are needed", least)
	case e.High <= target:
		text += "met: even the upper bound is below the threshold"
	case e.Low > target:
		text += "missed: even the lower bound is above the threshold; tri-report diff tries other rules"
	default:
		text += "open: the interval contains the threshold; label more (--sample)"
	}
	if e.Skipped > 0 {
		text += fmt.Sprintf("\n%d skipped; were all of them wrong, it would be %.1f per 100", e.Skipped,
			100*float64(e.Misses+e.Skipped)/float64(e.Labels+e.Skipped))
	}
	if e.Others > 0 {
		text += fmt.Sprintf("\n%d messages classified by earlier versions of the rules are left out", e.Others)
	}
	return text
}
