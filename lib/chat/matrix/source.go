package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/record/event"
	"tri/lib/record/presence"
)

// overlap is read again before the last known time: clocks of homeservers differ.
const overlap = time.Minute

// page is the number of events per page of history.
const page = 100

// synced is the part of a sync response that is used.
type synced struct {
	Next  string `json:"next_batch"`
	Rooms struct {
		Join map[string]struct {
			Timeline struct {
				Events  []json.RawMessage `json:"events"`
				Limited bool              `json:"limited"`
				Prev    string            `json:"prev_batch"`
			} `json:"timeline"`
			Ephemeral struct {
				Events []ephemeral `json:"events"`
			} `json:"ephemeral"`
		} `json:"join"`
		Invite map[string]json.RawMessage `json:"invite"`
	} `json:"rooms"`
}

// ephemeral is an event that is not part of a room's history.
type ephemeral struct {
	Type    string `json:"type"`
	Content struct {
		UserIDs []string `json:"user_ids"`
	} `json:"content"`
}

// kept is the state saved between two runs.
type kept struct {
	Since string `json:"since"`
}

// listening is the state of one Run.
type listening struct {
	*Client
	chat.Resume
	chat.Handler
	since     string // the sync token up to which everything is durable; "": none
	begun     time.Time
	up        bool
	recovered int
	encrypted map[string]bool     // encrypted rooms that were reported
	typed     map[string][]string // by room, who typed last
}

func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	l := &listening{Client: c, Resume: resume, Handler: to, encrypted: map[string]bool{},
		typed: map[string][]string{}}
	var k kept
	// a token without a log skips the beginning
	if json.Unmarshal(resume.State, &k) == nil && len(resume.Last) > 0 {
		l.since = k.Since
	}
	s := session.Loop{Platform: "matrix", Now: c.api.Now, Sleep: c.api.Sleep, Wait: c.api.Wait,
		OnEnd: func(err error) {
			l.up = false
			if httpapi.CodeOf(err) == "M_UNKNOWN_POS" || httpapi.StatusOf(err) == http.StatusBadRequest {
				l.since = "" // the server does not know the token any more: continue from the log's times
			}
		}}
	return s.Run(ctx, l, l.sync)
}

// filter returns a filter that excludes what is not used.
func (c *Client) filter() string {
	room := map[string]any{
		"timeline": map[string]any{"limit": page,
			"types": []string{"m.room.message", "m.sticker", "m.room.redaction", "m.reaction",
				"m.room.encrypted", "m.room.name", "m.room.member"}},
		"state":        map[string]any{"types": []string{}},
		"ephemeral":    map[string]any{"types": []string{"m.typing"}},
		"account_data": map[string]any{"types": []string{}},
	}
	if c.chats != nil {
		room["rooms"] = slices.Sorted(maps.Keys(c.chats))
	}
	b, err := json.Marshal(map[string]any{"room": room, "presence": map[string]any{"types": []string{}},
		"account_data": map[string]any{"types": []string{}}})
	if err != nil {
		panic(err) // it consists of strings and numbers
	}
	return string(b)
}

// sync requests new events once and makes them durable before the next request.
func (l *listening) sync(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	if l.begun.IsZero() {
		l.begun = l.api.ServerTime(l.api.Now())
	}
	wait := l.wait
	if !l.up {
		wait = 0
	}
	q := url.Values{"filter": {l.filter()}, "timeout": {strconv.FormatInt(wait.Milliseconds(), 10)}}
	if l.since != "" {
		q.Set("since", l.since)
	}
	var s synced
	if err := l.get(ctx, path("sync"), q, &s, wait); err != nil {
		return err
	}
	if s.Next == "" {
		return errors.New("sync: the answer has no next_batch")
	}
	for id := range s.Rooms.Invite {
		l.accept(ctx, id)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Rooms.Join)) {
		t := s.Rooms.Join[id].Timeline
		events := parse(t.Events)
		if t.Limited || l.since == "" {
			older, err := l.older(ctx, id, t.Prev, events)
			if err != nil {
				return err
			}
			events = append(older, events...)
		}
		if err := l.take(ctx, id, events); err != nil {
			return err
		}
		for _, e := range s.Rooms.Join[id].Ephemeral.Events {
			if e.Type == "m.typing" {
				l.typing(id, e.Content.UserIDs)
			}
		}
	}
	moved := s.Next != l.since
	l.since = s.Next
	if moved {
		if b, err := json.Marshal(kept{l.since}); err == nil {
			if err := l.Save(b); err != nil {
				return session.FatalError{Err: err}
			}
		}
	}
	if !l.up {
		l.up = true
		l.OnConnect(true)
		if l.recovered > 0 && len(l.Last) > 0 {
			l.Logf("matrix: recovered %d messages and changes", l.recovered)
		}
		l.recovered = 0
	}
	return nil
}

// typingTime bounds an indicator: a homeserver reports the whole list of who types when it changes,
// but not always when one times out.
const typingTime = 10 * time.Second

// typing reports who types in a room, and who no longer does.
func (l *listening) typing(room string, users []string) {
	now := l.api.Now()
	set := func(user string, until time.Time) {
		l.OnTyping(presence.Typing{Platform: platform, ChatID: room, UserID: user, Kind: "typing",
			ReceivedAt: now, ExpiresAt: until})
	}
	for _, user := range l.typed[room] {
		if !slices.Contains(users, user) {
			set(user, now)
		}
	}
	users = users[:min(len(users), maxTyping)]
	for _, user := range users {
		set(user, now.Add(typingTime))
	}
	l.typed[room] = users
}

// maxTyping bounds the people typing in a room.
const maxTyping = 100

func parse(raw []json.RawMessage) []roomEvent {
	events := make([]roomEvent, 0, len(raw))
	for _, r := range raw {
		var x roomEvent
		if json.Unmarshal(r, &x) == nil && x.ID != "" {
			x.Whole = r
			events = append(events, x)
		}
	}
	return events
}

// accept joins a room that is to be watched.
func (l *listening) accept(ctx context.Context, id string) {
	if !l.chats[id] {
		return
	}
	if err := explain(l.api.Once(ctx, httpapi.Request{Method: http.MethodPost,
		Path: path("rooms", id, "join"), JSON: struct{}{}}, nil)); err != nil {
		l.Logf("matrix: join %s: %v", id, err)
		return
	}
	l.Logf("matrix: joined %s", id)
}

// earliest returns the time before which events of a room are not emitted: the room's last time in
// the log, or, if it is not in the log, shortly before the start.
func (l *listening) earliest(id string) int64 {
	if at, ok := l.Last[id]; ok {
		return at.Add(-overlap).UnixMilli()
	}
	return l.begun.Add(-overlap).UnixMilli()
}

// older reads the messages between the known ones and the start of a timeline that does not reach
// back to them, oldest first. With a token these begin there, whatever times the events claim; without
// one, at the room's horizon.
func (l *listening) older(ctx context.Context, id, from string, have []roomEvent) ([]roomEvent, error) {
	horizon := l.earliest(id)
	var back []roomEvent
	for from != "" && (l.since != "" || len(have) == 0 || have[0].At > horizon || len(back) > 0) {
		q := url.Values{"dir": {"b"}, "limit": {strconv.Itoa(page)}, "from": {from}}
		if l.since != "" {
			q.Set("to", l.since)
		}
		var got struct {
			Chunk []json.RawMessage `json:"chunk"`
			End   string            `json:"end"`
		}
		err := l.get(ctx, path("rooms", id, "messages"), q, &got, 0)
		if httpapi.StatusOf(err) == http.StatusForbidden {
			l.Logf("matrix: the history of %s cannot be read: %v", id, err)
			break
		}
		if err != nil {
			return nil, err
		}
		events := parse(got.Chunk)
		back = append(back, events...)
		if len(got.Chunk) == 0 || got.End == "" || got.End == from ||
			l.since == "" && len(events) > 0 && events[len(events)-1].At < horizon {
			break
		}
		from = got.End
	}
	slices.Reverse(back)
	if l.since == "" {
		first := slices.IndexFunc(back, func(x roomEvent) bool { return x.At >= horizon })
		if first < 0 {
			first = len(back)
		}
		back = back[first:]
	}
	return back, nil
}

// take makes the events of a room durable, in order.
func (l *listening) take(ctx context.Context, id string, events []roomEvent) error {
	var ready []event.Event
	flush := func() error {
		if len(ready) > 0 {
			if err := l.OnEvents(ready...); err != nil {
				return session.FatalError{Err: err}
			}
		}
		ready = nil
		return nil
	}
	horizon := l.earliest(id)
	for i := range events {
		x := &events[i]
		switch {
		case l.since == "" && x.At < horizon:
			continue
		case x.Type == "m.room.encrypted" && !l.encrypted[id]:
			l.encrypted[id] = true
			l.Logf("matrix: %s is encrypted: its messages are not read", id)
			continue
		case x.Type == "m.room.name" || x.Type == "m.room.member":
			l.rooms.Forget(id)
			continue
		}
		e, ok, err := l.event(ctx, id, x)
		if err != nil {
			return errors.Join(flush(), err)
		}
		if ok {
			e.Raw = x.Whole
			ready = append(ready, e)
			if !l.up {
				l.recovered++
			}
		}
		a, ok, err := l.action(ctx, id, x)
		if err == nil && ok {
			if err = flush(); err == nil {
				if err = l.OnAction(a); err != nil {
					err = session.FatalError{Err: err}
				}
			}
		}
		if err != nil {
			return errors.Join(flush(), err)
		}
	}
	return flush()
}
