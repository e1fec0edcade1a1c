package export

import (
	"cmp"
	"errors"
	"html"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/lazyregexp"
	"tri/lib/record/event"
)

// A Slack export has channels.json, groups.json, dms.json, mpims.json and users.json, and a folder
// per channel (named by the channel, for direct messages by the id) with one file per day.
// https://slack.com/help/articles/220556107-How-to-read-Slack-data-exports

var dayFile = lazyregexp.New(`^\d{4}-\d\d-\d\d\.json$`)

// slackRoot finds the folder that contains the channels' folders.
func slackRoot(names []string) (string, bool) {
	root, found := "", false
	for _, name := range names {
		if !dayFile.MatchString(base(name)) || path.Dir(name) == "." {
			continue
		}
		if dir := path.Dir(path.Dir(name)); !found || len(dir) < len(root) {
			root, found = dir, true
		}
	}
	return root, found
}

type slackUser struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	IsBot    bool   `json:"is_bot"`
	Profile  struct {
		DisplayName string `json:"display_name"`
		RealName    string `json:"real_name"`
	} `json:"profile"`
}

func (u *slackUser) display() string {
	return cmp.Or(u.Profile.DisplayName, u.RealName, u.Profile.RealName, u.Name, u.ID)
}

type slackMessage struct {
	Type     string      `json:"type"`
	Subtype  string      `json:"subtype"`
	User     string      `json:"user"`
	BotID    string      `json:"bot_id"`
	Username string      `json:"username"`
	Text     string      `json:"text"`
	TS       string      `json:"ts"`
	ThreadTS string      `json:"thread_ts"`
	Files    []slackFile `json:"files"`
	Profile  *struct {
		DisplayName string `json:"display_name"`
		RealName    string `json:"real_name"`
	} `json:"user_profile"`
	Attachments []struct {
		Fallback string `json:"fallback"`
		Text     string `json:"text"`
		IsShare  bool   `json:"is_share"` // a message that this one passes on
		Author   string `json:"author_name"`
		Subname  string `json:"author_subname"`
	} `json:"attachments"`
}

type slackFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
	URL      string `json:"url_private"`
}

// spoken are the subtypes of messages that users or bots wrote; others are notices.
var spoken = map[string]bool{
	"": true, "bot_message": true, "me_message": true, "file_share": true,
	"thread_broadcast": true, "reply_broadcast": true, "file_comment": true,
}

// slackExport contains the users and channels that messages refer to.
type slackExport struct {
	*pass
	users map[string]*slackUser
	chats map[string]slackChat // by folder
}

type slackChat struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (p *pass) slack(root string) error {
	s := &slackExport{pass: p, users: map[string]*slackUser{}, chats: map[string]slackChat{}}
	if err := s.people(root); err != nil {
		return err
	}
	for _, name := range p.names {
		dir := path.Dir(name)
		if path.Dir(dir) != root || !dayFile.MatchString(base(name)) {
			continue
		}
		chat, ok := s.chats[base(dir)]
		if !ok {
			chat = slackChat{base(dir), base(dir)}
		}
		err := p.inside(name, func(d *doc) error {
			return each(p, d, func(m *slackMessage) error { return s.message(chat, m) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// people reads the users and channels.
func (s *slackExport) people(root string) error {
	err := s.optional(path.Join(root, "users.json"), func(d *doc) error {
		return each(s.pass, d, func(u *slackUser) error {
			s.users[u.ID] = u
			return nil
		})
	})
	for _, name := range []string{"channels.json", "groups.json", "mpims.json", "dms.json"} {
		err = errors.Join(err, s.optional(path.Join(root, name), func(d *doc) error {
			return each(s.pass, d, func(c *slackChat) error {
				if c.Name == "" { // a direct message: the folder is named by the id
					c.Name = c.ID
				}
				s.chats[c.Name] = *c
				return nil
			})
		}))
	}
	return err
}

func (p *pass) optional(name string, fn func(*doc) error) error {
	if _, err := fs.Stat(p.files, name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return p.inside(name, fn)
}

func (s *slackExport) message(chat slackChat, m *slackMessage) error {
	if m.Type != "message" || !spoken[m.Subtype] {
		s.notices++
		return nil
	}
	at, err := slackTime(m.TS)
	if err != nil {
		return bad("ts %.40q", m.TS)
	}
	e := event.Event{Platform: "slack", ChatID: chat.ID, ChatName: chat.Name, MessageID: m.TS,
		Sender: s.sender(m)}
	if m.ThreadTS != "" && m.ThreadTS != m.TS {
		e.ThreadID = &m.ThreadTS
	}
	text := m.Text
	for _, a := range m.Attachments { // texts of bots are often only there
		if text == "" && !a.IsShare {
			text = cmp.Or(a.Text, a.Fallback)
		}
	}
	e.Content, e.Mentions = s.readable(text)
	for _, a := range m.Attachments {
		if a.IsShare {
			said, _ := s.readable(cmp.Or(a.Text, a.Fallback))
			e.Forward(cmp.Or(a.Author, a.Subname), said)
		}
	}
	for _, f := range m.Files {
		e.Attachments = append(e.Attachments,
			event.Attachment{ID: f.ID, Name: cmp.Or(f.Name, f.ID), MIME: f.Mimetype, Size: f.Size,
				URL: f.URL})
	}
	return s.add(e, at)
}

func (s *slackExport) sender(m *slackMessage) event.Sender {
	sender := event.Sender{ID: cmp.Or(m.User, m.BotID, m.Username, "unknown"), Name: m.Username}
	if u := s.users[m.User]; u != nil {
		sender.Name = u.display()
		if u.IsBot {
			sender.Type = "bot"
		}
	} else if m.Profile != nil {
		sender.Name = cmp.Or(m.Profile.DisplayName, m.Profile.RealName, m.Username)
	}
	if m.BotID != "" || m.Subtype == "bot_message" || m.User == "USLACKBOT" {
		sender.Type = "bot"
	}
	return sender
}

// slackTime parses a ts: seconds, a point and six digits that make it unique.
func slackTime(ts string) (time.Time, error) {
	sec, frac, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(sec, 10, 40)
	if err != nil || len(frac) > 6 {
		return time.Time{}, errBad
	}
	us, err := strconv.ParseUint((frac + "000000")[:6], 10, 32)
	return time.Unix(s, int64(us)*1000), err
}

// slackMark matches Slack's markup: <@U1|name> <#C1|name> <!here> <url|label>.
var slackMark = lazyregexp.New(`<([^<>\n]+)>`)

// readable returns a Slack text as a client shows it, and who is mentioned in it.
func (s *slackExport) readable(text string) (string, []string) {
	var mentions []string
	text = slackMark.ReplaceAllStringFunc(text, func(mark string) string {
		target, label, _ := strings.Cut(mark[1:len(mark)-1], "|")
		switch {
		case strings.HasPrefix(target, "@"):
			id := target[1:]
			mentions = append(mentions, id)
			if u := s.users[id]; u != nil {
				return "@" + u.display()
			}
			return "@" + cmp.Or(label, id)
		case strings.HasPrefix(target, "#"):
			return "#" + cmp.Or(label, s.channel(target[1:]))
		case strings.HasPrefix(target, "!"):
			kind, _, _ := strings.Cut(target[1:], "^")
			return cmp.Or(label, "@"+kind)
		case label == "" || strings.HasSuffix(target, label):
			return strings.TrimPrefix(target, "mailto:")
		default:
			return label + " (" + target + ")"
		}
	})
	return html.UnescapeString(text), mentions
}

func (s *slackExport) channel(id string) string {
	for _, c := range s.chats {
		if c.ID == id {
			return c.Name
		}
	}
	return id
}
