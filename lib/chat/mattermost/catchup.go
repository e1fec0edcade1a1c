package mattermost

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat/session"
)

// Limits of the server.
const (
	maxChanges = 1000 // posts returned for since, in no guaranteed order (SqlPostStore.GetPostsSince)
	maxPage    = 200  // posts per page (web.PerPageMaximum)
)

// list is a response with several posts.
type list struct {
	Order   []string        `json:"order"`
	Posts   map[string]post `json:"posts"` // those of Order and others that they refer to
	HasNext bool            `json:"has_next"`
	// FirstInaccessible is set if the plan's limit hides older posts.
	FirstInaccessible int64 `json:"first_inaccessible_post_time"`
}

// catchUp emits the missed messages. Events of a resumed connection are complete, so live events
// advance the watermark.
func (l *listening) catchUp(ctx context.Context) error {
	h := session.History[post]{
		Now: l.serverNow, Skew: overlap, Chats: l.watched, Read: l.missed, Unreadable: httpapi.IsUnreadable,
		Changed: func(p *post) time.Time { return time.UnixMilli(p.changed()) },
		ID:      func(p *post) string { return p.ID },
		Add:     l.add,
	}
	if err := h.CatchUp(ctx, l.Listener); err != nil {
		l.connection = "" // must not be resumed after the gap
		return err
	}
	if l.gap != nil {
		l.connection, l.next, l.gap = l.gap.connection, l.gap.next, nil
	}
	return nil
}

// missed reads the posts of a chat that were written, edited or deleted after known, each once in
// its current version.
func (l *listening) missed(ctx context.Context, chatID string, known, _ time.Time) ([]post, error) {
	since := max(known.UnixMilli(), 1)
	found := map[string]post{}
	keep := func(p post) {
		if p.old() || p.changed() <= since || p.ChannelID != chatID || !validID(p.ID) {
			return
		}
		if q, ok := found[p.ID]; !ok || p.changed() > q.changed() {
			found[p.ID] = p
		}
	}
	whole, err := l.changes(ctx, chatID, since, keep)
	if err != nil {
		return nil, err
	}
	if !whole {
		l.Logf("mattermost: chat %s: more than %d changes at once: some edits and deletions of older messages may be missing", chatID, maxChanges)
	}
	if err := l.pages(ctx, chatID, since, keep); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(found)), nil
}

// changes calls keep for posts that changed after since, including deletions. The server returns at
// most 1,000, in an order that depends on its database, and has no further pages. If there are
// more, whole is false: changes continues from the median time of the result, which finds the rest
// if the order is that of time or of creation, as it usually is, but proves nothing.
func (c *Client) changes(ctx context.Context, chatID string, since int64,
	keep func(post)) (whole bool, err error) {
	for whole = true; ; whole = false {
		var l list
		q := url.Values{"since": {strconv.FormatInt(max(since, 1), 10)}}
		if err := c.get(ctx, "channels/"+chatID+"/posts", q, &l); err != nil {
			return false, err
		}
		times := make([]int64, 0, len(l.Order))
		for _, id := range l.Order {
			p := l.Posts[id]
			keep(p)
			times = append(times, p.UpdateAt)
		}
		if len(times) < maxChanges {
			return whole, nil
		}
		slices.Sort(times)
		next := max(times[len(times)/2]-1, since)
		if next == since { // half of them have the same millisecond
			next = times[len(times)-1]
		}
		if next <= since {
			return false, nil
		}
		since = next
	}
}

// pages calls keep for every existing post written after since, newest first. It is needed for
// reliability: changes alone loses posts of long gaps, and occasionally returns an empty result
// from a stale cache (mattermost/mattermost issues 13846 and 34055).
func (c *Client) pages(ctx context.Context, chatID string, since int64, keep func(post)) error {
	before := ""
	for {
		q := url.Values{"per_page": {strconv.Itoa(maxPage)}, "skipFetchThreads": {"true"}}
		if before != "" {
			q.Set("before", before)
		}
		var l list
		if err := c.get(ctx, "channels/"+chatID+"/posts", q, &l); err != nil {
			return err
		}
		page := make([]post, 0, len(l.Order))
		for _, id := range l.Order {
			page = append(page, l.Posts[id])
			keep(l.Posts[id])
		}
		if len(page) < maxPage {
			return nil
		}
		oldest := slices.MinFunc(page, func(a, b post) int { return cmp.Compare(a.CreateAt, b.CreateAt) })
		if oldest.CreateAt <= since {
			return nil
		}
		next := anchor(page, oldest)
		if next == before {
			return fmt.Errorf("posts of %s: the pages do not advance", chatID)
		}
		before = next
	}
}

// anchor returns the post before which the next page begins. The server's "before" means an earlier
// millisecond, and the millisecond of the oldest post may continue after this page: so it is the
// next newer post, unless all have the same time.
func anchor(page []post, oldest post) string {
	next := oldest
	for _, p := range page {
		if p.CreateAt > oldest.CreateAt && (next.ID == oldest.ID || p.CreateAt < next.CreateAt) {
			next = p
		}
	}
	return next.ID
}
