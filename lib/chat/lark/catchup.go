package lark

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/chat/session"
)

const (
	// deepLook and shallowLook are how far behind what is known threads and edits are
	// looked for: at a start, and later.
	deepLook    = 7 * 24 * time.Hour
	shallowLook = 24 * time.Hour
	nodes       = time.Minute // that the clocks of the platform's machines may differ by
)

// overlap is read again before the log's last time: an event may have been lost
// on the way, with later ones heard, for as long as one sweep is from the next.
func overlap(sweep time.Duration) time.Duration { return sweep + 5*time.Minute }

// catchUp emits what was missed, of all chats together and in the order in which
// it happened: wherever it is cut off, nothing older than what is in the log is
// missing from it.
func (l *listening) catchUp(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	now := l.api.ServerTime(l.api.Now())
	if l.known.Other.IsZero() {
		l.known.Other = now.Add(-nodes) // a first start tells the last minute, as a restart would
	}
	chats, err := l.watched(ctx)
	if err != nil {
		return err
	}
	var missed []message
	rooms := map[string]room{}
	for _, id := range chats {
		r, ok, err := l.hears(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		found, err := l.missed(ctx, id)
		if status := httpapi.StatusOf(err); status == http.StatusNotFound || status == http.StatusBadRequest {
			if !l.told[id] {
				l.Logf("lark: chat %s cannot be read: %v", id, err)
			}
			l.told[id] = true
			l.known.Set(id, l.known.Of(id))
			continue
		}
		if err != nil {
			return err
		}
		rooms[id] = r
		missed = append(missed, found...)
	}
	slices.SortStableFunc(missed, func(a, b message) int {
		return cmp.Or(a.changed().Compare(b.changed()), cmp.Compare(a.ID, b.ID))
	})
	if err := l.tell(ctx, missed, rooms, now); err != nil {
		return err
	}
	for id := range rooms {
		l.known.Set(id, now.Add(-nodes))
	}
	l.known.Other, l.past, l.deep = now.Add(-nodes), true, true
	return nil
}

// tell emits missed messages, those apart that were emitted already.
func (l *listening) tell(ctx context.Context, missed []message, rooms map[string]room, now time.Time) error {
	var news session.Recovered
	err := session.Recover(missed, func(m *message, g *session.Batch) error {
		e, ok, err := l.event(ctx, m, rooms[m.Chat])
		if err != nil || !ok || !l.recent.AddTo(g, e) {
			return err
		}
		// What is only read again for the overlap, or on its way, is no recovery.
		if t := m.changed(); t.After(l.Last[m.Chat]) && t.Before(now.Add(-5*time.Second)) {
			news.Add(m.Chat)
		}
		return nil
	}, l.commit)
	if err == nil && l.past {
		news.Report("lark", l)
	}
	return err
}

// missed reads the messages of a chat that were written, edited or recalled later
// than what is known, each once, as it stands now. The history of a group has of a
// topic only its first message; the rest is read topic by topic, the newest first.
// An edit or a recall of what is older than the look back is not found.
func (l *listening) missed(ctx context.Context, chat string) ([]message, error) {
	since := l.known.Of(chat)
	look := deepLook
	if l.deep {
		look = shallowLook
	}
	oldest := since.Add(-look)
	found, topics := map[string]message{}, map[string]bool{}
	keep := func(r gjson.Result) (m message, ok bool) {
		if m, ok = parseHistory(r); ok && m.Chat == chat && (m.Gone || m.changed().After(since)) {
			found[m.ID] = m
		}
		return m, ok
	}
	in := url.Values{"container_id_type": {"chat"}, "container_id": {chat}, "start_time": {strconv.FormatInt(oldest.Unix(), 10)}, "sort_type": {"ByCreateTimeAsc"}}
	err := l.history(ctx, in, func(r gjson.Result) bool {
		if m, ok := keep(r); ok && m.Topic != "" {
			topics[m.Topic] = true
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for topic, heard := range l.topics[chat] {
		if heard.Before(oldest) {
			delete(l.topics[chat], topic)
			continue
		}
		topics[topic] = true
	}
	for topic := range topics {
		in := url.Values{"container_id_type": {"thread"}, "container_id": {topic}, "sort_type": {"ByCreateTimeDesc"}}
		err := l.history(ctx, in, func(r gjson.Result) bool {
			m, ok := keep(r)
			return !ok || m.Created.After(oldest)
		})
		if err != nil && httpapi.StatusOf(err) != http.StatusNotFound && httpapi.StatusOf(err) != http.StatusBadRequest {
			return nil, err
		}
	}
	all := make([]message, 0, len(found))
	for _, m := range found {
		l.seen(&m)
		all = append(all, m)
	}
	return all, nil
}

// history reads a list of messages, fifty at a time: the most that it gives.
func (c *Client) history(ctx context.Context, in url.Values, each func(gjson.Result) bool) error {
	in.Set("page_size", "50")
	in.Set("with_sender_name", "true")
	return c.pages(ctx, "im/v1/messages", in, each)
}
