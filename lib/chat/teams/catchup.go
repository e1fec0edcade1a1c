package teams

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"tri/lib/chat/session"
)

const (
	pageSize = 50 // Graph's maximum
	// quietPages is after how many pages of threads without changes the older ones are assumed to be
	// unchanged.
	quietPages = 2
	maxPages   = 2000
	// grace is the age below which a message is left to the live events; it is less than the overlap of
	// the next reading.
	grace = 30 * time.Second
)

// catchUp emits the missed messages of all chats together, in order of time.
func (l *listening) catchUp(ctx context.Context) error {
	if !l.remote() {
		if l.past && !l.told[""] {
			l.told[""] = true
			l.Logf("teams: without a tenant and a secret nothing of the past can be read")
		}
		return nil
	}
	now := l.graph.api.ServerTime(l.o.Now())
	begun, until := now.Add(-overlap), now.Add(overlap)
	if l.swept {
		// Newer messages may still arrive live; the second makes up for the fractions that a Date header
		// lacks.
		until = now.Add(time.Second - min(grace, l.o.Sweep/10))
	}
	var missed []found
	for _, id := range l.watched(ctx) {
		msgs, err := l.history(ctx, id, l.known.Of(id))
		if l.unreadable(id, err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("history of %s: %w", id, err)
		}
		missed = append(missed, slices.DeleteFunc(msgs, func(m found) bool { return m.changed().After(until) })...)
	}
	slices.SortStableFunc(missed, func(a, b found) int {
		return cmp.Or(a.changed().Compare(b.changed()), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	var fresh session.Recovered
	err := session.Recover(missed, func(m *found, g *session.Batch) error {
		before := len(g.Events)
		if err := l.hear(ctx, m.chat, m.message, g); err != nil {
			return err
		}
		for _, e := range g.Events[before:] {
			if e.CreateTime > stamp(l.Last[e.ChatID]) && e.Sender.ID != l.botID() {
				fresh.Add(e.ChatID)
			}
		}
		return nil
	}, l.commit)
	if err != nil {
		return err
	}
	for _, id := range l.watched(ctx) {
		l.known.Advance(id, begun)
	}
	if begun.After(l.known.Other) {
		l.known.Other = begun
	}
	if l.past {
		fresh.Report("teams", l)
	}
	l.past, l.swept = true, true
	return nil
}

// found is a message of a chat's history.
type found struct {
	*message
	chat string
}

// watched returns the chats to read: the configured ones, or all that are known.
func (l *listening) watched(ctx context.Context) []string {
	if !l.told["survey"] {
		if err := l.survey(ctx); err != nil && !l.told["survey failed"] {
			l.told["survey failed"] = true
			l.Logf("teams: %v", err)
		} else if err == nil {
			l.told["survey"] = true
		}
	}
	if l.chats != nil {
		return slices.Sorted(maps.Keys(l.chats))
	}
	all := map[string]bool{}
	for id := range l.Last {
		all[id] = true
	}
	l.mu.Lock()
	for id := range l.rooms {
		all[id] = true
	}
	l.mu.Unlock()
	maps.DeleteFunc(all, func(id string, _ bool) bool { return private(id, "") || !chatWord.MatchString(id) })
	return slices.Sorted(maps.Keys(all))
}

// history returns the messages of a chat, in a channel with their replies, that were written or
// changed at from or later.
func (c *Client) history(ctx context.Context, chatID string, from time.Time) (all []found, err error) {
	path, err := c.messages(ctx, chatID)
	if err != nil {
		return nil, err
	}
	q := url.Values{"$top": {fmt.Sprint(pageSize)}}
	if channel(chatID) {
		q.Set("$expand", "replies")
	} else {
		q.Set("$orderby", "lastModifiedDateTime desc")
		q.Set("$filter", "lastModifiedDateTime gt "+from.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	quiet := 0
	for n := 0; quiet < quietPages && n < maxPages; n++ {
		var page struct {
			Value []message `json:"value"`
			Next  string    `json:"@odata.nextLink"`
		}
		if err := c.graph.read(ctx, path, q, &page); err != nil {
			return nil, err
		}
		before := len(all)
		for i := range page.Value {
			if all, err = c.unfold(ctx, chatID, &page.Value[i], from, all); err != nil {
				return nil, err
			}
		}
		if quiet++; len(all) > before {
			quiet = 0
		}
		if page.Next == "" {
			break
		}
		if path, q, err = c.graph.next(page.Next); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unfold appends the message and its replies to all, as far as they are new.
func (c *Client) unfold(ctx context.Context, chatID string, m *message, from time.Time, all []found) ([]found, error) {
	add := func(m *message) {
		if !m.changed().Before(from) {
			all = append(all, found{m, chatID})
		}
	}
	add(m)
	replies, next := m.Replies, m.RepliesNext
	for n := 0; ; n++ {
		for i := range replies {
			if replies[i].ReplyTo == "" {
				replies[i].ReplyTo = m.ID
			}
			add(&replies[i])
		}
		if next == "" || n == maxPages {
			return all, nil
		}
		path, q, err := c.graph.next(next)
		if err != nil {
			return nil, err
		}
		var page struct {
			Value []message `json:"value"`
			Next  string    `json:"@odata.nextLink"`
		}
		if err := c.graph.read(ctx, path, q, &page); err != nil {
			return nil, err
		}
		replies, next = page.Value, page.Next
	}
}
