package discord

import (
	"encoding/json"
	"slices"
	"strings"

	"tri/lib/record/event"
)

// maxRecent is how many of the newest messages are remembered; those that fit into maxSaved bytes, of the
// 64 KiB of chat.Handler, are saved.
const (
	maxRecent = 2000
	maxSaved  = 60_000
)

// recent holds the newest messages that were emitted and not known to be deleted. One that is
// missing when its chat is read again was deleted in the meantime, which Discord does not report.
type recent struct {
	order   []string                // ids, the oldest first
	place   map[string]string       // the place of each message; none: deleted
	senders map[string]event.Sender // those received in this run
}

func newRecent() recent {
	return recent{place: map[string]string{}, senders: map[string]event.Sender{}}
}

func (r *recent) keep(e *event.Event) {
	if e.Deleted {
		delete(r.place, e.MessageID)
		delete(r.senders, e.MessageID)
		return
	}
	r.senders[e.MessageID] = e.Sender
	r.add(e.MessageID, placeOf(e.Permalink))
}

// placeOf returns the channel in one of this package's permalinks; for a message in a thread it is
// the thread.
func placeOf(link string) string {
	parts := strings.Split(link, "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[len(parts)-2]
}

func (r *recent) add(id, place string) {
	if _, ok := r.place[id]; ok {
		return
	}
	r.place[id] = place
	r.order = append(r.order, id)
	for len(r.order) > maxRecent {
		delete(r.place, r.order[0])
		delete(r.senders, r.order[0])
		r.order = r.order[1:]
	}
}

// of returns the messages of a place, oldest first.
func (r *recent) of(place string) (ids []string) {
	for _, id := range r.order {
		if r.place[id] == place {
			ids = append(ids, id)
		}
	}
	return ids
}

// kept is the state saved between two runs.
type kept struct {
	resumeState
	Recent map[string][]string `json:"recent"` // ids by place
}

// load restores the state of the last run, if there is a log: a resumed session would skip the
// events that an empty log lacks.
func (l *listening) load() {
	var k kept
	if len(l.Last) == 0 || json.Unmarshal(l.State, &k) != nil {
		return
	}
	l.resumeState = k.resumeState
	for place, ids := range k.Recent {
		for _, id := range ids {
			if validID(id) && validID(place) {
				l.recent.add(id, place)
			}
		}
	}
	slices.SortFunc(l.recent.order, compareID)
}

// save stores the session and the newest messages. The state is only a hint for the next start, so
// an error is logged and otherwise ignored.
func (l *listening) save() {
	l.saved = l.api.Now()
	k := kept{resumeState: l.resumeState, Recent: map[string][]string{}}
	size := 0
	for _, id := range slices.Backward(l.recent.order) {
		place, ok := l.recent.place[id]
		if size += len(id) + 3; k.Recent[place] == nil {
			size += len(place) + 6
		}
		if ok && size <= maxSaved {
			k.Recent[place] = append(k.Recent[place], id)
		}
	}
	text, err := json.Marshal(k)
	if err == nil {
		err = l.Save(text)
	}
	if err != nil {
		l.Logf("discord: remember the session: %v", err)
	}
}
