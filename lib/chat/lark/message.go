package lark

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/chat/sink"
	"tri/lib/record/event"
)

// message is a message of an event or of the history.
type message struct {
	Chat, ID         string
	Root, Parent     string // of a reply; Root is the first message of its chain
	Topic            string // omt_…
	Kind             string // text, post, image, …
	Raw              string // content, as JSON
	Sender, By, Name string // By is user, app, bot, …
	Tenant           string // of the sender
	Mentioned        []mentioned
	Created, Changed time.Time // Changed is zero for a message that was never changed
	Gone             bool
	Link             string
	Whole            string // the JSON it was parsed from
}

type mentioned struct{ Key, ID, Name string }

// parseEvent parses the event im.message.receive_v1
// (https://open.larksuite.com/document/server-docs/im-v1/message/events/receive). It returns false
// if ids are missing; a field of an unexpected type is ignored.
func parseEvent(r gjson.Result) (message, bool) {
	is, by := r.Get("message"), r.Get("sender")
	m := parse(is)
	m.Kind, m.Raw, m.Whole = str(is, "message_type"), str(is, "content"), r.Raw
	m.Sender, m.By, m.Tenant = str(by, "sender_id.open_id"), str(by, "sender_type"), str(by, "tenant_key")
	for _, who := range list(is, "mentions") {
		m.Mentioned = append(m.Mentioned,
			mentioned{str(who, "key"), str(who, "id.open_id"), str(who, "name")})
	}
	return m, m.good()
}

// parseHistory parses a message of the history
// (https://open.larksuite.com/document/server-docs/im-v1/message/list).
func parseHistory(is gjson.Result) (message, bool) {
	m, by := parse(is), is.Get("sender")
	m.Whole = is.Raw
	m.Kind, m.Raw, m.Gone, m.Link = str(is, "msg_type"), str(is, "body.content"), is.Get("deleted").Bool(),
		str(is, "message_app_link")
	m.Sender, m.By, m.Name, m.Tenant = str(by, "id"), str(by, "sender_type"), str(by, "sender_name"),
		str(by, "tenant_key")
	if !is.Get("updated").Bool() && !m.Gone {
		m.Changed = time.Time{}
	}
	for _, who := range list(is, "mentions") {
		m.Mentioned = append(m.Mentioned, mentioned{str(who, "key"), str(who, "id"), str(who, "name")})
	}
	return m, m.good()
}

func parse(is gjson.Result) message {
	m := message{
		Chat: str(is, "chat_id"), ID: str(is, "message_id"), Root: str(is, "root_id"),
		Parent: str(is, "parent_id"), Topic: str(is, "thread_id"),
		Created: millis(str(is, "create_time")), Changed: millis(str(is, "update_time")),
	}
	if m.Root == m.ID || !messageID.MatchString(m.Root) {
		m.Root = ""
	}
	if !messageID.MatchString(m.Parent) {
		m.Parent = ""
	}
	if !topicID.MatchString(m.Topic) {
		m.Topic = ""
	}
	return m
}

func (m *message) good() bool {
	return chatID.MatchString(m.Chat) && messageID.MatchString(m.ID) && !m.Created.IsZero()
}

// changed returns when m got its current version.
func (m *message) changed() time.Time {
	if m.Changed.After(m.Created) {
		return m.Changed
	}
	return m.Created
}

// fetch requests one message; ok is false if it does not exist.
func (c *Client) fetch(ctx context.Context, id string) (message, bool, error) {
	r, err := c.read(ctx, "im/v1/messages/"+url.PathEscape(id), nil)
	switch {
	case httpapi.StatusOf(err) == http.StatusNotFound:
		return message{}, false, nil
	case err != nil:
		return message{}, false, err
	}
	for _, is := range list(r, "items") { // messages that were forwarded together follow it
		if m, ok := parseHistory(is); ok && m.ID == id {
			return m, true, nil
		}
	}
	return message{}, false, nil
}

// lookup is fetch for an id from an event: a message that may not be read counts as missing.
func (c *Client) lookup(ctx context.Context, id string) (message, bool, error) {
	m, there, err := c.fetch(ctx, id)
	if httpapi.StatusOf(err) == http.StatusBadRequest {
		return message{}, false, nil
	}
	return m, there, err
}

// event converts m to the common form. It returns false if messages of the sender are not accepted.
func (c *Client) event(ctx context.Context, m *message, r room) (event.Event, bool, error) {
	self, err := c.me(ctx)
	if err != nil {
		return event.Event{}, false, err
	}
	if !c.o.AllowExternal && m.Tenant != "" && r.Tenant != "" && m.Tenant != r.Tenant {
		return event.Event{}, false, nil
	}
	e := event.Event{
		Platform: platform, ChatID: m.Chat, ChatName: r.Name, MessageID: m.ID, MsgType: m.kind(),
		CreateTime: stamp(m.Created),
		Mentions:   []string{}, ReplyToID: m.Parent, Permalink: cmp.Or(m.Link, c.link(m.Chat)),
		Sender: c.sender(ctx, m, self),
	}
	e.Raw = []byte(m.Whole)
	root, err := c.root(ctx, m)
	if err != nil {
		return event.Event{}, false, err
	}
	if root != "" {
		e.ThreadID = &root
		if e.MsgType == "text" {
			e.MsgType = "thread_reply"
		}
	}
	if m.Gone {
		// A message is recalled once: the identity is the same however the recall is noticed.
		e.Deleted, e.EditID, e.EditedAt = true, "deleted", stamp(m.changed())
		return e, true, nil
	}
	if m.Changed.After(m.Created) {
		e.EditedAt = stamp(m.Changed)
	}
	e.Content, e.Mentions, e.Attachments = m.readable(self.OpenID, c.o.ID)
	if r.P2P && e.Sender.ID != self.OpenID && m.Kind != "system" &&
		!slices.Contains(e.Mentions, self.OpenID) {
		e.Mentions = append(e.Mentions, self.OpenID) // a message in a private chat with the bot mentions it
	}
	return e, true, nil
}

// sender returns the author of m. The history names an app by its app id; the bot's is replaced by
// the id used in mentions.
func (c *Client) sender(ctx context.Context, m *message, self account) event.Sender {
	if m.Sender == c.o.ID || m.Sender == self.OpenID {
		return event.Sender{ID: self.OpenID, Type: "bot", Name: self.Name}
	}
	s := event.Sender{ID: cmp.Or(m.Sender, "unknown"), Type: "user", Name: m.Name}
	if m.By == "app" || m.By == "bot" || m.Kind == "system" {
		s.Type = "bot"
		return s
	}
	if s.Name == "" {
		s.Name = c.name(ctx, m.Chat, m.Sender)
	}
	return s
}

// root returns the first message of m's thread, "" if that is m. The id of a topic is not a message
// id.
func (c *Client) root(ctx context.Context, m *message) (string, error) {
	if m.Root != "" || m.Topic == "" {
		return m.Root, nil
	}
	root, known := c.roots.Get(m.Topic)
	if !known {
		in := url.Values{"container_id_type": {"thread"}, "container_id": {m.Topic},
			"sort_type": {"ByCreateTimeAsc"}, "page_size": {"1"}}
		r, err := c.read(ctx, "im/v1/messages", in)
		status := httpapi.StatusOf(err)
		if err != nil && status != http.StatusNotFound && status != http.StatusBadRequest {
			return "", err
		}
		if root = str(r, "items.0.message_id"); !messageID.MatchString(root) {
			return m.Parent, nil
		}
		c.roots.Put(m.Topic, root)
	}
	if root == m.ID {
		return "", nil
	}
	return root, nil
}

func (m *message) kind() string {
	switch m.Kind {
	case "", "text", "post":
		return "text"
	case "image", "system":
		return m.Kind
	case "file", "audio", "media", "folder":
		return "file"
	case "interactive":
		return "card"
	}
	return m.Kind
}

// link returns a link that opens the chat in the client; a link to a message is only in the history
// (https://open.larksuite.com/document/applink-protocol/supported-protocol/open-a-chat-page).
func (c *Client) link(chat string) string {
	host := "applink.larksuite.com"
	if strings.Contains(c.o.URL, "feishu") {
		host = "applink.feishu.cn"
	}
	return "https://" + host + "/client/chat/open?openChatId=" + url.QueryEscape(chat)
}

// reaction parses a reaction event: a reaction by another account to a message of the bot, or to a message of
// that account's own. The event contains neither the chat nor the message's author; the history has them.
func (c *Client) reaction(ctx context.Context, r gjson.Result, removed bool) (event.Action, bool, error) {
	id, by, kind, when := str(r, "message_id"), str(r, "user_id.open_id"), str(r, "reaction_type.emoji_type"),
		millis(str(r, "action_time"))
	if !messageID.MatchString(id) || !userID.MatchString(by) || kind == "" || when.IsZero() {
		return event.Action{}, false, nil // a reaction of an app has no user
	}
	self, err := c.me(ctx)
	if err != nil {
		return event.Action{}, false, err
	}
	m, there, err := c.lookup(ctx, id)
	if err != nil || !there || m.Sender != c.o.ID && m.Sender != self.OpenID && m.Sender != by ||
		by == self.OpenID {
		return event.Action{}, false, err
	}
	_, heard, err := c.watches(ctx, m.Chat)
	if err != nil || !heard {
		return event.Action{}, false, err
	}
	return event.Action{
		ID:       fmt.Sprintf("reaction %s %s %s %v %d", id, by, kind, removed, when.UnixMilli()),
		Platform: platform, ChatID: m.Chat, MessageID: id, At: stamp(when),
		Sender: event.Sender{ID: by, Type: "user", Name: c.name(ctx, m.Chat, by)}, Name: emojiOf(kind),
		Removed: removed,
	}, true, nil
}

// click parses the callback card.action.trigger: a click on a button with the form of a card's
// (https://open.larksuite.com/document/feishu-cards/card-callback-communication).
func click(r gjson.Result) (event.Action, bool) {
	in := r.Get("event")
	when, id := millis(str(r, "header.create_time")), str(r, "header.event_id")
	a := event.Action{
		ID: "click " + id, Platform: platform, ChatID: str(in, "context.open_chat_id"),
		MessageID: str(in, "context.open_message_id"), At: stamp(when),
		Sender: event.Sender{ID: str(in, "operator.open_id"), Type: "user"},
		Name:   str(in, "action.value.name"), Value: str(in, "action.value.value"),
	}
	return a, id != "" && len(id) <= 128 && !when.Equal(time.Time{}) && chatID.MatchString(a.ChatID) &&
		messageID.MatchString(a.MessageID) &&
		userID.MatchString(a.Sender.ID) && sink.IsButton(a.Name, a.Value)
}
