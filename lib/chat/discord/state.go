package discord

import (
	"encoding/json"
	"slices"
	"strings"

	"tri/lib/record/event"
)

// maxRecent is how many of the newest messages are remembered: what is kept stays
// below 64 KiB.
const maxRecent = 2000

// recent are the newest messages that were emitted and, as far as we know, stand:
// one that is missing when its chat is read back was deleted meanwhile, which
// Discord does not tell.
type recent struct {
	order   []string                // ids, the oldest first
	place   map[string]string       // where each stands; none: it is gone
	senders map[string]event.Sender // as far as they were heard in this run
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
	r.add(e.MessageID, standsIn(e.Permalink))
}

// standsIn is the channel in a permalink of ours: of a message in a thread, that
// thread.
func standsIn(link string) string {
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

// of are the messages of a place, the oldest first.
func (r *recent) of(place string) (ids []string) {
	for _, id := range r.order {
		if r.place[id] == place {
			ids = append(ids, id)
		}
	}
	return ids
}

// kept is what is remembered between two runs.
type kept struct {
	resumeState
	Recent map[string][]string `json:"recent"` // ids by place
}

// load takes up where the last run was, if there is a log: a session without one
// would skip its beginning.
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

// save keeps the session and the newest messages. It is a help for the next start
// only, so that an error of it is said and no more.
func (l *listening) save() {
	l.saved = l.api.Now()
	k := kept{resumeState: l.resumeState, Recent: map[string][]string{}}
	for _, id := range l.recent.order {
		if place, ok := l.recent.place[id]; ok {
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
