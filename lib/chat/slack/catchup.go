package slack

import (
	"context"
	"net/http"
	"net/url"
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
	page        = "999"       // the most that one answer has
	nodes       = time.Minute // that the clocks of Slack's machines may differ by
)

// overlap is read again before the log's last time: an event may have been lost
// on the way, with later ones heard, for as long as one sweep is from the next.
func overlap(sweep time.Duration) time.Duration { return sweep + 5*time.Minute }

// catchUp emits what was missed.
func (l *listening) catchUp(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	h := session.History[message]{
		Now: func() time.Time { return l.api.ServerTime(l.api.Now()) }, Skew: nodes, Chats: l.allowed, Read: l.missed,
		Unreadable: func(err error) bool { return httpapi.StatusOf(err) == http.StatusNotFound },
		Changed:    (*message).changed,
		ID:         func(m *message) string { return m.TS },
		Add:        l.add,
	}
	err := h.CatchUp(ctx, l.Listener)
	if err == nil {
		l.deep = true
		l.remember()
	}
	return err
}

// allowed are the watched chats that may be listened to now.
func (l *listening) allowed(ctx context.Context) (ids []string, err error) {
	all, err := l.watched(ctx)
	for _, id := range all {
		if _, ok, err := l.hears(ctx, id); err != nil {
			return nil, err
		} else if ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// missed reads the messages of a chat that were written or edited later than what
// is known, each once, as it stands now, and what is left of threads whose first
// message was deleted. An edit of what is older than the look back, one in a
// thread where nothing new was said, and a reply that is gone, Slack does not show.
func (l *listening) missed(ctx context.Context, chat string, since, now time.Time) ([]message, error) {
	look := deepLook
	if l.deep {
		look = shallowLook
	}
	oldest := ts(since.Add(-look))
	found, present := map[string]message{}, map[string]bool{}
	keep := func(r gjson.Result) (m message, ok bool) {
		if m, ok = parse(chat, r); ok && (m.Gone != "" || m.changed().After(since)) {
			found[m.TS] = m
		}
		return m, ok
	}
	var threads []string
	in := url.Values{"channel": {chat}, "oldest": {oldest}, "limit": {page}}
	err := l.pages(ctx, "conversations.history", in, "messages", func(r gjson.Result) {
		m, ok := keep(r)
		present[m.TS] = true
		if ok && m.Thread == "" && at(m.LatestReply).After(since) {
			threads = append(threads, m.TS)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, root := range threads {
		in := url.Values{"channel": {chat}, "ts": {root}, "oldest": {oldest}, "limit": {page}}
		err := l.pages(ctx, "conversations.replies", in, "messages", func(r gjson.Result) { keep(r) })
		if err != nil && httpapi.CodeOf(err) != "thread_not_found" {
			return nil, err
		}
	}
	all, err := l.gone(ctx, chat, since.Add(-look), now, present)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		all = append(all, m)
	}
	return all, nil
}
