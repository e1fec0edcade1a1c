package export

import (
	"cmp"
	"strings"
	"time"

	"tri/lib/record/event"
)

// DiscordChatExporter writes one file per channel or thread: guild, channel, dates, then messages.
// For a thread, channel.categoryId is the parent channel, and the thread's id is that of the
// message it was started from. https://github.com/Tyrrrz/DiscordChatExporter (JsonMessageWriter)

type discordChannel struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	ParentID string `json:"categoryId"`
	Parent   string `json:"category"`
	Name     string `json:"name"`
}

func (c *discordChannel) thread() bool { return strings.HasSuffix(c.Type, "Thread") }

type discordUser struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Nickname string `json:"nickname"`
	IsBot    bool   `json:"isBot"`
}

type discordMessage struct {
	ID          string        `json:"id"`
	Type        string        `json:"type"`
	Timestamp   string        `json:"timestamp"`
	Content     string        `json:"content"`
	Author      discordUser   `json:"author"`
	Mentions    []discordUser `json:"mentions"`
	Attachments []struct {
		ID   string `json:"id"`
		URL  string `json:"url"`
		Name string `json:"fileName"`
		Size int64  `json:"fileSizeBytes"`
	} `json:"attachments"`
	Embeds []struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"embeds"`
	Reference *struct {
		MessageID string `json:"messageId"`
	} `json:"reference"`
}

func (p *pass) discord(name string) error {
	return p.inside(name, func(d *doc) error {
		var channel discordChannel
		return d.object(func(key string) error {
			switch key {
			case "channel":
				return d.decode(&channel)
			case "messages":
				return each(p, d, func(m *discordMessage) error { return p.discordMessage(&channel, m) })
			}
			return d.skip()
		})
	})
}

func (p *pass) discordMessage(c *discordChannel, m *discordMessage) error {
	// A number is a type that the exporter has no name for: commands and the like.
	if m.Type != "Default" && m.Type != "Reply" && strings.Trim(m.Type, "0123456789") != "" {
		p.notices++
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, m.Timestamp)
	if err != nil || m.ID == "" || c.ID == "" {
		return bad("id %.40q, timestamp %.40q, channel %.40q", m.ID, m.Timestamp, c.ID)
	}
	e := event.Event{
		Platform: "discord", ChatID: c.ID, ChatName: c.Name, MessageID: m.ID, Content: m.Content,
		Sender: event.Sender{ID: cmp.Or(m.Author.ID, "unknown"),
			Name: cmp.Or(m.Author.Nickname, m.Author.Name)},
	}
	if m.Author.IsBot {
		e.Sender.Type = "bot"
	}
	if c.thread() && c.ParentID != "" {
		e.ChatID, e.ChatName = c.ParentID, cmp.Or(c.Parent, c.ParentID)
		if m.ID != c.ID {
			e.ThreadID = &c.ID
		}
	}
	if m.Reference != nil && m.Type == "Reply" {
		e.ReplyToID = m.Reference.MessageID
	}
	for _, u := range m.Mentions {
		e.Mentions = append(e.Mentions, u.ID)
		// Mentions are raw if the export was made without formatting.
		name := "@" + cmp.Or(u.Nickname, u.Name, u.ID)
		e.Content = strings.NewReplacer("<@"+u.ID+">", name, "<@!"+u.ID+">", name).Replace(e.Content)
	}
	for _, a := range m.Attachments {
		e.Attachments = append(e.Attachments,
			event.Attachment{ID: a.ID, Name: cmp.Or(a.Name, a.ID), Size: a.Size, URL: a.URL})
	}
	for _, b := range m.Embeds {
		if e.Content == "" {
			e.Content = cmp.Or(b.Description, b.Title)
		}
	}
	if e.Content == "" && len(e.Attachments) == 0 { // the copy of a thread's first message, a sticker
		p.notices++
		return nil
	}
	return p.add(e, at)
}
