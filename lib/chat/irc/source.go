package irc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	if len(c.o.Chats) == 0 {
		return sysexit.Hint(sysexit.Errorf(sysexit.Config, "irc: which channels?"),
			"name them under watched_chats: platform: irc, chat_id: '#dev'")
	}
	l := &listening{Client: c, Resume: resume, Handler: to, last: map[string]time.Time{},
		members: map[string]map[string]string{}}
	for id, at := range resume.Last {
		l.last[fold(id)] = at
	}
	s := session.Loop{Platform: "irc", Stable: calm, Now: time.Now, Sleep: c.o.Sleep,
		Wait: func(try int, _ error) time.Duration { return backoff(try, c.o.Chance()) }}
	return s.Run(ctx, l, l.session)
}

// calm is how long a connection must have held for the attempts to be counted from 1 again.
const calm = 10 * time.Second

// listening is the state of one Run.
type listening struct {
	*Client
	chat.Resume
	chat.Handler

	last    map[string]time.Time         // by channel: everything up to then is durable
	members map[string]map[string]string // by channel: nicks as written, by their folded form
	made    int64                        // count of ids generated for messages without one

	meanwhile []line // received while history was read, for all channels
}

// session runs one connection to its end.
func (l *listening) session(ctx context.Context) error {
	k, err := l.dial(ctx, l.o.Nick, l.o.Nick+"1", l.o.Nick+"2")
	if err != nil {
		return err
	}
	defer k.net.Close()
	stop := context.AfterFunc(ctx, func() { _ = k.net.Close() })
	defer stop()
	if err := k.write("JOIN", strings.Join(l.channels(), ",")); err != nil {
		return err
	}
	// Live messages must follow the history, which is read first: their lines are queued. History
	// overlaps with them; duplicates are recognized by their identities.
	l.meanwhile = nil
	if err := l.history(ctx, k); err != nil {
		return err
	}
	l.OnConnect(true)
	for i := range l.meanwhile {
		if err := l.take(k, &l.meanwhile[i], nil); err != nil {
			return err
		}
	}
	l.meanwhile = nil
	asked := false
	for {
		x, err := k.read(l.o.Pulse)
		if errTimeout(err) && !asked {
			asked = true
			if err := k.write("PING tri"); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		asked = false
		if err := l.take(k, &x, nil); err != nil {
			return err
		}
	}
}

func errTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// channels returns the watched chats that are channels, not users.
func (c *Client) channels() []string {
	return slices.DeleteFunc(slices.Clone(c.o.Chats), func(s string) bool { return !isChannel(s) })
}

func isChannel(s string) bool { return s != "" && strings.IndexByte("#&+!", s[0]) >= 0 }

// take processes one line. Messages of a batch are collected into it; others are emitted.
func (l *listening) take(k *conn, x *line, batch *[]event.Event) error {
	switch x.Command {
	case "PING":
		return k.write("PONG", ":"+x.last())
	case "ERROR":
		return fmt.Errorf("the server ends the connection: %q", x.last())
	case "403", "405", "471", "473", "474", "475", "476", "477":
		l.Logf("irc: %s cannot be joined: %q", x.param(1), x.last())
	case "353": // RPL_NAMREPLY
		for nick := range strings.FieldsSeq(x.last()) {
			l.member(x.param(2), strings.TrimLeft(nick, "~&@%+"))
		}
	case "JOIN":
		l.member(x.param(0), x.Nick())
	case "PART", "QUIT", "NICK", "KICK":
		if x.Command == "NICK" {
			for channel := range l.members {
				l.member(channel, x.param(0))
			}
		}
	case "PRIVMSG", "NOTICE":
		e, ok := l.event(k, x)
		if !ok {
			return nil
		}
		if batch != nil {
			*batch = append(*batch, e)
			return nil
		}
		return l.durable([]event.Event{e})
	}
	return nil
}

// maxMembers is the maximum number of known members of a channel.
const maxMembers = 20_000

func (l *listening) member(channel, nick string) {
	m := l.members[fold(channel)]
	if m == nil {
		m = map[string]string{}
		l.members[fold(channel)] = m
	}
	if len(m) < maxMembers {
		m[fold(nick)] = nick
	}
}

func (l *listening) durable(events []event.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := l.OnEvents(events...); err != nil {
		return session.FatalError{Err: err}
	}
	for _, e := range events {
		if at := e.ChangedAt(); at.After(l.last[fold(e.ChatID)]) {
			l.last[fold(e.ChatID)] = at
		}
	}
	return nil
}

// overlap is read again before the last known time.
const overlap = 10 * time.Second

// historyTime is the timeout of a CHATHISTORY request.
const historyTime = 30 * time.Second

// maxMeanwhile is the maximum number of messages queued while history is read.
const maxMeanwhile = 20_000

// history reads the messages missed since the last connection, if the server keeps them
// (https://ircv3.net/specs/extensions/chathistory); otherwise it logs that they cannot be read.
func (l *listening) history(ctx context.Context, k *conn) error {
	var newest time.Time // of all channels: a silent one was listened to until then
	for _, at := range l.last {
		if at.After(newest) {
			newest = at
		}
	}
	for _, channel := range l.channels() {
		since, known := l.last[fold(channel)]
		if !known && newest.IsZero() {
			l.last[fold(channel)] = l.o.Now()
			continue
		}
		if !known {
			since = newest
			l.last[fold(channel)] = since
		}
		if k.history == 0 || !k.caps["batch"] || !k.caps["server-time"] || !k.caps["message-tags"] {
			l.Logf("irc: %s: this server keeps no history: messages since %s are lost", channel,
				since.UTC().Format(time.RFC3339))
			continue
		}
		n, err := l.page(ctx, k, channel, since.Add(-overlap))
		if err != nil {
			return err
		}
		if n > 0 {
			l.Logf("irc: recovered %d messages of %s", n, channel)
		}
	}
	return nil
}

// page reads the history of a channel from since on, page by page. It returns how many of its
// messages are newer than the known ones.
func (l *listening) page(ctx context.Context, k *conn, channel string,
	since time.Time) (fresh int, err error) {
	known := l.last[fold(channel)]
	from := "timestamp=" + since.UTC().Format("2006-01-02T15:04:05.000Z")
	for ctx.Err() == nil {
		if err := k.write("CHATHISTORY AFTER", channel, from, fmt.Sprint(k.history)); err != nil {
			return fresh, err
		}
		got, next, err := l.batch(k, channel)
		if err != nil {
			return fresh, err
		}
		for _, e := range got {
			if e.ChangedAt().After(known) {
				fresh++
			}
		}
		if err := l.durable(got); err != nil {
			return fresh, err
		}
		if next == "" || next == from {
			return fresh, nil
		}
		from = next
	}
	return fresh, ctx.Err()
}

// batch collects the messages of the next chathistory batch of a channel. next is where the following
// batch begins, "" after an empty one: a full one may hold lines that are not messages. Other messages in
// between are new and are queued: they may be of a channel whose history has been read.
func (l *listening) batch(k *conn, channel string) (got []event.Event, next string, err error) {
	name := ""
	for {
		x, err := k.read(historyTime)
		if err != nil {
			return nil, "", fmt.Errorf("read the history of %s: %w", channel, err)
		}
		switch ref := x.param(0); {
		case x.Command == "FAIL" && x.param(0) == "CHATHISTORY":
			l.Logf("irc: the history of %s cannot be read: %q", channel, x.last())
			return nil, "", nil
		case x.Command == "BATCH" && strings.HasPrefix(ref, "+") && x.param(1) == "chathistory" &&
			fold(x.param(2)) == fold(channel):
			name = ref[1:]
		case x.Command == "BATCH" && name != "" && ref == "-"+name:
			return got, next, nil
		case name != "" && x.tag("batch") == name:
			if id, at := x.tag("msgid"), x.tag("time"); id != "" {
				next = "msgid=" + id
			} else if at != "" {
				next = "timestamp=" + at
			}
			if err := l.take(k, &x, &got); err != nil {
				return nil, "", err
			}
		case x.Command == "PRIVMSG" || x.Command == "NOTICE":
			if len(l.meanwhile) == maxMeanwhile {
				return nil, "", fmt.Errorf("read the history of %s: it does not end", channel)
			}
			l.meanwhile = append(l.meanwhile, x)
		default:
			if err := l.take(k, &x, nil); err != nil {
				return nil, "", err
			}
		}
	}
}

// event returns the message of a watched chat.
func (l *listening) event(k *conn, x *line) (event.Event, bool) {
	target, sender, text := x.param(0), x.Nick(), x.last()
	if sender == "" || len(x.Params) < 2 || strings.Contains(sender, ".") &&
		!strings.Contains(x.Source, "!") {
		return event.Event{}, false // sent by a server
	}
	chatID := target
	if !isChannel(target) {
		chatID = sender // a private message
	}
	i := slices.IndexFunc(l.o.Chats, func(s string) bool { return fold(s) == fold(chatID) })
	if i < 0 {
		return event.Event{}, false
	}
	if action, ok := strings.CutPrefix(text, "\x01ACTION "); ok {
		text = "* " + sender + " " + strings.TrimSuffix(action, "\x01")
	} else if strings.HasPrefix(text, "\x01") {
		return event.Event{}, false // a request between clients (CTCP)
	}
	at := l.o.Now().UTC()
	if t, err := time.Parse(time.RFC3339Nano, x.tag("time")); err == nil {
		at = t.UTC()
	}
	id := x.tag("msgid")
	if id == "" {
		l.made++
		id = fmt.Sprintf("%d-%d", l.o.Now().UnixNano(), l.made)
	}
	e := event.Event{
		Platform: platform, ChatID: l.o.Chats[i], ChatName: strings.TrimLeft(l.o.Chats[i], "#&"),
		MessageID: id, MsgType: "text",
		CreateTime: at.Format("2006-01-02T15:04:05.000Z"), Content: withoutFormatting(text),
		ReplyToID: x.tag("+draft/reply"),
		Sender:    event.Sender{ID: sender, Type: "user", Name: sender}, Mentions: []string{},
	}
	e.Raw = []byte(x.whole)
	isBot := x.HasTag("bot")
	switch {
	case l.isSelf(sender) || fold(sender) == fold(k.nick):
		e.Sender.ID, e.Sender.Type = l.o.Nick, "bot"
	case isBot || x.Command == "NOTICE": // no program may answer it
		e.Sender.Type = "bot"
	}
	e.Mentions = l.mentions(k, &e, target)
	return e, true
}

// isSelf reports whether a nick is the watcher's or the poster's.
func (c *Client) isSelf(nick string) bool {
	return slices.Contains([]string{fold(c.o.Nick), fold(c.o.Nick + "1"), fold(c.o.Nick + "2"),
		fold(c.o.Nick + "_"), fold(c.o.Nick + "__")}, fold(nick))
}

// mentions returns the members that the text addresses: by name and colon or comma at its
// beginning, or after @; the bot also wherever its nick occurs.
func (l *listening) mentions(k *conn, e *event.Event, target string) []string {
	ids := []string{}
	add := func(nick string) {
		if l.isSelf(nick) || fold(nick) == fold(k.nick) {
			nick = l.o.Nick
		}
		if !slices.Contains(ids, nick) {
			ids = append(ids, nick)
		}
	}
	members := l.members[fold(target)]
	for i, w := range strings.FieldsFunc(e.Content, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",:;()?!\"'", r)
	}) {
		name, at := strings.CutPrefix(w, "@")
		nick, known := members[fold(name)]
		head := i == 0 && len(w) < len(e.Content) && strings.HasPrefix(e.Content, w) &&
			strings.IndexByte(":,", e.Content[len(w)]) >= 0
		switch {
		case e.Sender.Type != "bot" && (l.isSelf(strings.TrimRight(name, ".")) || fold(name) == fold(k.nick)):
			add(l.o.Nick)
		case known && (at || head):
			add(nick)
		}
	}
	if !isChannel(target) && e.Sender.Type != "bot" {
		add(l.o.Nick)
	}
	return ids
}
