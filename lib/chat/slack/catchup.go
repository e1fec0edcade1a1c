package slack

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
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
		rooms[id] = r
		found, err := l.missed(ctx, id, now)
		if httpapi.StatusOf(err) == http.StatusNotFound {
			if !l.told[id] {
				l.Logf("slack: chat %s cannot be read: %v", id, err)
			}
			l.told[id] = true
			continue
		}
		if err != nil {
			return err
		}
		missed = append(missed, found...)
	}
	slices.SortStableFunc(missed, func(a, b message) int {
		return cmp.Or(a.changed().Compare(b.changed()), cmp.Compare(a.TS, b.TS))
	})
	if err := l.tell(ctx, missed, rooms, now); err != nil {
		return err
	}
	for _, id := range chats {
		l.known.Set(id, now.Add(-nodes))
	}
	l.known.Other, l.past, l.deep = now.Add(-nodes), true, true
	l.remember()
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
		news.Report("slack", l)
	}
	return err
}

// missed reads the messages of a chat that were written or edited later than what
// is known, each once, as it stands now, and what is left of threads whose first
// message was deleted. An edit of what is older than the look back, one in a
// thread where nothing new was said, and a reply that is gone, Slack does not show.
func (l *listening) missed(ctx context.Context, chat string, now time.Time) ([]message, error) {
	since := l.known.Of(chat)
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
