package export

import (
	"cmp"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"tri/lib/record/event"
)

// Telegram Desktop writes result.json: one chat, or all of them under chats.list. A text is a
// string or a list of strings and objects. In a forum the id of a topic is that of the service
// message that created it. https://github.com/telegramdesktop/tdesktop (export_output_json.cpp)

type telegramChat struct {
	id     string
	name   string
	topics map[int64]int64 // topic of each message in a topic
}

type telegramMessage struct {
	ID        int64        `json:"id"`
	Type      string       `json:"type"`
	Action    string       `json:"action"`
	Date      string       `json:"date"`
	Unix      string       `json:"date_unixtime"`
	From      string       `json:"from"`
	FromID    telegramID   `json:"from_id"`
	Text      telegramText `json:"text"`
	ReplyTo   int64        `json:"reply_to_message_id"`
	ReplyPeer string       `json:"reply_to_peer_id"` // set if that message is in another chat
	Photo     string       `json:"photo"`
	File      string       `json:"file"`
	FileName  string       `json:"file_name"`
	MIME      string       `json:"mime_type"`
	ViaBot    string       `json:"via_bot"`
	// Forwarded is a name, or null for a deleted account; absent if the message was not forwarded.
	Forwarded json.RawMessage `json:"forwarded_from"`
}

// telegramID is the id of an account: user123, or, before 2021, the number alone.
type telegramID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *telegramID) UnmarshalJSON(raw []byte) error {
	var n json.Number
	if len(raw) > 0 && raw[0] != '"' && json.Unmarshal(raw, &n) == nil && n != "" {
		*id = telegramID("user" + n.String())
		return nil
	}
	return json.Unmarshal(raw, (*string)(id))
}

// telegramText is a complete text and the ids mentioned in it.
type telegramText struct {
	text     string
	mentions []string
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *telegramText) UnmarshalJSON(raw []byte) error {
	*t = telegramText{}
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &t.text)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var b strings.Builder
	for _, raw := range parts {
		var part struct {
			Type   string      `json:"type"`
			Text   string      `json:"text"`
			Href   string      `json:"href"`
			UserID json.Number `json:"user_id"`
		}
		into := any(&part)
		if raw[0] == '"' {
			into = &part.Text
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return err
		}
		b.WriteString(part.Text)
		switch {
		case part.Type == "mention":
			t.mentions = append(t.mentions, strings.TrimPrefix(part.Text, "@"))
		case part.Type == "mention_name" && part.UserID != "":
			t.mentions = append(t.mentions, "user"+part.UserID.String())
		case part.Type == "text_link" && part.Href != "" && part.Href != part.Text:
			b.WriteString(" (" + part.Href + ")")
		}
	}
	t.text = b.String()
	return nil
}

func (p *pass) telegram(name string) error {
	return p.inside(name, func(d *doc) error {
		d.src = &repaired{src: d.f}
		chat := newTelegramChat()
		return d.object(func(key string) error {
			if key == "chats" || key == "left_chats" {
				return d.object(func(key string) error {
					if key != "list" {
						return d.skip()
					}
					return d.list(func() error {
						chat := newTelegramChat()
						return d.object(func(key string) error { return p.telegramMember(d, chat, key) })
					})
				})
			}
			return p.telegramMember(d, chat, key)
		})
	})
}

func newTelegramChat() *telegramChat { return &telegramChat{topics: map[int64]int64{}} }

// telegramMember reads one member of a chat object.
func (p *pass) telegramMember(d *doc, c *telegramChat, key string) error {
	switch key {
	case "id":
		var id json.Number
		err := d.decode(&id)
		c.id = id.String()
		return err
	case "name":
		var name *string // null if the account was deleted
		err := d.decode(&name)
		if name != nil {
			c.name = *name
		}
		return err
	case "messages":
		return each(p, d, func(m *telegramMessage) error { return p.telegramMessage(c, m) })
	}
	return d.skip()
}

func (p *pass) telegramMessage(c *telegramChat, m *telegramMessage) error {
	if m.Action == "topic_created" {
		c.topics[m.ID] = m.ID
	}
	if m.Type != "message" {
		p.notices++
		return nil
	}
	at, err := m.time()
	if err != nil || m.ID == 0 || c.id == "" {
		return bad("id %d, date %.40q, chat %.40q", m.ID, m.Date, c.id)
	}
	e := event.Event{
		Platform: "telegram", ChatID: c.id, ChatName: cmp.Or(c.name, c.id),
		MessageID: strconv.FormatInt(m.ID, 10),
		Content:   m.Text.text, Mentions: m.Text.mentions,
		Sender: event.Sender{ID: cmp.Or(string(m.FromID), "unknown"), Name: m.From},
	}
	if m.Forwarded != nil {
		var from string
		_ = json.Unmarshal(m.Forwarded, &from)
		e.Content, e.Mentions = "", nil
		e.Forward(from, m.Text.text)
	}
	if m.ViaBot != "" {
		e.Sender.Type = "bot"
	}
	if m.ReplyTo != 0 && m.ReplyPeer == "" {
		topic, in := c.topics[m.ReplyTo]
		if in {
			c.topics[m.ID] = topic
			id := strconv.FormatInt(topic, 10)
			e.ThreadID = &id
		}
		if topic != m.ReplyTo { // otherwise it only names the topic
			e.ReplyToID = strconv.FormatInt(m.ReplyTo, 10)
		}
	}
	if m.Photo != "" {
		e.Attachments = append(e.Attachments, event.Attachment{Name: base(m.Photo), MIME: "image/jpeg"})
	}
	if m.File != "" {
		e.Attachments = append(e.Attachments,
			event.Attachment{Name: cmp.Or(m.FileName, base(m.File)), MIME: m.MIME})
	}
	return p.add(e, at)
}

// time returns the time from seconds, if the export has them (since 2022), else from the local time
// of the exporting machine, taken as UTC.
func (m *telegramMessage) time() (time.Time, error) {
	if sec, err := strconv.ParseInt(m.Unix, 10, 40); err == nil {
		return time.Unix(sec, 0), nil
	}
	return time.Parse("2006-01-02T15:04:05", m.Date)
}

// repaired reads JSON in which control characters are written as \x0B, as older versions of Telegram
// Desktop do, and converts these escapes to valid JSON.
type repaired struct {
	src     io.Reader
	raw     [4 << 10]byte
	out     []byte // converted, not yet read
	pending bool   // the last byte was a backslash
	err     error
}

func (m *repaired) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		var n int
		n, m.err = m.src.Read(m.raw[:])
		for _, c := range m.raw[:n] {
			switch {
			case m.pending && c == 'x':
				m.out = append(m.out, `\u00`...)
			case m.pending:
				m.out = append(m.out, '\\', c)
			case c != '\\':
				m.out = append(m.out, c)
			}
			m.pending = !m.pending && c == '\\'
		}
	}
	n := copy(p, m.out)
	m.out = append(m.out[:0], m.out[n:]...)
	return n, nil
}
