package telegram

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"tri/lib/record/event"
)

// update is an element of getUpdates: one of the fields is set.
type update struct {
	ID          int64     `json:"update_id"`
	Message     *message  `json:"message"`
	Edited      *message  `json:"edited_message"`
	Post        *message  `json:"channel_post"`
	EditedPost  *message  `json:"edited_channel_post"`
	Reaction    *reaction `json:"message_reaction"`
	ButtonClick *click    `json:"callback_query"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	ReadsAll  bool   `json:"can_read_all_group_messages"` // of getMe: privacy mode is off
}

func (u *user) name() string {
	return cmp.Or(u.Username, strings.TrimSpace(u.FirstName+" "+u.LastName))
}

// room is a chat.
type room struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"` // private, group, supergroup, channel
	Title    string `json:"title"`
	Username string `json:"username"`
	IsForum  bool   `json:"is_forum"`
}

// message is the part of Telegram's message object that is used. Offsets of entities count UTF-16
// code units. Times are Unix seconds.
type message struct {
	ID         int64    `json:"message_id"`
	Thread     int64    `json:"message_thread_id"`
	IsTopic    bool     `json:"is_topic_message"`
	From       *user    `json:"from"`
	SenderChat *room    `json:"sender_chat"`
	Chat       room     `json:"chat"`
	Date       int64    `json:"date"`
	EditDate   int64    `json:"edit_date"`
	ReplyTo    *message `json:"reply_to_message"`
	ViaBot     *user    `json:"via_bot"`
	Origin     *origin  `json:"forward_origin"`
	Automatic  bool     `json:"is_automatic_forward"` // by the linked channel itself

	Text            string   `json:"text"`
	Entities        []entity `json:"entities"`
	Caption         string   `json:"caption"`
	CaptionEntities []entity `json:"caption_entities"`

	Document  *file  `json:"document"`
	Video     *file  `json:"video"`
	Audio     *file  `json:"audio"`
	Voice     *file  `json:"voice"`
	Animation *file  `json:"animation"`
	Photo     []file `json:"photo"` // one picture in several sizes, the largest last

	MovedTo int64 `json:"migrate_to_chat_id"`
}

// origin says who wrote a forwarded message (core.telegram.org/bots/api#messageorigin): one of the
// fields is set.
type origin struct {
	User   *user  `json:"sender_user"`
	Hidden string `json:"sender_user_name"` // of a user who does not want to be linked
	As     *room  `json:"sender_chat"`
	Chat   *room  `json:"chat"`
}

func (o *origin) name() string {
	switch {
	case o.User != nil:
		return o.User.name()
	case o.As != nil:
		return cmp.Or(o.As.Title, o.As.Username)
	case o.Chat != nil:
		return cmp.Or(o.Chat.Title, o.Chat.Username)
	}
	return o.Hidden
}

type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	URL    string `json:"url"`
	User   *user  `json:"user"`
}

type file struct {
	ID   string `json:"file_id"`
	Name string `json:"file_name"`
	MIME string `json:"mime_type"`
	Size int64  `json:"file_size"`
}

type reaction struct {
	Chat room    `json:"chat"`
	ID   int64   `json:"message_id"`
	User *user   `json:"user"` // nil: anonymous
	Date int64   `json:"date"`
	Old  []emoji `json:"old_reaction"`
	New  []emoji `json:"new_reaction"`
}

type emoji struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

type click struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

// event returns the message of an update, if it is one of a watched chat.
func (l *listening) event(u *update) (event.Event, bool) {
	var m *message
	for _, m = range []*message{u.Message, u.Edited, u.Post, u.EditedPost} {
		if m != nil {
			break
		}
	}
	if m == nil || m.ID == 0 || m.Chat.ID == 0 || !l.watches(&m.Chat) {
		return event.Event{}, false
	}
	if m.MovedTo != 0 {
		l.Logf("telegram: group %d has become supergroup %d: watch that one", m.Chat.ID, m.MovedTo)
	}
	return l.normal(m), true
}

func (l *listening) normal(m *message) event.Event {
	e := event.Event{
		Platform: platform, ChatID: id(m.Chat.ID), ChatName: m.title(), MessageID: id(m.ID),
		CreateTime: stamp(m.Date), MsgType: "text", Sender: l.sender(m), Mentions: []string{},
		Permalink: m.link(),
	}
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	e.Content = readable(text, entities)
	e.Mentions = l.mentions(m, text, entities)
	if m.Origin != nil && !m.Automatic { // all of it was written elsewhere
		said := e.Content
		e.Content, e.Mentions = "", []string{}
		e.Forward(m.Origin.name(), said)
	}
	e.Attachments = m.files()
	if r := m.ReplyTo; r != nil && !(m.IsTopic && r.ID == m.Thread) { // in a topic all reply to its root
		e.ReplyToID = id(r.ID)
	}
	switch {
	case m.Thread != 0 && !m.IsTopic && m.Thread != m.ID:
		// In a supergroup this is the first message of the replies. A forum's topic contains many
		// conversations and is not a thread.
		thread := id(m.Thread)
		e.ThreadID, e.MsgType = &thread, "thread_reply"
	case len(m.Photo) > 0 && text == "":
		e.MsgType = "image"
	case len(e.Attachments) > 0 && text == "":
		e.MsgType = "file"
	case text == "":
		e.MsgType = "system" // a join, a pinned message, a poll, a location
	}
	if m.EditDate != 0 {
		e.EditedAt, e.EditID = stamp(m.EditDate), editID(m.EditDate, text)
	}
	return e
}

func (m *message) title() string {
	if m.Chat.Title != "" {
		return m.Chat.Title
	}
	if m.From != nil {
		return m.From.name()
	}
	return cmp.Or(m.Chat.Username, id(m.Chat.ID))
}

// link returns the message's URL: of a public group by its name, of a private supergroup by its
// number without the leading -100.
func (m *message) link() string {
	if m.Chat.Username != "" && m.Chat.Type != "private" {
		return fmt.Sprintf("https://t.me/%s/%d", m.Chat.Username, m.ID)
	}
	if rest, ok := strings.CutPrefix(id(m.Chat.ID), "-100"); ok && m.Chat.Type != "private" {
		return fmt.Sprintf("https://t.me/c/%s/%d", rest, m.ID)
	}
	return ""
}

// sender returns the author of m: a person, a bot, or a chat that posts as itself.
func (l *listening) sender(m *message) event.Sender {
	switch {
	case m.SenderChat != nil:
		return event.Sender{ID: id(m.SenderChat.ID), Type: "user",
			Name: cmp.Or(m.SenderChat.Title, m.SenderChat.Username)}
	case m.From == nil:
		return event.Sender{ID: id(m.Chat.ID), Type: "user", Name: m.Chat.Title}
	}
	s := event.Sender{ID: id(m.From.ID), Type: "user", Name: m.From.name()}
	if m.From.IsBot || m.ViaBot != nil {
		s.Type = "bot"
	}
	return s
}

// mentions returns the ids of the mentioned accounts, or "@name" where Telegram gives only the
// name. A message in a private chat with the bot, and a command to it, mention the bot.
func (l *listening) mentions(m *message, text string, entities []entity) []string {
	ids := []string{}
	add := func(s string) {
		if s != "" && !slices.Contains(ids, s) {
			ids = append(ids, s)
		}
	}
	self, known := l.self.Get("")
	units := utf16.Encode([]rune(text))
	for _, e := range entities {
		said := strings.ToLower(part(units, e))
		ours := known && self.Username != "" &&
			"@"+strings.ToLower(self.Username) == said[strings.IndexByte(said+"@", '@'):]
		switch {
		case e.Type == "text_mention" && e.User != nil:
			add(id(e.User.ID))
		case (e.Type == "mention" || e.Type == "bot_command") && ours:
			add(id(self.ID))
		case e.Type == "mention":
			add(said)
		}
	}
	if m.Chat.Type == "private" && known && (m.From == nil || m.From.ID != self.ID) {
		add(id(self.ID))
	}
	return ids
}

// part returns the text of an entity, "" if its offsets are invalid.
func part(units []uint16, e entity) string {
	if e.Offset < 0 || e.Length < 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
		return ""
	}
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}

// readable returns the text with the address of each link after it.
func readable(text string, entities []entity) string {
	if !slices.ContainsFunc(entities, func(e entity) bool { return e.Type == "text_link" }) {
		return text
	}
	units := utf16.Encode([]rune(text))
	links := slices.DeleteFunc(slices.Clone(entities), func(e entity) bool {
		return e.Type != "text_link" || e.URL == "" || part(units, e) == "" || part(units, e) == e.URL
	})
	slices.SortStableFunc(links, func(a, b entity) int {
		return cmp.Compare(a.Offset+a.Length, b.Offset+b.Length)
	})
	var b strings.Builder
	from := 0
	for _, e := range links {
		end := e.Offset + e.Length
		b.WriteString(string(utf16.Decode(units[from:end])))
		b.WriteString(" (" + e.URL + ")")
		from = end
	}
	b.WriteString(string(utf16.Decode(units[from:])))
	return b.String()
}

// files returns the attachments of the message.
func (m *message) files() (all []event.Attachment) {
	for _, f := range []*file{m.Document, m.Video, m.Audio, m.Voice, m.Animation} {
		if f != nil {
			all = append(all, event.Attachment{ID: f.ID, Name: cmp.Or(f.Name, "file"), MIME: f.MIME,
				Size: f.Size})
		}
	}
	if n := len(m.Photo); n > 0 {
		all = append(all, event.Attachment{ID: m.Photo[n-1].ID, Name: "photo.jpg", MIME: "image/jpeg",
			Size: m.Photo[n-1].Size})
	}
	return all
}

// actions returns the clicks and reactions of an update.
func (l *listening) actions(u *update) (all []event.Action) {
	switch c, r := u.ButtonClick, u.Reaction; {
	case c != nil && c.Message != nil && c.ID != "":
		name, value, _ := strings.Cut(c.Data, ":")
		all = append(all, event.Action{
			ID: "click " + c.ID, Platform: platform, ChatID: id(c.Message.Chat.ID),
			MessageID: id(c.Message.ID), At: stamp(l.api.Now().Unix()),
			Sender: event.Sender{ID: id(c.From.ID), Type: kind(&c.From), Name: c.From.name()}, Name: name,
			Value: value,
		})
	case r != nil && r.User != nil && l.watches(&r.Chat):
		for _, side := range []struct {
			has, had []emoji
			removed  bool
		}{{r.New, r.Old, false}, {r.Old, r.New, true}} {
			for _, x := range side.has {
				if x.Type != "emoji" || slices.Contains(side.had, x) {
					continue
				}
				all = append(all, event.Action{
					ID: fmt.Sprintf("update %d %s %v", u.ID, x.Emoji, side.removed), Platform: platform,
					ChatID: id(r.Chat.ID), MessageID: id(r.ID),
					At: stamp(r.Date), Sender: event.Sender{ID: id(r.User.ID), Type: kind(r.User),
						Name: r.User.name()}, Name: x.Emoji, Removed: side.removed,
				})
			}
		}
	}
	return all
}

func kind(u *user) string {
	if u.IsBot {
		return "bot"
	}
	return "user"
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

func stamp(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
