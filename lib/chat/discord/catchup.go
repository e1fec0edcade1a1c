package discord

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/record/event"
)

// page is the maximum number of messages in one response.
const page = 100

// reading is the state of reading one place's history, page by page.
type reading struct {
	place place
	from  time.Time
	since uint64 // the messages read have larger ids
	next  uint64
	page  []message // oldest first
	whole bool      // there are no further pages
	seen  map[string]bool
}

// catchUp emits the missed messages of all places together, in order of time: wherever it is
// interrupted, the log lacks nothing that is older than its newest event. Edits and deletions come
// last for the same reason.
//
// Discord only returns the current messages. Edits are therefore found among the new messages and
// the hundred before them; a deletion is found as a message that was emitted and is no longer
// there.
func (l *listening) catchUp(ctx context.Context) error {
	begun := l.api.ServerTime(l.api.Now()).Add(-overlap)
	places, err := l.watched(ctx, l.known.Of)
	if err != nil {
		return err
	}
	var all []*reading
	for _, p := range places {
		if p.speaks() {
			from := l.known.Of(p.chat())
			all = append(all, &reading{place: p, from: from, since: after(from), next: after(from), seen: map[string]bool{}})
		}
	}
	fresh, late, err := l.merge(ctx, all)
	if err != nil {
		return err
	}
	for _, r := range all {
		changes, err := l.changes(ctx, r)
		if err != nil {
			return err
		}
		late = append(late, changes...)
	}
	slices.SortStableFunc(late, func(a, b event.Event) int { return strings.Compare(a.EditedAt[:23], b.EditedAt[:23]) })
	for part := range slices.Chunk(late, batch) {
		if err := l.durable(part); err != nil {
			return err
		}
	}
	for _, r := range all {
		l.known.Advance(r.place.chat(), begun)
	}
	if begun.After(l.known.Other) {
		l.known.Other = begun
	}
	if fresh > 0 && l.past {
		l.Logf("discord: recovered %d messages", fresh)
	}
	l.past = true
	l.OnConnect(true)
	return nil
}

// merge emits the new messages of all places by age, with one page of each in memory. Edited
// messages are returned in late, since their time is that of the edit.
func (l *listening) merge(ctx context.Context, all []*reading) (fresh int, late []event.Event, err error) {
	known := map[string]time.Time{} // up to here messages are read again only for the overlap
	for id, at := range l.known.Chats() {
		known[id] = at.Add(overlap)
	}
	var ready []event.Event
	for {
		r, err := l.oldest(ctx, all)
		if err != nil {
			return fresh, late, err
		}
		if r == nil {
			return fresh, late, l.durable(ready)
		}
		m := &r.page[0]
		r.page = r.page[1:]
		if m.Kind == typeStarter || m.external() && !l.external {
			continue
		}
		e, err := l.event(ctx, m, &r.place)
		if err != nil {
			return fresh, late, err
		}
		if made(m.ID).After(known[e.ChatID]) {
			fresh++
		}
		if e.EditedAt != "" {
			late = append(late, e)
			continue
		}
		if ready = append(ready, e); len(ready) == batch {
			if err := l.durable(ready); err != nil {
				return fresh, late, err
			}
			ready = nil
		}
	}
}

// oldest returns the place whose next message is the oldest of all, nil at the end.
func (l *listening) oldest(ctx context.Context, all []*reading) (first *reading, err error) {
	for _, r := range all {
		if len(r.page) == 0 && !r.whole {
			if err := l.turn(ctx, r); err != nil {
				return nil, err
			}
		}
		if len(r.page) > 0 && (first == nil || compareID(r.page[0].ID, first.page[0].ID) < 0) {
			first = r
		}
	}
	return first, nil
}

// turn reads a place's next page. If the place's newest message is already known, no request is
// made.
func (l *listening) turn(ctx context.Context, r *reading) error {
	if last := number(r.place.Last); last != 0 && last <= r.next || r.place.Last == "" && r.place.Kind != kindDirect && r.place.Name != "" {
		r.whole = true
		return nil
	}
	ms, ends, err := l.messages(ctx, r.place.ID, "after", r.next)
	if unreadable(err) {
		l.Logf("discord: chat %s cannot be read: %v", r.place.ID, err)
		r.whole, err = true, nil
	}
	if err != nil {
		return err
	}
	for i := range ms {
		r.seen[ms[i].ID] = true
		r.next = max(r.next, number(ms[i].ID))
	}
	r.page, r.whole = ms, r.whole || ends
	return nil
}

// messages reads a page of messages after, or before, an id, oldest first. Messages that cannot be
// parsed are left out; ends reports whether there are no more.
func (c *Client) messages(ctx context.Context, place, where string, id uint64) (ms []message, ends bool, err error) {
	q := url.Values{"limit": {strconv.Itoa(page)}, where: {strconv.FormatUint(id, 10)}}
	var raws []json.RawMessage
	if err := c.get(ctx, "channels/"+place+"/messages", q, &raws); err != nil {
		return nil, false, err
	}
	for _, raw := range raws {
		if m, err := readMessage(raw); err == nil {
			ms = append(ms, *m)
		}
	}
	slices.SortFunc(ms, func(a, b message) int { return compareID(a.ID, b.ID) })
	return ms, len(raws) < page || len(ms) == 0, nil
}

// changes returns the edits and deletions of messages that were known.
func (l *listening) changes(ctx context.Context, r *reading) (events []event.Event, err error) {
	known := l.recent.of(r.place.ID)
	quiet := r.place.thread() && number(r.place.Last) <= r.since
	if len(known) == 0 && (!l.past || quiet) { // a server has hundreds of threads without new messages
		return nil, nil
	}
	before, ends, err := l.messages(ctx, r.place.ID, "before", r.since+1)
	if unreadable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range before {
		m := &before[i]
		r.seen[m.ID] = true
		if m.edited().Before(r.from) || m.Kind == typeStarter || m.external() && !l.external {
			continue
		}
		e, err := l.event(ctx, m, &r.place)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	oldest := uint64(0)
	if !ends {
		oldest = number(before[0].ID)
	}
	if len(r.seen) == 0 {
		// Without the permission to read the history the list is empty
		// (resources/message#get-channel-messages).
		return events, nil
	}
	for _, id := range known {
		if number(id) < oldest || r.seen[id] {
			continue
		}
		e, err := l.removed(ctx, id, &r.place)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}
