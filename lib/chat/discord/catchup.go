package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

// page is the maximum number of messages in one response.
const page = 100

// catchUp emits the missed messages. Edits and deletions come at the times when they were made.
//
// Discord only returns the current messages. Edits are therefore found among the new messages and
// the hundred before them; a deletion is found as a message that was emitted and is no longer
// there.
func (l *listening) catchUp(ctx context.Context) error {
	byChat := map[string][]place{}
	h := session.History[event.Event]{
		Now: func() time.Time { return l.api.ServerTime(l.api.Now()) }, Skew: overlap,
		Unreadable: httpapi.IsUnreadable,
		Chats: func(ctx context.Context) (ids []string, err error) {
			places, err := l.watched(ctx, l.Known.Of)
			for _, p := range places {
				if byChat[p.chat()] == nil {
					ids = append(ids, p.chat())
				}
				byChat[p.chat()] = append(byChat[p.chat()], p)
			}
			return ids, err
		},
		Read: func(ctx context.Context, chatID string, since, _ time.Time) (all []event.Event, err error) {
			for _, p := range byChat[chatID] {
				if !p.hasMessages() {
					continue
				}
				missed, err := l.missed(ctx, p, since)
				if err != nil && !httpapi.IsUnreadable(err) {
					return nil, err
				}
				if err != nil {
					l.LogOnce("chat "+p.ID, "discord: chat %s cannot be read: %v", p.ID, err)
				}
				all = append(all, missed...)
			}
			return all, nil
		},
		Changed: func(e *event.Event) time.Time { return e.ChangedAt() },
		ID:      func(e *event.Event) string { return e.MessageID },
		Add: func(_ context.Context, e *event.Event, b *session.Batch) error {
			l.Recent.AddTo(b, *e)
			return nil
		},
	}
	if err := h.CatchUp(ctx, l.Listener); err != nil {
		l.resumeState = resumeState{} // must not be resumed after the gap
		return err
	}
	if l.gap != nil {
		l.resumeState, l.parsed, l.gap = *l.gap, l.gap.Seq, nil
	}
	return nil
}

// missed returns the messages of a place that were written, edited or deleted after since.
func (l *listening) missed(ctx context.Context, p place, since time.Time) (events []event.Event, err error) {
	first := after(since) // the messages before have smaller ids
	seen := map[string]bool{}
	for next := first; !p.read(next); {
		ms, ends, err := l.messages(ctx, p.ID, "after", next)
		if err != nil {
			return nil, err
		}
		begin := next
		for i := range ms {
			seen[ms[i].ID] = true
			next = max(next, number(ms[i].ID))
		}
		if events, err = l.append(ctx, events, ms, &p, time.Time{}); err != nil {
			return nil, err
		}
		if ends {
			break
		}
		if next == begin {
			return nil, fmt.Errorf("messages of %s: the pages do not advance", p.ID)
		}
	}
	known := l.recent.of(p.ID)
	quiet := p.isThread() && number(p.Last) <= first
	if len(known) == 0 && (!l.Past || quiet) { // a server has hundreds of threads without new messages
		return events, nil
	}
	before, ends, err := l.messages(ctx, p.ID, "before", first+1)
	if httpapi.IsUnreadable(err) {
		return events, nil
	}
	if err != nil {
		return nil, err
	}
	oldest := uint64(0)
	if !ends {
		oldest = number(before[0].ID)
	}
	for i := range before {
		seen[before[i].ID] = true
	}
	if events, err = l.append(ctx, events, before, &p, since); err != nil || len(seen) == 0 {
		// Without the permission to read the history the list is empty
		// (resources/message#get-channel-messages).
		return events, err
	}
	for _, id := range known {
		if number(id) < oldest || seen[id] {
			continue
		}
		e, err := l.removed(ctx, id, &p)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// append appends the events of messages of a place; if edited is set, only of those edited since
// then.
func (l *listening) append(ctx context.Context, events []event.Event, ms []message, p *place,
	edited time.Time) ([]event.Event, error) {
	for i := range ms {
		m := &ms[i]
		if m.Kind == typeStarter || m.external() && !l.external || m.edited().Before(edited) {
			continue
		}
		e, err := l.event(ctx, m, p)
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// read reports whether a place has no message after an id, so that no request need be made.
func (p *place) read(id uint64) bool {
	last := number(p.Last)
	return last != 0 && last <= id || p.Last == "" && p.Kind != kindDirect && p.Name != ""
}

// messages reads a page of messages after, or before, an id, oldest first. Messages that cannot be
// parsed are left out; ends reports whether there are no more.
func (c *Client) messages(ctx context.Context, place, where string,
	id uint64) (ms []message, ends bool, err error) {
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
