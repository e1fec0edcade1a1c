package dispatch

import (
	"bytes"
	"io"
	"os"
	"slices"
	"time"

	"tri/lib/record/event"
	"tri/lib/record/thread"
	"tri/lib/record/turn"
)

// Bounds of the memory of turns.
const (
	maxTurn  = 50        // messages of a turn
	maxTurns = 1024      // turns, and changed messages
	tailed   = 256 << 10 // bytes of the input that are read again at a start
)

// turns remembers what was said in the latest turns: the beginning of one may have opened nothing, and
// belongs to the question that follows.
type turns struct {
	fold  *turn.Fold
	at    int64
	said  map[turnKey][]thread.Message
	order []turnKey

	changed   map[message]time.Time // of messages that changed, when the latest version was made
	changedIn []message             // these, oldest first
}

type turnKey struct {
	place
	turn string
}

func newTurns() *turns {
	return &turns{fold: turn.NewFold(), said: map[turnKey][]thread.Message{},
		changed: map[message]time.Time{}}
}

// outdated reports whether a later version of the message of e was read before e. Platforms deliver again
// what was not acknowledged, also after an edit or the deletion of it.
func (t *turns) outdated(e *event.Classified) bool {
	of, at := message{e.Platform, e.ChatID, e.MessageID}, e.ChangedAt()
	last, known := t.changed[of]
	if !changes(e) || known && !e.Deleted && at.Before(last) {
		return known
	}
	if !known {
		t.changedIn = append(t.changedIn, of)
	}
	t.changed[of] = at
	if len(t.changedIn) > maxTurns {
		delete(t.changed, t.changedIn[0])
		t.changedIn = t.changedIn[1:]
	}
	return false
}

// see adds an event and returns the messages of its turn before it.
func (t *turns) see(e *event.Classified) []thread.Message {
	if t.at++; e.Seq != nil {
		t.at = max(t.at, *e.Seq)
	}
	change := changes(e)
	m := turn.Message{
		Platform: e.Platform, Chat: e.ChatID, ID: e.MessageID, Conversation: e.Root(), Sender: e.Sender.ID,
		Change: change,
	}
	if at, err := time.Parse(time.RFC3339, e.CreateTime); err == nil {
		m.At = at.Unix()
	}
	key := turnKey{place{e.Platform, e.ChatID}, t.fold.Add(t.at, m).ID}
	said := t.said[key]
	if change {
		i := slices.IndexFunc(said, func(m thread.Message) bool { return m.MessageID == e.MessageID })
		switch {
		case i < 0:
		case e.Deleted:
			t.said[key] = slices.Delete(slices.Clone(said), i, i+1)
		default:
			t.said[key] = slices.Clone(said)
			t.said[key][i].Content = e.Content
		}
		return nil
	}
	if said == nil {
		t.order = append(t.order, key)
	}
	t.said[key] = append(said[max(0, len(said)-maxTurn+1):len(said):len(said)], thread.From(e))
	if len(t.order) > maxTurns {
		delete(t.said, t.order[0])
		t.order = t.order[1:]
	}
	return said
}

// taken calls fn with the latest events that were taken before this start: the end of the input file up to
// the mark. A file that cannot be read is reported by its reader.
func (d *Dispatcher) taken(fn func(*event.Classified)) {
	if len(d.Input.Files) == 0 {
		return
	}
	f, err := os.Open(d.Input.Files[len(d.Input.Files)-1])
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	from := max(0, info.Size()-tailed)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return
	}
	lines := bytes.Split(text, []byte("\n"))
	if from > 0 {
		lines = lines[1:] // cut
	}
	for _, line := range lines {
		if e, err := event.Parse(line); err == nil && e.Seq != nil && *e.Seq <= d.store.mark.Seq {
			fn(e)
		}
	}
}
