package mattermost

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/record/event"
)

// post is a message of the server. Times are Unix milliseconds of the server's clock. UpdateAt
// changes when the message is edited, and also when it is answered, pinned or reacted to; EditAt
// only when it is edited.
type post struct {
	ID         string         `json:"id"`
	CreateAt   int64          `json:"create_at"`
	UpdateAt   int64          `json:"update_at"`
	EditAt     int64          `json:"edit_at"`
	DeleteAt   int64          `json:"delete_at"`
	UserID     string         `json:"user_id"`
	ChannelID  string         `json:"channel_id"`
	RootID     string         `json:"root_id"`
	OriginalID string         `json:"original_id"` // set: an old version of that post
	Message    string         `json:"message"`
	Type       string         `json:"type"` // "" for messages of users
	Props      map[string]any `json:"props"`
	Metadata   struct {
		Files []file `json:"files"`
	} `json:"metadata"`

	raw []byte // the JSON it was parsed from
}

// UnmarshalJSON keeps the original JSON too.
func (p *post) UnmarshalJSON(b []byte) error {
	type bare post
	if err := json.Unmarshal(b, (*bare)(p)); err != nil {
		return err
	}
	p.raw = bytes.Clone(b)
	return nil
}

type file struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	MIME string `json:"mime_type"`
	Size int64  `json:"size"`
}

// changed returns when p got its current version.
func (p *post) changed() int64 { return max(p.CreateAt, p.EditAt, p.DeleteAt) }

// old reports whether p is a version of another post before an edit. The server keeps such versions
// as deleted posts and lists them among the changes.
func (p *post) old() bool { return p.OriginalID != "" }

// prop returns a property that servers and webhooks set as text or as a boolean.
func (p *post) prop(name string) bool {
	v := p.Props[name]
	return v == "true" || v == true
}

// event converts p to the common form. called are the ids that the server lists as mentioned, in
// addition to those in the text.
func (c *Client) event(ctx context.Context, p *post, called []string) (event.Event, error) {
	self, err := c.me(ctx)
	if err != nil {
		return event.Event{}, err
	}
	r, err := c.room(ctx, p.ChannelID)
	if err != nil {
		return event.Event{}, err
	}
	e := event.Event{
		Platform: platform, ChatID: p.ChannelID, MessageID: p.ID, MsgType: p.kind(),
		CreateTime: stamp(p.CreateAt), Mentions: []string{},
		Permalink: c.base.JoinPath("_redirect/pl", p.ID).String(),
	}
	if e.ChatName, err = c.title(ctx, r, self); err != nil {
		return event.Event{}, err
	}
	e.Raw = p.raw
	if p.RootID != "" {
		e.ThreadID = &p.RootID
	}
	if e.Sender, err = c.sender(ctx, p, self); err != nil {
		return event.Event{}, err
	}
	switch {
	case p.DeleteAt > 0:
		// A message is deleted once, and the socket does not give the exact time: the identity is the
		// same however the deletion is noticed.
		e.Deleted, e.EditID, e.EditedAt = true, "deleted", stamp(p.DeleteAt)
		return e, nil
	case p.EditAt > 0:
		e.EditID, e.EditedAt = strconv.FormatInt(p.EditAt, 10), stamp(p.EditAt)
	}
	e.Content = p.Message
	for _, f := range p.Metadata.Files {
		e.Attachments = append(e.Attachments,
			event.Attachment{ID: f.ID, Name: f.Name, MIME: f.MIME, Size: f.Size,
				URL: c.base.JoinPath("api/v4/files", f.ID).String()})
	}
	if strings.HasPrefix(p.Type, "system_") {
		return e, nil
	}
	if e.Mentions, err = c.mentions(ctx, p.Message); err != nil {
		return event.Event{}, err
	}
	if r.Type == direct && p.UserID != self.ID {
		called = append(called, self.ID) // a message in a private chat with the bot mentions it
	}
	for _, id := range called {
		if !slices.Contains(e.Mentions, id) {
			e.Mentions = append(e.Mentions, id)
		}
	}
	return e, nil
}

// sender returns the author of p. Integrations post under people's names; they count as bots.
func (c *Client) sender(ctx context.Context, p *post, self user) (event.Sender, error) {
	u, err := c.person(ctx, p.UserID)
	if err != nil {
		return event.Sender{}, err
	}
	s := event.Sender{ID: p.UserID, Type: "user", Name: u.Username}
	if p.UserID == self.ID || u.IsBot || p.prop("from_bot") || p.prop("from_webhook") {
		s.Type = "bot"
	}
	if name, ok := p.Props["override_username"].(string); ok && p.prop("from_webhook") && name != "" {
		s.Name = name
	}
	return s, nil
}

func (p *post) kind() string {
	switch {
	case strings.HasPrefix(p.Type, "system_"):
		return "system"
	case p.Message == "" && len(p.Metadata.Files) > 0:
		if strings.HasPrefix(p.Metadata.Files[0].MIME, "image/") {
			return "image"
		}
		return "file"
	case p.RootID != "":
		return "thread_reply"
	}
	return "text"
}

func stamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
