package lark

import (
	"context"
	"maps"
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
	// deepLook and shallowLook are how far before the known time threads and edits are looked for: at a
	// start, and later.
	deepLook    = 7 * 24 * time.Hour
	shallowLook = 24 * time.Hour
	nodes       = time.Minute // the maximum difference between the clocks of the platform's machines
)

// catchUp emits the missed messages.
func (l *listening) catchUp(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	h := session.History[message]{
		Now: func() time.Time {
			return l.api.ServerTime(l.api.Now())
		}, Skew: nodes, Chats: session.Allowed(l.watched, l.watches), Read: l.missed,
		Unreadable: func(err error) bool {
			return httpapi.StatusOf(err) == http.StatusNotFound ||
				httpapi.StatusOf(err) == http.StatusBadRequest
		},
		Changed: (*message).changed,
		ID:      func(m *message) string { return m.ID },
		Add:     l.add,
	}
	err := h.CatchUp(ctx, l.Listener)
	l.deep = l.deep || err == nil
	return err
}

// missed reads the messages of a chat that were written, edited or recalled after since, each once
// in its current version. The history of a group contains only the first message of a topic; the
// rest is read topic by topic, newest first. Edits and recalls of messages older than the look back
// are not found.
func (l *listening) missed(ctx context.Context, chat string, since, _ time.Time) ([]message, error) {
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
	in := url.Values{"container_id_type": {"chat"}, "container_id": {chat},
		"start_time": {strconv.FormatInt(oldest.Unix(), 10)}, "sort_type": {"ByCreateTimeAsc"}}
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
		in := url.Values{"container_id_type": {"thread"}, "container_id": {topic},
			"sort_type": {"ByCreateTimeDesc"}}
		err := l.history(ctx, in, func(r gjson.Result) bool {
			m, ok := keep(r)
			return !ok || m.Created.After(oldest)
		})
		if err != nil && httpapi.StatusOf(err) != http.StatusNotFound &&
			httpapi.StatusOf(err) != http.StatusBadRequest {
			return nil, err
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// history reads a list of messages in pages of fifty, the maximum.
func (c *Client) history(ctx context.Context, in url.Values, each func(gjson.Result) bool) error {
	in.Set("page_size", "50")
	in.Set("with_sender_name", "true")
	return c.pages(ctx, "im/v1/messages", in, each)
}
