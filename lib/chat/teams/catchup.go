package teams

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"tri/lib/base/text"
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
		if l.Past {
			l.LogOnce("past", "teams: without a tenant and a secret no history can be read")
		}
		return nil
	}
	h := session.History[found]{
		Now: func() time.Time { return l.graph.api.ServerTime(l.o.Now()) }, Skew: overlap, Chats: l.watched,
		Read: func(ctx context.Context, chatID string, since, now time.Time) ([]found, error) {
			all, err := l.history(ctx, chatID, since)
			if l.unreadable(chatID, err) {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("history of %s: %w", chatID, err)
			}
			until := now.Add(overlap)
			if l.swept {
				// Newer messages may still arrive live; the second makes up for the fractions that
				// a Date header lacks.
				until = now.Add(time.Second - min(grace, l.o.Sweep/10))
			}
			return slices.DeleteFunc(all, func(m found) bool { return m.changed().After(until) }), nil
		},
		Unreadable: func(error) bool { return false }, // Read says more
		Changed:    func(m *found) time.Time { return m.changed() },
		ID:         func(m *found) string { return text.Timestamp(m.Created) + m.ID },
		Add: func(ctx context.Context, m *found, b *session.Batch) error {
			return l.addMessage(ctx, m.chat, m.message, b)
		},
	}
	err := h.CatchUp(ctx, l.Listener)
	l.swept = l.swept || err == nil
	return err
}

// found is a message of a chat's history.
type found struct {
	*message
	chat string
}

// watched returns the chats to read: the configured ones, or all that are known.
func (l *listening) watched(ctx context.Context) ([]string, error) {
	if !l.surveyed {
		err := l.readChannels(ctx)
		if l.surveyed = err == nil; err != nil {
			l.LogOnce("survey", "teams: %v", err)
		}
	}
	if l.chats != nil {
		return slices.Sorted(maps.Keys(l.chats)), nil
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
	return slices.Sorted(maps.Keys(all)), nil
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
	err = pages(ctx, c.graph, path, q, func(page []message) (more bool, err error) {
		before := len(all)
		for i := range page {
			if all, err = c.unfold(ctx, chatID, &page[i], from, all); err != nil {
				return false, err
			}
		}
		if quiet++; len(all) > before || !channel(chatID) { // a chat's list has only what changed
			quiet = 0
		}
		return quiet < quietPages, nil
	})
	return all, err
}

// pages calls each for every page of a list, until it returns false.
func pages[T any](ctx context.Context, s *service, path string, q url.Values,
	each func(page []T) (more bool, err error)) error {
	for range maxPages {
		var page struct {
			Value []T    `json:"value"`
			Next  string `json:"@odata.nextLink"`
		}
		if err := s.read(ctx, path, q, &page); err != nil {
			return err
		}
		more, err := each(page.Value)
		if err == nil && more && page.Next != "" {
			path, q, err = s.next(page.Next)
		}
		if err != nil || !more || page.Next == "" {
			return err
		}
	}
	return errors.New("the pages have no end")
}

// unfold appends the message and its replies to all, as far as they are new.
func (c *Client) unfold(ctx context.Context, chatID string, m *message, from time.Time,
	all []found) ([]found, error) {
	add := func(m *message) {
		if !m.changed().Before(from) {
			all = append(all, found{m, chatID})
		}
	}
	add(m)
	take := func(replies []message) (bool, error) {
		for i := range replies {
			if replies[i].ReplyTo == "" {
				replies[i].ReplyTo = m.ID
			}
			add(&replies[i])
		}
		return true, nil
	}
	_, _ = take(m.Replies)
	if m.RepliesNext == "" {
		return all, nil
	}
	path, q, err := c.graph.next(m.RepliesNext)
	if err == nil {
		err = pages(ctx, c.graph, path, q, take)
	}
	return all, err
}
