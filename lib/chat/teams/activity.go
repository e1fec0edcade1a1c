package teams

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/lazyregexp"
	"tri/lib/chat/sink"
	"tri/lib/record/event"
)

// activity is an object that the Bot Framework sends: a message, a change of one, a click.
// https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference#activity-object
type activity struct {
	Type         string       `json:"type"`
	ID           string       `json:"id"`
	Timestamp    time.Time    `json:"timestamp"`
	ServiceURL   string       `json:"serviceUrl"`
	ChannelID    string       `json:"channelId"`
	From         account      `json:"from"`
	Conversation conversation `json:"conversation"`
	Name         string       `json:"name"`
	Text         string       `json:"text"`
	ReplyToID    string       `json:"replyToId"`
	Entities     []struct {
		Type      string  `json:"type"`
		Mentioned account `json:"mentioned"`
	} `json:"entities"`
	Attachments []activityFile `json:"attachments"`
	ChannelData struct {
		Team struct {
			Name  string `json:"name"`
			Group string `json:"aadGroupId"`
		} `json:"team"`
		Channel struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"channel"`
		Tenant struct {
			ID string `json:"id"`
		} `json:"tenant"`
	} `json:"channelData"`
	Added   []struct{ Type string } `json:"reactionsAdded"`
	Removed []struct{ Type string } `json:"reactionsRemoved"`
	Value   json.RawMessage         `json:"value"`

	chat, root string // parts of Conversation
}

type account struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	AAD  string `json:"aadObjectId"`
	Role string `json:"role"`
}

type conversation struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"conversationType"` // personal, groupChat, channel
	Tenant string `json:"tenantId"`
}

type activityFile struct {
	Type    string          `json:"contentType"`
	URL     string          `json:"contentUrl"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
}

var (
	chatWord    = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9:._@=-]{0,299}$`)
	messageWord = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9:._=-]{0,255}$`)
	personWord  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9:._@=|+-]{0,299}$`)
	digits      = lazyregexp.New(`^[0-9]{13}$`)
)

// parseActivity parses an activity and checks that all required ids are there and are safe in URL
// paths.
func parseActivity(body []byte) (*activity, error) {
	a := new(activity)
	if err := json.Unmarshal(body, a); err != nil {
		return nil, err
	}
	a.chat, a.root, _ = strings.Cut(a.Conversation.ID, ";messageid=")
	switch {
	case a.Type == "":
		return nil, errors.New("an activity without a type")
	case !chatWord.MatchString(a.chat) || a.root != "" && !messageWord.MatchString(a.root):
		return nil, fmt.Errorf("conversation %q", a.Conversation.ID)
	case a.about() && (!messageWord.MatchString(a.ID) || !personWord.MatchString(a.From.id())):
		return nil, fmt.Errorf("%s %q of %q", a.Type, a.ID, a.From.id())
	case a.Timestamp.Year() < 1 || a.Timestamp.Year() > 9999:
		return nil, fmt.Errorf("time %v", a.Timestamp)
	}
	return a, nil
}

// of reports whether the activity belongs to the configured tenant. The token proves only that the
// Bot Framework sent it, for any tenant that installed the bot; each activity of Teams contains its
// tenant. If no tenant is configured (the playground), it is not checked.
func (a *activity) of(tenant string) bool {
	conversation := a.Conversation.Tenant
	return tenant == "" || strings.EqualFold(a.tenant(), tenant) &&
		(conversation == "" || strings.EqualFold(conversation, tenant))
}

func (a *activity) tenant() string { return cmp.Or(a.ChannelData.Tenant.ID, a.Conversation.Tenant) }

// about reports whether the activity concerns a message.
func (a *activity) about() bool {
	return a.Type == "message" || a.Type == "messageUpdate" || a.Type == "messageDelete"
}

// id returns a person's directory id, which Graph uses too.
func (a account) id() string {
	if a.AAD != "" {
		return a.AAD
	}
	return a.ID
}

func (a account) bot() bool { return strings.HasPrefix(a.ID, "28:") || a.Role == "bot" }

// createdAt returns when a message was written: its id is that time in Unix milliseconds; if it is not,
// the time is given.
func createdAt(id string, given time.Time) time.Time {
	if digits.MatchString(id) {
		if ms, err := strconv.ParseInt(id, 10, 64); err == nil {
			return time.UnixMilli(ms)
		}
	}
	return given
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// activityEvent converts an activity of a message to the common form.
func (c *Client) activityEvent(a *activity) event.Event {
	e := event.Event{
		Platform: platform, ChatID: a.chat, ChatName: c.name(a.chat), MessageID: a.ID, MsgType: "text",
		CreateTime: stamp(createdAt(a.ID, a.Timestamp)), Mentions: []string{}, ThreadID: thread(a.root, a.ID),
		Sender: event.Sender{ID: a.From.id(), Type: "user", Name: a.From.Name},
	}
	e.Permalink = c.permalink(a.chat, a.ID, a.root)
	if a.From.bot() {
		e.Sender.ID, e.Sender.Type = a.From.ID, "bot"
	}
	if a.Type == "messageDelete" {
		e.Deleted, e.EditID, e.EditedAt = true, "deleted", stamp(a.Timestamp)
		return e
	}
	if a.Type == "messageUpdate" {
		e.EditedAt = stamp(a.Timestamp)
	}
	e.Content = called(a.Text)
	a.files(&e)
	for _, x := range a.Entities {
		if id := c.directory(x.Mentioned); x.Type == "mention" && personWord.MatchString(id) &&
			!slices.Contains(e.Mentions, id) {
			e.Mentions = append(e.Mentions, id)
		}
	}
	if a.Conversation.Type == "personal" && e.Sender.Type == "user" &&
		!slices.Contains(e.Mentions, c.botID()) {
		e.Mentions = append(e.Mentions, c.botID()) // a message in a private chat with the bot mentions it
	}
	e.MsgType = kind(&e)
	return e
}

// files reads the attachments: the text as HTML, a quoted message, files.
func (a *activity) files(e *event.Event) {
	for _, f := range a.Attachments {
		var text string
		var file struct {
			ID string `json:"uniqueId"`
		}
		switch {
		case f.Type == "text/html" && json.Unmarshal(f.Content, &text) == nil:
			e.Content = plain(text)
		case f.Type == "messageReference":
			var quoted struct {
				ID string `json:"messageId"`
			}
			if json.Unmarshal(f.Content, &quoted) == nil && messageWord.MatchString(quoted.ID) {
				e.ReplyToID = quoted.ID
			}
		case f.Type == "application/vnd.microsoft.teams.file.download.info":
			_ = json.Unmarshal(f.Content, &file) // its download address is a secret and is left out
			e.Attachments = append(e.Attachments, event.Attachment{ID: file.ID, Name: f.Name, URL: f.URL})
		case strings.HasPrefix(f.Type, "image/"):
			e.Attachments = append(e.Attachments, event.Attachment{Name: f.Name, MIME: f.Type, URL: f.URL})
		}
	}
}

func kind(e *event.Event) string {
	switch {
	case e.Content == "" && len(e.Attachments) > 0:
		if strings.HasPrefix(e.Attachments[0].MIME, "image/") {
			return "image"
		}
		return "file"
	case e.ThreadID != nil:
		return "thread_reply"
	}
	return "text"
}

// thread returns a message's thread_id: the root, unless the message is the root.
func thread(root, id string) *string {
	if root == "" || root == id {
		return nil
	}
	return &root
}

// actions returns the clicks and reactions of an activity.
func (a *activity) actions() (all []event.Action) {
	act := event.Action{
		Platform: platform, ChatID: a.chat, MessageID: a.ReplyToID, At: stamp(a.Timestamp),
		Sender: event.Sender{ID: a.From.id(), Type: "user", Name: a.From.Name},
	}
	if !messageWord.MatchString(a.ReplyToID) || !personWord.MatchString(act.Sender.ID) || a.From.bot() {
		return nil
	}
	switch {
	case a.Type == "messageReaction":
		for i, list := range [][]struct{ Type string }{a.Added, a.Removed} {
			for _, r := range list {
				act.Name, act.Removed = reaction(r.Type), i == 1
				act.ID = fmt.Sprintf("reaction %s %s %s %s %v %s", a.chat, a.ReplyToID, act.Sender.ID, r.Type,
					act.Removed, act.At)
				all = append(all, act)
			}
		}
	case a.clicks():
		var v struct {
			Action struct {
				Verb string `json:"verb"`
				Data struct {
					Value string `json:"tri"`
				} `json:"data"`
			} `json:"action"`
		}
		if json.Unmarshal(a.Value, &v) != nil || !sink.IsButton(v.Action.Verb, v.Action.Data.Value) {
			return nil
		}
		act.Name, act.Value = v.Action.Verb, v.Action.Data.Value
		act.ID = fmt.Sprintf("click %s %s %s %s %s", a.chat, a.ReplyToID, act.Sender.ID, act.Name, a.ID)
		all = append(all, act)
	}
	return all
}

// clicks reports whether the activity is a click on a card.
func (a *activity) clicks() bool { return a.Type == "invoke" && a.Name == "adaptiveCard/action" }

// faces are the reactions with a name; others are named by their character: 1f440_eyes.
var faces = map[string]string{"like": "👍", "heart": "❤️", "laugh": "😆", "surprised": "😮", "sad": "😢",
	"angry": "😠", "plusOne": "👍"}

func reaction(name string) string {
	if face := faces[name]; face != "" {
		return face
	}
	point, _, _ := strings.Cut(name, "_")
	if n, err := strconv.ParseInt(point, 16, 32); err == nil && n >= 0x203c && n <= 0x1ffff {
		return string(rune(n))
	}
	return name
}
