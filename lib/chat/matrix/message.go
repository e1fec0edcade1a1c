package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"tri/lib/record/event"
)

// roomEvent is an event of a room.
type roomEvent struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	Sender   string          `json:"sender"`
	At       int64           `json:"origin_server_ts"` // Unix ms
	StateKey *string         `json:"state_key"`
	Redacts  string          `json:"redacts"` // before room version 11
	Content  content         `json:"-"`
	Raw      json.RawMessage `json:"content"`
	Whole    json.RawMessage `json:"-"` // the event as received
	Unsigned struct {
		Because json.RawMessage `json:"redacted_because"`
	} `json:"unsigned"`
}

// content is the content of the event types in use.
type content struct {
	MsgType  string `json:"msgtype"`
	Body     string `json:"body"`
	FileName string `json:"filename"`
	URL      string `json:"url"`
	Info     struct {
		MIME string `json:"mimetype"`
		Size int64  `json:"size"`
	} `json:"info"`
	Mentions struct {
		UserIDs []string `json:"user_ids"`
	} `json:"m.mentions"`
	New     *content `json:"m.new_content"`
	Redacts string   `json:"redacts"` // from room version 11 on
	Relates struct {
		Type    string `json:"rel_type"`
		EventID string `json:"event_id"`
		Key     string `json:"key"`
		Falling bool   `json:"is_falling_back"`
		ReplyTo struct {
			EventID string `json:"event_id"`
		} `json:"m.in_reply_to"`
	} `json:"m.relates_to"`
	Key string `json:"io.tri.key"` // the idempotency key
}

// UnmarshalJSON treats invalid content as empty: any client may put anything there, and the event
// itself still counts.
func (x *roomEvent) UnmarshalJSON(b []byte) error {
	type bare roomEvent
	if err := json.Unmarshal(b, (*bare)(x)); err != nil {
		return err
	}
	if json.Unmarshal(x.Raw, &x.Content) != nil {
		x.Content = content{}
	}
	return nil
}

// redacted returns the event that a redaction deletes, "" if it names two: in rooms before version 11 the
// content is the sender's, and the homeserver has not looked at it.
func (x *roomEvent) redacted() string {
	if x.Redacts != "" && x.Content.Redacts != "" && x.Redacts != x.Content.Redacts {
		return ""
	}
	return cmp.Or(x.Content.Redacts, x.Redacts)
}

func (x *roomEvent) memo() memo {
	m := memo{sender: x.Sender, at: x.At}
	switch x.Content.Relates.Type {
	case "m.thread":
		m.thread = x.Content.Relates.EventID
	case "m.annotation":
		m.target, m.key = x.Content.Relates.EventID, x.Content.Relates.Key
	}
	return m
}

// accepts reports whether messages of a sender in a room are accepted.
func (c *Client) accepts(ctx context.Context, roomID, sender string) (bool, error) {
	if c.chats != nil && !c.chats[roomID] {
		return false, nil
	}
	self, err := c.me(ctx)
	if err != nil {
		return false, err
	}
	if !c.external && serverOf(sender) != serverOf(self) {
		return false, nil
	}
	if c.chats != nil {
		return true, nil
	}
	r, err := c.room(ctx, roomID)
	return err == nil && !r.private, err
}

// event converts a room's event to the common form; ok is false if it is neither a message nor a
// change of one.
func (c *Client) event(ctx context.Context, roomID string, x *roomEvent) (e event.Event, ok bool, err error) {
	if x.ID == "" || x.Sender == "" || x.StateKey != nil {
		return e, false, nil
	}
	if ok, err := c.accepts(ctx, roomID, x.Sender); err != nil || !ok {
		return e, false, err
	}
	switch x.Type {
	case "m.room.message", "m.sticker":
	case "m.room.redaction":
		return c.deletion(ctx, roomID, x)
	default:
		return e, false, nil
	}
	if len(x.Raw) == 0 || string(x.Raw) == "{}" || x.Unsigned.Because != nil {
		c.threads.Put(x.ID, x.memo())
		return e, false, nil // deleted before it was read: the content is gone
	}
	of, body := x.ID, &x.Content
	about := x.memo()
	if x.Content.Relates.Type == "m.replace" && x.Content.New != nil {
		of, body = x.Content.Relates.EventID, x.Content.New
		about, ok, err = c.threadOf(ctx, roomID, of)
		if !ok || about.sender != x.Sender { // nobody can edit the messages of others
			return e, false, err
		}
	} else {
		c.threads.Put(x.ID, about)
	}
	e, err = c.base(ctx, roomID, of, about)
	if err != nil {
		return e, false, err
	}
	if of != x.ID {
		e.EditID, e.EditedAt = x.ID, stamp(x.At)
	}
	c.fill(&e, x, body)
	return e, true, nil
}

// base returns an event of a message without its contents.
func (c *Client) base(ctx context.Context, roomID, id string, m memo) (event.Event, error) {
	self, err := c.me(ctx)
	if err != nil {
		return event.Event{}, err
	}
	r, err := c.room(ctx, roomID)
	if err != nil {
		return event.Event{}, err
	}
	e := event.Event{
		Platform: platform, ChatID: roomID, ChatName: r.name, MessageID: id, CreateTime: stamp(m.at),
		MsgType: "text", Mentions: []string{},
		Sender:    event.Sender{ID: m.sender, Type: "user", Name: c.name(ctx, m.sender)},
		Permalink: "https://matrix.to/#/" + url.PathEscape(roomID) + "/" + url.PathEscape(id),
	}
	if m.sender == self {
		e.Sender.Type = "bot"
	}
	if m.thread != "" {
		e.ThreadID, e.MsgType = &m.thread, "thread_reply"
	}
	return e, nil
}

// fill sets the contents of an event.
func (c *Client) fill(e *event.Event, x *roomEvent, body *content) {
	self := c.selfKnown()
	if body.MsgType == "m.notice" {
		e.Sender.Type = "bot" // notices of programs, which no program may answer
	}
	rel := &x.Content.Relates
	if !rel.Falling && rel.Type != "m.replace" {
		e.ReplyToID = rel.ReplyTo.EventID
	}
	e.Content = body.Body
	if rel.ReplyTo.EventID != "" && rel.Type != "m.thread" {
		e.Content = withoutQuote(e.Content)
	}
	switch body.MsgType {
	case "m.emote":
		e.Content = "* " + e.Sender.Name + " " + e.Content
	case "m.image", "m.file", "m.audio", "m.video":
		name := cmp.Or(body.FileName, body.Body, "file")
		e.Attachments = []event.Attachment{{ID: body.URL, Name: name, MIME: body.Info.MIME,
			Size: body.Info.Size}}
		if e.Content == name {
			e.Content = ""
		}
		if e.MsgType = "file"; body.MsgType == "m.image" {
			e.MsgType = "image"
		}
	}
	for _, id := range body.Mentions.UserIDs {
		if id != "" && !slices.Contains(e.Mentions, id) {
			e.Mentions = append(e.Mentions, id)
		}
	}
	if e.Sender.ID != self && !slices.Contains(e.Mentions, self) && addresses(body.Body, self) {
		e.Mentions = append(e.Mentions, self)
	}
}

// addresses reports whether a text names an account by its id or "@name"; it is used if the client
// did not list the mentions.
func addresses(text, userID string) bool {
	if strings.Contains(text, userID) {
		return true
	}
	local, _, _ := strings.Cut(userID, ":")
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		if strings.TrimRight(w, ".,:;!?") == strings.ToLower(local) {
			return true
		}
	}
	return strings.HasPrefix(strings.ToLower(text), strings.ToLower(strings.TrimPrefix(local, "@"))+":")
}

// withoutQuote removes the quoted message that older clients put before a reply.
func withoutQuote(s string) string {
	if !strings.HasPrefix(s, "> <") {
		return s
	}
	rest := s
	for strings.HasPrefix(rest, ">") {
		_, after, found := strings.Cut(rest, "\n")
		if !found {
			return s
		}
		rest = after
	}
	return strings.TrimPrefix(rest, "\n")
}

// deletion returns the event of a message's deletion.
func (c *Client) deletion(ctx context.Context, roomID string, x *roomEvent) (event.Event, bool, error) {
	id := x.redacted()
	m, ok, err := c.threadOf(ctx, roomID, id)
	if !ok || m.target != "" {
		return event.Event{}, false, err
	}
	e, err := c.base(ctx, roomID, id, m)
	e.Deleted, e.EditID, e.EditedAt = true, "deleted", stamp(x.At)
	return e, err == nil, err
}

// action returns a reaction to a message of the bot or of who reacts, or the removal of one.
func (c *Client) action(ctx context.Context, roomID string,
	x *roomEvent) (a event.Action, ok bool, err error) {
	id := x.ID
	switch x.Type {
	case "m.reaction":
		c.threads.Put(x.ID, x.memo())
	case "m.room.redaction":
		id = x.redacted()
	default:
		return a, false, nil
	}
	m, known := c.threads.Get(id)
	self := c.selfKnown()
	if !known || m.target == "" || x.Sender == self {
		return a, false, nil
	}
	if ok, err := c.accepts(ctx, roomID, x.Sender); err != nil || !ok {
		return a, false, err
	}
	to, ok, err := c.threadOf(ctx, roomID, m.target)
	if !ok || to.sender != self && to.sender != x.Sender {
		return a, false, err
	}
	return event.Action{
		ID: x.ID, Platform: platform, ChatID: roomID, MessageID: m.target, At: stamp(x.At), Name: m.key,
		Removed: x.Type == "m.room.redaction",
		Sender:  event.Sender{ID: x.Sender, Type: "user", Name: c.name(ctx, x.Sender)},
	}, true, nil
}

func stamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
