package discord

import (
	"context"
	"encoding/json"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat/session"
	"tri/lib/record/event"
	"tri/lib/record/presence"
)

// dispatched adds the events and actions of a frame to b.
func (l *listening) dispatched(ctx context.Context, f frame, b *session.Batch) error {
	switch f.Type {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		return l.message(ctx, f, b)
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		return l.deleted(ctx, f, b)
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE":
		return l.reacted(ctx, f, b)
	case "INTERACTION_CREATE":
		return l.clicked(ctx, f, b)
	case "TYPING_START":
		return l.typing(ctx, f)
	case "RESUMED":
		if l.resumed > 0 {
			l.Logf("discord: resumed, %d messages and changes were waiting", l.resumed)
		}
		l.resumed = -1
	case "GUILD_CREATE", "GUILD_UPDATE":
		l.guild(f)
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		var of struct {
			Guild string `json:"guild_id"`
		}
		if json.Unmarshal(f.Data, &of) == nil {
			l.roles.Forget(of.Guild)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var p place
		if json.Unmarshal(f.Data, &p) == nil && (p.Guild != "" || p.Kind == kindDirect) {
			l.keep(p)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		var p place
		if json.Unmarshal(f.Data, &p) == nil {
			l.places.Forget(p.ID)
		}
	}
	return nil
}

// typingTime is how long Discord shows an indicator after its last event
// (resources/channel#trigger-typing-indicator).
const typingTime = 10 * time.Second

// typing reports that somebody types in a watched chat.
func (l *listening) typing(ctx context.Context, f frame) error {
	var t struct {
		ChannelID string `json:"channel_id"`
		UserID    string `json:"user_id"`
	}
	if json.Unmarshal(f.Data, &t) != nil || !validID(t.ChannelID) || !validID(t.UserID) {
		return nil
	}
	p, err := l.place(ctx, t.ChannelID)
	if err != nil || !l.accepts(&p) {
		return err
	}
	now := l.api.Now()
	typing := presence.Typing{Platform: platform, ChatID: p.chat(), UserID: t.UserID, Kind: "typing",
		ReceivedAt: now, ExpiresAt: now.Add(typingTime)}
	if p.isThread() {
		typing.ThreadID = p.ID
	}
	l.OnTyping(typing)
	return nil
}

// add adds e to b, unless it was emitted recently.
func (l *listening) add(e event.Event, b *session.Batch) {
	if l.Recent.AddTo(b, e) && l.resumed >= 0 {
		l.resumed++
	}
}

// guild stores a server's channels and roles, which saves requests for them.
func (l *listening) guild(f frame) {
	var g struct {
		ID       string  `json:"id"`
		Channels []place `json:"channels"`
		Threads  []place `json:"threads"`
		Roles    []role  `json:"roles"`
	}
	if json.Unmarshal(f.Data, &g) != nil || !validID(g.ID) {
		return
	}
	for _, list := range [][]place{g.Channels, g.Threads} {
		for _, p := range list {
			p.Guild = g.ID
			l.keep(p)
		}
	}
	if g.Roles != nil {
		l.keepRoles(g.ID, g.Roles)
	}
}

// message adds the event of a new message, or of a change of one. Discord also sends an update when
// it adds the preview of a link; that is not an edit.
func (l *listening) message(ctx context.Context, f frame, b *session.Batch) error {
	m, err := readMessage(f.Data)
	if err != nil {
		l.Logf("discord: event %d: not understood, left out: %v", f.Seq, err)
		return nil
	}
	if f.Type == "MESSAGE_UPDATE" && m.edited().IsZero() || m.Kind == typeStarter {
		return nil
	}
	p, err := l.place(ctx, m.ChannelID)
	if err != nil || !l.accepts(&p) {
		return err
	}
	if m.Author == nil { // only the fields that changed
		var raw []byte
		switch err := l.get(ctx, "channels/"+p.ID+"/messages/"+m.ID, nil, &raw); {
		case httpapi.IsUnreadable(err):
			return nil // already deleted
		case err != nil:
			return err
		}
		if m, err = readMessage(raw); err != nil {
			l.Logf("discord: event %d: its message is not understood, left out: %v", f.Seq, err)
			return nil
		}
	}
	if m.external() && !l.external {
		return nil
	}
	e, err := l.event(ctx, m, &p)
	if err != nil {
		return err
	}
	l.recent.senders[m.ID] = e.Sender // it may be deleted before it is durable
	l.add(e, b)
	return nil
}

// deleted adds the events of one deletion or of several.
func (l *listening) deleted(ctx context.Context, f frame, b *session.Batch) error {
	var d struct {
		ID        string   `json:"id"`
		IDs       []string `json:"ids"`
		ChannelID string   `json:"channel_id"`
	}
	if err := json.Unmarshal(f.Data, &d); err != nil || !validID(d.ChannelID) {
		l.Logf("discord: event %d: not understood, left out: %v", f.Seq, err)
		return nil
	}
	p, err := l.place(ctx, d.ChannelID)
	if err != nil || !l.accepts(&p) {
		return err
	}
	for _, id := range append(d.IDs, d.ID) {
		if !validID(id) {
			continue
		}
		e, err := l.removed(ctx, id, &p)
		if err != nil {
			return err
		}
		e.Raw = f.Data
		l.add(e, b)
	}
	return nil
}

// removed returns the event of a deletion noticed now.
func (l *listening) removed(ctx context.Context, id string, p *place) (event.Event, error) {
	at := l.api.ServerTime(l.api.Now())
	if made := createdAt(id); made.After(at) { // the clock is known to within a second
		at = made
	}
	e, err := l.deletionEvent(ctx, id, p, at)
	if s, ok := l.recent.senders[id]; ok {
		e.Sender = s
	}
	return e, err
}
