package mattermost

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"
	"tri/lib/chat/session"
)

// Limits of the server.
const (
	maxChanges = 1000 // posts that since returns, in no promised order (SqlPostStore.GetPostsSince)
	maxPage    = 200  // posts of a page (web.PerPageMaximum)
)

// list is the server's answer where there are several posts.
type list struct {
	Order   []string        `json:"order"`
	Posts   map[string]post `json:"posts"` // those of Order and others that they need
	HasNext bool            `json:"has_next"`
	// FirstInaccessible is set where a plan's limit hides older posts.
	FirstInaccessible int64 `json:"first_inaccessible_post_time"`
}

// catchUp emits what was missed. What comes over a resumed connection is complete, so
// that the events themselves move what is known.
func (l *listening) catchUp(ctx context.Context) error {
	h := session.History[post]{
		Now: l.serverNow, Skew: overlap, Chats: l.watched, Read: l.missed, Unreadable: unreadable,
		Changed: func(p *post) time.Time { return time.UnixMilli(p.changed()) },
		ID:      func(p *post) string { return p.ID },
		Add:     l.add,
	}
	if err := h.CatchUp(ctx, l.Listener); err != nil {
		l.connection = "" // not to be resumed behind the gap
		return err
	}
	if l.gap != nil {
		l.connection, l.next, l.gap = l.gap.connection, l.gap.next, nil
	}
	return nil
}

// missed reads the posts of a chat that were written, edited or deleted later
// than what is known, each once, as it stands now.
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
	posts := make([]post, 0, len(found))
	for _, p := range found {
		posts = append(posts, p)
	}
	return posts, nil
}

// changes calls keep for what changed behind since, deletions included. The
// server returns 1,000 at most, in whatever order its database reads them, and
// takes no second page. Beyond that whole is false: we go on from the middle of
// what came, which finds the rest where it is read by time or as it was written,
// as it mostly is, and proves nothing.
func (c *Client) changes(ctx context.Context, chatID string, since int64, keep func(post)) (whole bool, err error) {
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
		if next == since { // half of them in one millisecond
			next = times[len(times)-1]
		}
		if next <= since {
			return false, nil
		}
		since = next
	}
}

// pages calls keep for every post written behind since that stands, the newest
// first. It is the reading to rely on: changes alone loses posts of long gaps,
// and now and then answers from a stale cache that there are none
// (mattermost/mattermost issues 13846 and 34055).
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
		before = anchor(page, oldest)
	}
}

// anchor is the post before which the next page begins. Before means an earlier
// millisecond, and the oldest's may go on behind this page: so it is the post
// next to it in time, unless they are all of one.
func anchor(page []post, oldest post) string {
	next := oldest
	for _, p := range page {
		if p.CreateAt > oldest.CreateAt && (next.ID == oldest.ID || p.CreateAt < next.CreateAt) {
			next = p
		}
	}
	return next.ID
}
