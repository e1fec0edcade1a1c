package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/record/event"
)

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

// name is what the account is called. What a server calls somebody there is told
// over the gateway only: a text read back must be the one that was heard.
func (u *user) name() string { return cmp.Or(u.GlobalName, u.Username) }

// Types of messages (resources/message#message-object-message-types).
const (
	typeDefault = 0
	typeReply   = 19
	typeCommand = 20 // a bot's answer to a slash command
	typeStarter = 21 // the copy of a thread's first message in the thread
	typeContext = 23 // a bot's answer to a command of a context menu
)

// Flags that are looked at.
const (
	flagCrosspost     = 1 << 1 // a message: published by a channel of another server that this one follows
	flagSuppressEmbed = 1 << 2
	flagGuest         = 1 << 4 // a member: invited to one voice channel only
)

const forward = 1 // the type of a reference; a reply's is 0

// message is Discord's, as far as it is used. Author is nil in an update that
// tells only what has changed.
type message struct {
	ID        string `json:"id"`
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id"` // over the gateway only
	Author    *user  `json:"author"`
	Member    struct {
		Nick  string `json:"nick"`
		Flags int64  `json:"flags"`
	} `json:"member"` // over the gateway only
	Kind      int      `json:"type"`
	Content   string   `json:"content"`
	EditedAt  string   `json:"edited_timestamp"`
	WebhookID string   `json:"webhook_id"`
	Flags     int64    `json:"flags"`
	Mentions  []user   `json:"mentions"`
	Roles     []string `json:"mention_roles"`
	Files     []file   `json:"attachments"`
	Stickers  []struct {
		Name string `json:"name"`
	} `json:"sticker_items"`
	Embeds []struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"embeds"`
	Poll *struct {
		Question struct {
			Text string `json:"text"`
		} `json:"question"`
	} `json:"poll"`
	Reference *struct {
		Kind      int    `json:"type"`
		MessageID string `json:"message_id"`
		ChannelID string `json:"channel_id"`
	} `json:"message_reference"`
	Snapshots []struct {
		Message message `json:"message"`
	} `json:"message_snapshots"`
	Components []struct{} `json:"components"`

	raw []byte // what it was read from
}

// readMessage reads a message that stands on its own.
func readMessage(raw []byte) (*message, error) {
	m := &message{raw: raw}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, err
	}
	if !validID(m.ID) || !validID(m.ChannelID) {
		return nil, fmt.Errorf("message %q in channel %q: an id is a number", m.ID, m.ChannelID)
	}
	return m, nil
}

type file struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
	MIME string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
}

// edited is when the message was last edited; zero when never.
func (m *message) edited() time.Time {
	at, err := time.Parse(time.RFC3339Nano, m.EditedAt)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// said reports whether somebody has written m, and not Discord.
func (m *message) said() bool {
	switch m.Kind {
	case typeDefault, typeReply, typeCommand, typeContext:
		return m.Reference == nil || m.Reference.Kind != forward
	}
	return false
}

// external reports whether m comes from another server, or from a guest.
func (m *message) external() bool {
	return m.Flags&flagCrosspost != 0 || m.Member.Flags&flagGuest != 0
}

// event brings m, which stands in p, into the common shape. An edit is told apart
// by its time, which has microseconds and is the same wherever it is read.
func (c *Client) event(ctx context.Context, m *message, p *place) (event.Event, error) {
	self, err := c.me(ctx)
	if err != nil {
		return event.Event{}, err
	}
	e, err := c.frame(ctx, m.ID, p)
	if err != nil {
		return event.Event{}, err
	}
	e.Sender, e.Raw = m.sender(&self), m.raw
	if at := m.edited(); !at.IsZero() {
		e.EditedAt = at.Format(edits)
	}
	if r := m.Reference; r != nil && r.Kind != forward && m.Kind == typeReply {
		e.ReplyToID = r.MessageID
	}
	for _, f := range m.Files {
		e.Attachments = append(e.Attachments, event.Attachment{ID: f.ID, Name: cmp.Or(f.Name, f.ID), MIME: f.MIME, Size: f.Size, URL: f.URL})
	}
	e.MsgType = m.kind(e.ThreadID != nil)
	if e.Content, err = c.text(ctx, m, p.Guild); err != nil {
		return event.Event{}, err
	}
	if !m.said() {
		return e, nil
	}
	e.Mentions, err = c.mentions(ctx, m, p, &self)
	return e, err
}

const (
	stamps = "2006-01-02T15:04:05.000Z07:00"
	edits  = "2006-01-02T15:04:05.000000Z07:00"
)

// frame is what an event of a message has whatever it says.
func (c *Client) frame(ctx context.Context, id string, p *place) (event.Event, error) {
	e := event.Event{
		Platform: platform, ChatID: p.chat(), MessageID: id, MsgType: "text", CreateTime: made(id).Format(stamps),
		Mentions: []string{}, Sender: event.Sender{Type: "user"},
		Permalink: "https://discord.com/channels/" + cmp.Or(p.Guild, "@me") + "/" + p.ID + "/" + id,
	}
	room := p
	if p.thread() {
		parent, err := c.place(ctx, p.Parent)
		if err != nil {
			return e, err
		}
		room = &parent
		// A thread has the id of the message that it was begun from, or, in a forum,
		// of its own first one.
		if id != p.ID {
			e.ThreadID = &p.ID
		}
	}
	e.ChatName = cmp.Or(room.Name, names(room.Recipients), e.ChatID)
	return e, nil
}

// names are who a private conversation is with.
func names(people []user) string {
	var all []string
	for _, u := range people {
		all = append(all, u.name())
	}
	return strings.Join(all, ", ")
}

// gone is the event of a deletion. Nothing tells when exactly it was, so that it
// is one whenever it is learned of.
func (c *Client) gone(ctx context.Context, id string, p *place, at time.Time) (event.Event, error) {
	e, err := c.frame(ctx, id, p)
	e.Deleted, e.EditID, e.EditedAt = true, "deleted", at.UTC().Format(stamps)
	return e, err
}

func (m *message) sender(self *user) event.Sender {
	if m.Author == nil {
		return event.Sender{Type: "user"}
	}
	s := event.Sender{ID: m.Author.ID, Type: "user", Name: cmp.Or(m.Member.Nick, m.Author.name())}
	if m.Author.Bot || m.WebhookID != "" || m.Author.ID == self.ID {
		s.Type = "bot"
	}
	return s
}

func (m *message) kind(threaded bool) string {
	switch {
	case !m.said():
		return "system"
	case m.Content == "" && len(m.Files) > 0:
		if strings.HasPrefix(m.Files[0].MIME, "image/") {
			return "image"
		}
		return "file"
	case threaded:
		return "thread_reply"
	}
	return "text"
}

// mentions are the ids of whom m calls, in order. The bot is meant, too, by the
// role that Discord has made for it, which is offered beside its name, and by
// what is said to it alone.
func (c *Client) mentions(ctx context.Context, m *message, p *place, self *user) ([]string, error) {
	ids := []string{}
	add := func(id string) {
		if validID(id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, u := range m.Mentions {
		// A reply calls whom it answers even where the text does not.
		add(u.ID)
	}
	for _, id := range m.Roles {
		r, err := c.role(ctx, p.Guild, id)
		if err != nil {
			return nil, err
		}
		if r.Tags.Bot == self.ID {
			add(self.ID)
		}
	}
	if p.Kind == kindDirect && m.Author != nil && m.Author.ID != self.ID {
		add(self.ID)
	}
	return ids, nil
}

// compareID orders by age.
func compareID(a, b string) int { return cmp.Compare(number(a), number(b)) }
