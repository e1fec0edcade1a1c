package teams

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tri/lib/record/event"
)

// message is a chatMessage of Graph. https://learn.microsoft.com/graph/api/resources/chatmessage
type message struct {
	ID       string     `json:"id"`
	ReplyTo  string     `json:"replyToId"` // the root, in a channel
	Type     string     `json:"messageType"`
	ChatID   string     `json:"chatId"`
	Created  time.Time  `json:"createdDateTime"`
	Modified time.Time  `json:"lastModifiedDateTime"` // also changed by reactions
	Edited   *time.Time `json:"lastEditedDateTime"`
	Deleted  *time.Time `json:"deletedDateTime"`
	From     *struct {
		User *struct {
			ID     string `json:"id"`
			Name   string `json:"displayName"`
			Kind   string `json:"userIdentityType"`
			Tenant string `json:"tenantId"`
		} `json:"user"`
		Application *struct {
			ID   string `json:"id"`
			Name string `json:"displayName"`
		} `json:"application"`
	} `json:"from"`
	Body struct {
		Type    string `json:"contentType"`
		Content string `json:"content"`
	} `json:"body"`
	Channel *struct {
		Team    string `json:"teamId"`
		Channel string `json:"channelId"`
	} `json:"channelIdentity"`
	Attachments []struct {
		ID      string `json:"id"`
		Type    string `json:"contentType"`
		URL     string `json:"contentUrl"`
		Name    string `json:"name"`
		Content string `json:"content"` // JSON, or ""
	} `json:"attachments"`
	Mentions []struct {
		Mentioned struct {
			User        *struct{ ID string } `json:"user"`
			Application *struct{ ID string } `json:"application"`
		} `json:"mentioned"`
	} `json:"mentions"`
	Replies     []message `json:"replies"`
	RepliesNext string    `json:"replies@odata.nextLink"`
}

// changed returns when the message got its current version.
func (m *message) changed() time.Time {
	t := m.Created
	for _, x := range []*time.Time{m.Edited, m.Deleted} {
		if x != nil && x.After(t) {
			t = *x
		}
	}
	return t
}

// check returns why the message cannot be an event, or nil.
func (m *message) check() error {
	switch {
	case m.Type != "" && m.Type != "message":
		return errors.New("not a person's message")
	case !messageWord.MatchString(m.ID) || m.ReplyTo != "" && !messageWord.MatchString(m.ReplyTo):
		return fmt.Errorf("message %q in thread %q", m.ID, m.ReplyTo)
	case m.Created.IsZero() || m.Created.Year() > 9999 || m.changed().Year() > 9999:
		return fmt.Errorf("message %s: created %v", m.ID, m.Created)
	}
	return nil
}

// sender returns the author; ok is false if Graph does not name one.
func (c *Client) sender(m *message) (event.Sender, bool) {
	switch {
	case m.From == nil:
	case m.From.Application != nil && word.MatchString(m.From.Application.ID):
		return event.Sender{ID: "28:" + m.From.Application.ID, Type: "bot", Name: m.From.Application.Name},
			true
	case m.From.User != nil && personWord.MatchString(m.From.User.ID):
		return event.Sender{ID: m.From.User.ID, Type: "user", Name: m.From.User.Name}, true
	}
	return event.Sender{}, false
}

// text returns the message's text, without files.
func (m *message) text() string {
	if m.Body.Type == "text" {
		return m.Body.Content
	}
	return plain(m.Body.Content)
}

// forwarded is the type of an attachment with a message that was passed on
// (learn.microsoft.com/graph/api/chatmessage-post, forwardedMessageReference).
const forwarded = "forwardedMessageReference"

func forward(e *event.Event, content []byte) {
	var was struct {
		HTML string `json:"originalMessageContent"`
		From struct {
			User struct {
				Name string `json:"displayName"`
			} `json:"user"`
		} `json:"originalMessageSender"`
	}
	_ = json.Unmarshal(content, &was) // what cannot be read was forwarded all the same
	e.Forward(was.From.User.Name, plain(was.HTML))
}

// messageEvent converts a message of Graph to the common form; ok is false for system messages and,
// unless deleted, messages without an author.
func (c *Client) messageEvent(chatID string, m *message) (event.Event, bool) {
	from, ok := c.sender(m)
	if m.check() != nil || !ok && m.Deleted == nil {
		return event.Event{}, false
	}
	if !ok {
		from = event.Sender{ID: "unknown", Type: "user"}
	}
	e := event.Event{
		Platform: platform, ChatID: chatID, ChatName: c.name(chatID), MessageID: m.ID, Sender: from,
		MsgType:    "text",
		CreateTime: stamp(createdAt(m.ID, m.Created)), Mentions: []string{},
		ThreadID: thread(m.ReplyTo, m.ID), Permalink: c.permalink(chatID, m.ID, m.ReplyTo),
	}
	if m.Deleted != nil {
		e.Deleted, e.EditID, e.EditedAt = true, "deleted", stamp(*m.Deleted)
		return e, true
	}
	if m.Edited != nil {
		e.EditedAt = stamp(*m.Edited)
	}
	e.Content = m.text()
	for _, f := range m.Attachments {
		switch {
		case f.Type == "messageReference" && messageWord.MatchString(f.ID):
			e.ReplyToID = f.ID
		case f.Type == forwarded:
			forward(&e, []byte(f.Content))
		case f.Type == "reference" || strings.HasPrefix(f.Type, "image/"):
			e.Attachments = append(e.Attachments, event.Attachment{ID: f.ID, Name: f.Name, URL: f.URL})
		}
	}
	for _, x := range m.Mentions {
		id := ""
		switch {
		case x.Mentioned.User != nil:
			id = x.Mentioned.User.ID
		case x.Mentioned.Application != nil:
			id = "28:" + x.Mentioned.Application.ID
		}
		if personWord.MatchString(id) && !slices.Contains(e.Mentions, id) {
			e.Mentions = append(e.Mentions, id)
		}
	}
	e.MsgType = kind(&e)
	return e, true
}

// permalink returns the documented deep link to a message.
// https://learn.microsoft.com/microsoftteams/platform/concepts/build-and-test/deep-link-teams
func (c *Client) permalink(chatID, id, root string) string {
	q := url.Values{}
	if !channel(chatID) {
		q.Set("context", `{"contextType":"chat"}`)
	} else {
		if root == "" {
			root = id
		}
		q.Set("tenantId", c.o.Tenant)
		q.Set("parentMessageId", root)
		if group := c.group(chatID); group != "" {
			q.Set("groupId", group)
		}
	}
	return "https://teams.microsoft.com/l/message/" + place(chatID, id) + "?" + q.Encode()
}

// channel reports whether a chat is a channel of a team.
func channel(chatID string) bool {
	return strings.HasSuffix(chatID, "@thread.tacv2") || strings.HasSuffix(chatID, "@thread.skype")
}

// private reports whether a chat is between the bot and one person.
func private(chatID, conversationType string) bool {
	return conversationType == "personal" || strings.HasPrefix(chatID, "a:") ||
		strings.HasSuffix(chatID, "@unq.gbl.spaces")
}
