package slack

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
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
	page        = "999"       // the maximum of one response
	nodes       = time.Minute // the maximum difference between the clocks of Slack's machines
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
		Unreadable: func(err error) bool { return httpapi.StatusOf(err) == http.StatusNotFound },
		Changed:    (*message).changed,
		ID:         func(m *message) string { return m.TS },
		Add:        l.add,
	}
	err := h.CatchUp(ctx, l.Listener)
	if err == nil {
		l.deep = true
		l.saveMemory()
	}
	return err
}

// missed reads the messages of a chat that were written or edited after since, each once in its
// current version, and the tombstones of threads whose first message was deleted. Slack does not
// show edits of messages older than the look back or in threads without new replies, nor deleted
// replies.
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
	all, err := l.deletions(ctx, chat, since.Add(-look), now, present)
	return slices.AppendSeq(all, maps.Values(found)), err
}
