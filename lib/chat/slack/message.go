package slack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat/emoji"
	"tri/lib/chat/sink"
	"tri/lib/record/event"
)

// message is a message of an event or of the history.
type message struct {
	Chat, TS, Thread string // Thread is "" for a message outside threads or the first of one
	Subtype          string
	User, Bot, Name  string // Name is the display name of a bot
	Team             string // of the sender
	Raw              string // text, with Slack's markup
	Edited           string // the time of the last edit, "" for none
	Gone             string // the time of the deletion, "" for none
	LatestReply      string
	Files            []event.Attachment
	Shared           []shared
}

// shared is a message that another one passes on.
type shared struct{ from, said string }

// spoken are the subtypes of messages that users or bots wrote; others are notices.
var spoken = map[string]bool{
	"": true, "bot_message": true, "me_message": true, "file_share": true, "thread_broadcast": true,
	"reply_broadcast": true, "file_comment": true,
}

// parse reads a message; ok is false if ids are missing. Any other field of an unexpected type is
// ignored, so that it cannot keep the message from being read.
func parse(chat string, r gjson.Result) (message, bool) {
	m := message{
		Chat: chat, TS: str(r, "ts"), Thread: str(r, "thread_ts"), Subtype: str(r, "subtype"),
		User: str(r, "user"), Bot: str(r, "bot_id"),
		Name: cmp.Or(str(r, "username"), str(r, "bot_profile.name")),
		Team: cmp.Or(str(r, "user_team"), str(r, "team")),
		Raw:  str(r, "text"), Edited: str(r, "edited.ts"), LatestReply: str(r, "latest_reply"),
	}
	if !chatID.MatchString(chat) || !stampID.MatchString(m.TS) {
		return message{}, false
	}
	if m.Thread == m.TS || !stampID.MatchString(m.Thread) {
		m.Thread = ""
	}
	if !stampID.MatchString(m.Edited) {
		m.Edited = ""
	}
	if !stampID.MatchString(m.LatestReply) {
		m.LatestReply = ""
	}
	if m.Subtype == "tombstone" { // the rest of a deleted first message of a thread
		m.Gone = m.TS
	}
	for _, a := range list(r, "attachments") { // texts of bots are often only there
		switch {
		case a.Get("is_share").Bool(): // another message, passed on
			m.Shared = append(m.Shared, shared{cmp.Or(str(a, "author_name"), str(a, "author_subname")),
				cmp.Or(str(a, "text"), str(a, "fallback"))})
		case m.Raw == "":
			m.Raw = cmp.Or(str(a, "text"), str(a, "fallback"))
		}
	}
	for _, f := range list(r, "files") {
		m.Files = append(m.Files, event.Attachment{
			ID: str(f, "id"), Name: cmp.Or(str(f, "name"), str(f, "title"), str(f, "id")),
			MIME: str(f, "mimetype"), Size: max(f.Get("size").Int(), 0), URL: str(f, "url_private"),
		})
	}
	return m, true
}

func str(r gjson.Result, path string) string {
	if v := r.Get(path); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

func list(r gjson.Result, path string) []gjson.Result {
	if v := r.Get(path); v.IsArray() {
		return v.Array()
	}
	return nil
}

// parseEvent reads a message event: a message, or a change of one. It returns false for events that
// change no text: an added preview, a new reply count.
func parseEvent(r gjson.Result) (message, bool) {
	chat := str(r, "channel")
	switch str(r, "subtype") {
	case "message_changed":
		is, was := r.Get("message"), r.Get("previous_message")
		m, ok := parse(chat, is)
		switch {
		case !ok:
			return message{}, false
		case m.Gone != "":
			m.Gone = stampOf(r)
		case was.IsObject() && str(was, "text") == m.Raw && str(was, "edited.ts") == m.Edited:
			return message{}, false
		case m.Edited == "" && !was.IsObject():
			return message{}, false
		case m.Edited == "":
			m.Edited = stampOf(r)
		}
		return m, ok
	case "message_deleted":
		was, _ := parse(chat, r.Get("previous_message"))
		if was.Chat == "" || was.TS != str(r, "deleted_ts") {
			was = message{Chat: chat, TS: str(r, "deleted_ts")}
		}
		was.Gone = stampOf(r)
		return was, chatID.MatchString(chat) && stampID.MatchString(was.TS) && was.Gone != ""
	case "message_replied":
		return message{}, false
	}
	if r.Get("hidden").Bool() {
		return message{}, false
	}
	return parse(chat, r)
}

// stampOf returns the time of an event.
func stampOf(r gjson.Result) string {
	for _, s := range []string{str(r, "event_ts"), str(r, "ts")} {
		if stampID.MatchString(s) {
			return s
		}
	}
	return ""
}

// changed returns when m got its current version.
func (m *message) changed() time.Time {
	return slices.MaxFunc([]time.Time{at(m.TS), at(m.Edited), at(m.Gone)}, time.Time.Compare)
}

// at parses one of Slack's times: seconds, a point and six digits.
func at(ts string) time.Time {
	sec, frac, ok := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(sec, 10, 64)
	us, err2 := strconv.ParseInt(frac, 10, 64)
	if !ok || err != nil || err2 != nil {
		return time.Time{}
	}
	return time.Unix(s, us*1000).UTC()
}

// ts formats a time as Slack does.
func ts(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }

func stamp(ts string) string { return at(ts).Format("2006-01-02T15:04:05.000000Z07:00") }

// event converts m to the common form. It returns false if messages of the sender are not accepted.
func (c *Client) event(ctx context.Context, m *message, r room) (event.Event, bool, error) {
	self, err := c.me(ctx)
	if err != nil {
		return event.Event{}, false, err
	}
	e := event.Event{
		Platform: platform, ChatID: m.Chat, ChatName: r.Name, MessageID: m.TS, MsgType: m.kind(),
		CreateTime: stamp(m.TS), Mentions: []string{}, Permalink: self.permalink(m),
	}
	if m.Thread != "" {
		e.ThreadID = &m.Thread
	}
	external := false
	if e.Sender, external, err = c.sender(ctx, m, self); err != nil {
		return event.Event{}, false, err
	}
	if external && !c.o.AllowExternal {
		return event.Event{}, false, nil
	}
	if m.Gone != "" {
		// A message is deleted once: the identity is the same however the deletion is noticed.
		e.Deleted, e.EditID, e.EditedAt = true, "deleted", stamp(m.Gone)
		return e, true, nil
	}
	if m.Edited != "" {
		// Slack counts edits in whole seconds: the text distinguishes two in one second.
		e.EditedAt = stamp(m.Edited)
		e.EditID = fmt.Sprintf("%s-%.8x", m.Edited, sha256.Sum256([]byte(m.Raw)))
	}
	e.Attachments = m.Files
	if e.Content, e.Mentions, err = c.readable(ctx, m.Raw); err != nil {
		return event.Event{}, false, err
	}
	for _, s := range m.Shared {
		said, _, err := c.readable(ctx, s.said)
		if err != nil {
			return event.Event{}, false, err
		}
		e.Forward(s.from, said)
	}
	if !spoken[m.Subtype] {
		e.Mentions = []string{}
		return e, true, nil
	}
	if r.Direct != "" && e.Sender.ID != self.User && !slices.Contains(e.Mentions, self.User) {
		e.Mentions = append(e.Mentions, self.User) // a message in a private chat with the bot mentions it
	}
	return e, true, nil
}

// sender returns the author of m, and whether it is a guest or of another organization.
func (c *Client) sender(ctx context.Context, m *message,
	self account) (s event.Sender, external bool, err error) {
	if m.Bot != "" && m.Bot == self.Bot || m.User == self.User {
		return event.Sender{ID: self.User, Type: "bot", Name: cmp.Or(m.Name, self.Name)}, false, nil
	}
	s = event.Sender{ID: cmp.Or(m.User, m.Bot, "unknown"), Type: "user", Name: m.Name}
	if m.Bot != "" || m.Subtype == "bot_message" {
		s.Type = "bot"
	}
	external = self.foreign(m.Team)
	if m.User == "" || m.User == "USLACKBOT" {
		if m.User != "" {
			s.Type, s.Name = "bot", "Slackbot"
		}
		return s, external, nil
	}
	p, err := c.person(ctx, m.User)
	if err != nil {
		return event.Sender{}, false, err
	}
	if p.Bot {
		s.Type = "bot"
	}
	s.Name = cmp.Or(s.Name, p.Name)
	return s, external || p.External, nil
}

func (m *message) kind() string {
	switch {
	case !spoken[m.Subtype] && m.Gone == "":
		return "system"
	case m.Raw == "" && len(m.Files) > 0:
		if strings.HasPrefix(m.Files[0].MIME, "image/") {
			return "image"
		}
		return "file"
	case m.Thread != "":
		return "thread_reply"
	}
	return "text"
}

// permalink returns the same link as chat.getPermalink.
func (a account) permalink(m *message) string {
	if !strings.HasPrefix(a.Domain, "https://") && !strings.HasPrefix(a.Domain, "http://") {
		return ""
	}
	link := strings.TrimSuffix(a.Domain, "/") + "/archives/" + m.Chat + "/p" +
		strings.Replace(m.TS, ".", "", 1)
	if m.Thread != "" {
		link += "?thread_ts=" + m.Thread + "&cid=" + m.Chat
	}
	return link
}

// reaction parses a reaction event: a reaction by another account to a message of the bot, or to a message of
// that account's own.
func reaction(r gjson.Result, self account) (event.Action, bool) {
	a := event.Action{
		Platform: platform, ChatID: str(r, "item.channel"), MessageID: str(r, "item.ts"),
		At:     stamp(stampOf(r)),
		Sender: event.Sender{ID: str(r, "user"), Type: "user"}, Name: emoji.Char(str(r, "reaction")),
		Removed: str(r, "type") == "reaction_removed",
	}
	a.ID = fmt.Sprintf("%s %s:%s %s %s %s", str(r, "type"), a.ChatID, a.MessageID, a.Sender.ID,
		str(r, "reaction"), stampOf(r))
	author := str(r, "item_user")
	return a, str(r, "item.type") == "message" && (author == self.User || author == a.Sender.ID) &&
		a.Sender.ID != self.User &&
		chatID.MatchString(a.ChatID) && stampID.MatchString(a.MessageID) && anyID.MatchString(a.Sender.ID) &&
		stampOf(r) != "" && str(r, "reaction") != ""
}

// clicks returns the clicks of an interaction on buttons with the form of a card's.
func clicks(r gjson.Result) (all []event.Action) {
	if str(r, "type") != "block_actions" {
		return nil
	}
	chat, message := cmp.Or(str(r, "channel.id"), str(r, "container.channel_id")),
		cmp.Or(str(r, "container.message_ts"), str(r, "message.ts"))
	user := str(r, "user.id")
	if !chatID.MatchString(chat) || !stampID.MatchString(message) || !anyID.MatchString(user) {
		return nil
	}
	for _, b := range list(r, "actions") {
		a := event.Action{
			Platform: platform, ChatID: chat, MessageID: message, At: stamp(str(b, "action_ts")),
			Name: str(b, "action_id"), Value: str(b, "value"),
			Sender: event.Sender{ID: user, Type: "user",
				Name: cmp.Or(str(r, "user.name"), str(r, "user.username"))},
		}
		if !stampID.MatchString(str(b, "action_ts")) || !sink.IsButton(a.Name, a.Value) {
			continue
		}
		a.ID = fmt.Sprintf("click %s:%s %s %s %s", chat, message, user, a.Name, str(b, "action_ts"))
		all = append(all, a)
	}
	return all
}
