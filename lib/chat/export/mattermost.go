package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/record/event"
)

// A Mattermost bulk export has one object per line: version, then teams, channels, users, posts
// with their replies, direct posts. Posts have no ids there, so an id is computed from the fields
// by which the importer distinguishes posts; chats are identified by team and channel name. Both
// differ from the ids of the running server.
// https://docs.mattermost.com/onboard/bulk-loading-data.html

type mattermostLine struct {
	Type    string `json:"type"`
	Channel *struct {
		Team        string `json:"team"`
		Name        string `json:"name"`
		DisplayName string `json:"display_name"`
	} `json:"channel"`
	User *struct {
		Username  string `json:"username"`
		Nickname  string `json:"nickname"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
	} `json:"user"`
	Bot *struct {
		Username string `json:"username"`
	} `json:"bot"`
	Post       *mattermostPost `json:"post"`
	DirectPost *mattermostPost `json:"direct_post"`
}

type mattermostPost struct {
	Team        string           `json:"team"`
	Channel     string           `json:"channel"`
	Members     []string         `json:"channel_members"`
	User        string           `json:"user"`
	Type        string           `json:"type"`
	Message     string           `json:"message"`
	Props       map[string]any   `json:"props"`
	CreateAt    int64            `json:"create_at"` // milliseconds
	Replies     []mattermostPost `json:"replies"`
	Attachments []struct {
		Path string `json:"path"`
	} `json:"attachments"`
}

type mattermostExport struct {
	*pass
	channels map[string]string // display names by team/name
	people   map[string]string // names by username
	bots     map[string]bool
}

func (p *pass) mattermost(name string) error {
	x := &mattermostExport{pass: p, channels: map[string]string{}, people: map[string]string{},
		bots: map[string]bool{}}
	return p.inside(name, func(d *doc) error {
		for {
			err := one(p, d, x.line)
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

func (x *mattermostExport) line(l *mattermostLine) error {
	switch {
	case l.Type == "channel" && l.Channel != nil:
		x.channels[l.Channel.Team+"/"+l.Channel.Name] = cmp.Or(l.Channel.DisplayName, l.Channel.Name)
	case l.Type == "user" && l.User != nil:
		x.people[l.User.Username] = cmp.Or(l.User.Nickname,
			strings.TrimSpace(l.User.FirstName+" "+l.User.LastName), l.User.Username)
	case l.Type == "bot" && l.Bot != nil:
		x.bots[l.Bot.Username] = true
	case l.Type == "post" && l.Post != nil:
		chat := l.Post.Team + "/" + l.Post.Channel
		return x.thread(chat, cmp.Or(x.channels[chat], l.Post.Channel), l.Post)
	case l.Type == "direct_post" && l.DirectPost != nil:
		slices.Sort(l.DirectPost.Members)
		members := strings.Join(l.DirectPost.Members, ",")
		return x.thread("direct/"+members, members, l.DirectPost)
	}
	return nil
}

// thread adds a post and its replies. One that is refused keeps the others.
func (x *mattermostExport) thread(chatID, chatName string, p *mattermostPost) error {
	refused := x.post(chatID, chatName, "", p)
	for i := range p.Replies {
		if refused != nil && !errors.Is(refused, errBad) {
			break
		}
		refused = cmp.Or(x.post(chatID, chatName, p.id(chatID), &p.Replies[i]), refused)
	}
	return refused
}

func (p *mattermostPost) id(chatID string) string {
	return text.SHA256(fmt.Sprintf("%q %q %d %q", chatID, p.User, p.CreateAt, p.Message))[:26]
}

var atName = lazyregexp.New(`@([a-z0-9._-]+)`)

func (x *mattermostExport) post(chatID, chatName, root string, p *mattermostPost) error {
	if strings.HasPrefix(p.Type, "system_") {
		x.notices++
		return nil
	}
	if p.CreateAt <= 0 || p.User == "" {
		return bad("user %.40q, create_at %d", p.User, p.CreateAt)
	}
	e := event.Event{
		Platform: "mattermost", ChatID: chatID, ChatName: chatName, MessageID: p.id(chatID),
		Content: p.Message,
		Sender:  event.Sender{ID: p.User, Name: x.people[p.User]},
	}
	if x.bots[p.User] || isTrue(p.Props["from_bot"]) || isTrue(p.Props["from_webhook"]) {
		e.Sender.Type = "bot"
	}
	if root != "" {
		e.ThreadID = &root
	}
	for _, m := range atName.FindAllStringSubmatch(p.Message, -1) {
		for _, name := range []string{m[1], strings.TrimRight(m[1], "._-")} {
			if _, known := x.people[name]; (known || x.bots[name]) && !slices.Contains(e.Mentions, name) {
				e.Mentions = append(e.Mentions, name)
			}
		}
	}
	for _, a := range p.Attachments {
		e.Attachments = append(e.Attachments, event.Attachment{Name: path.Base(a.Path)})
	}
	return x.add(e, time.UnixMilli(p.CreateAt))
}

func isTrue(v any) bool { return v == true || v == "true" }
