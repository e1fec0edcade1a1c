package account

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gotd/td/constant"
	"github.com/gotd/td/telegram"
	"github.com/gotd/td/tg"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/presence"
	"tri/lib/record/thread"
)

const (
	lasts = 6 * time.Second        // https://core.telegram.org/constructor/updateUserTyping
	every = 500 * time.Millisecond // how often open items are read, at most
	most  = 1000                   // people who type at once
)

// listener writes typing indicators of people with an open item in a watched chat. Those of others are
// kept in memory until they expire, since an item opens a moment after its message.
type listener struct {
	home  *durable.Home
	chats []string
	board *presence.Board
	now   func() time.Time

	mu     sync.Mutex
	heard  map[person]presence.Typing // not written yet
	asking map[person]bool            // has an open item
	read   time.Time                  // when asking was
}

// person is one member of a chat, by the ids of events.
type person struct{ chat, user string }

var _ telegram.UpdateHandler = (*listener)(nil)

func newListener(home *durable.Home, chats []string, now func() time.Time) *listener {
	return &listener{home: home, chats: chats, board: presence.Open(home, "presence", now), now: now,
		heard: map[person]presence.Typing{}}
}

// Handle implements telegram.UpdateHandler. Everything but typing in groups and channels is ignored:
// an indicator of a private chat concerns this account, never the bot.
func (l *listener) Handle(_ context.Context, updates tg.UpdatesClass) error {
	var all []tg.UpdateClass
	switch u := updates.(type) {
	case *tg.UpdateShort:
		all = []tg.UpdateClass{u.Update}
	case *tg.Updates:
		all = u.Updates
	case *tg.UpdatesCombined:
		all = u.Updates
	}
	for _, u := range all {
		var chat constant.TDLibPeerID // as the Bot API writes ids
		switch u := u.(type) {
		case *tg.UpdateChatUserTyping:
			chat.Chat(u.ChatID)
			l.hear(int64(chat), u.FromID, u.Action)
		case *tg.UpdateChannelUserTyping:
			chat.Channel(u.ChannelID)
			l.hear(int64(chat), u.FromID, u.Action)
		}
	}
	return nil
}

// hear takes one indicator. Its topic is not used: what a bot calls a thread is not a topic.
func (l *listener) hear(chat int64, from tg.PeerClass, action tg.SendMessageActionClass) {
	user, ok := from.(*tg.PeerUser) // else an anonymous administrator
	kind := kindOf(action)
	p := person{chat: strconv.FormatInt(chat, 10)}
	if !ok || kind == "" || !slices.Contains(l.chats, p.chat) {
		return
	}
	p.user = strconv.FormatInt(user.UserID, 10)
	now := l.now()
	t := presence.Typing{Platform: config.PlatformTelegram, ChatID: p.chat, UserID: p.user, Kind: kind,
		ReceivedAt: now, ExpiresAt: now.Add(lasts)}
	if kind == ended {
		t.ExpiresAt = now
	}
	l.mu.Lock()
	if len(l.heard) < most {
		l.heard[p] = t
	}
	l.mu.Unlock()
	l.write()
}

// write writes the indicators of those who have an open item, and forgets those that have expired.
func (l *listener) write() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heard) == 0 {
		return
	}
	now := l.now()
	if now.Sub(l.read).Abs() >= every {
		l.read, l.asking = now, map[person]bool{}
		for t, err := range thread.Open(l.home) {
			if err == nil && t.Platform == config.PlatformTelegram {
				l.asking[person{t.ChatID, t.OriginalSenderID}] = true
			}
		}
	}
	for p, t := range l.heard {
		if l.asking[p] {
			l.board.Set(t)
		}
		if l.asking[p] || !t.ExpiresAt.After(now) {
			delete(l.heard, p)
		}
	}
}

// ended is the kind of an action that ends the indicator.
const ended = "ended"

// kindOf returns the kind of presence.Typing, "" for what is no sign of a message to come.
func kindOf(action tg.SendMessageActionClass) string {
	switch action.(type) {
	case *tg.SendMessageTypingAction:
		return "typing"
	case *tg.SendMessageRecordAudioAction, *tg.SendMessageUploadAudioAction,
		*tg.SendMessageRecordRoundAction, *tg.SendMessageUploadRoundAction:
		return "recording_voice"
	case *tg.SendMessageUploadPhotoAction:
		return "uploading_photo"
	case *tg.SendMessageUploadDocumentAction, *tg.SendMessageUploadVideoAction,
		*tg.SendMessageRecordVideoAction:
		return "uploading_document"
	case *tg.SendMessageChooseStickerAction:
		return "choosing_sticker"
	case *tg.SendMessageGamePlayAction:
		return "game"
	case *tg.SendMessageCancelAction:
		return ended
	}
	return ""
}
