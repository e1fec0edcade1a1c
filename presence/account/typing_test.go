package account

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gotd/td/tg"

	"tri/lib/record/presence"
)

func (l *listener) take(t *testing.T, u tg.UpdateClass) {
	t.Helper()
	if err := l.Handle(t.Context(), &tg.UpdateShort{Update: u}); err != nil {
		t.Fatal(err)
	}
}

// TestKinds: each action is its kind; one that no message follows is none; everything but typing in a
// watched group or channel is ignored.
func TestKinds(t *testing.T) {
	for want, actions := range map[string][]tg.SendMessageActionClass{
		"typing": {&tg.SendMessageTypingAction{}},
		"recording_voice": {&tg.SendMessageRecordAudioAction{}, &tg.SendMessageUploadAudioAction{},
			&tg.SendMessageRecordRoundAction{}, &tg.SendMessageUploadRoundAction{}},
		"uploading_photo": {&tg.SendMessageUploadPhotoAction{}},
		"uploading_document": {&tg.SendMessageUploadDocumentAction{}, &tg.SendMessageUploadVideoAction{},
			&tg.SendMessageRecordVideoAction{}},
		"choosing_sticker": {&tg.SendMessageChooseStickerAction{}},
		"game":             {&tg.SendMessageGamePlayAction{}},
		ended:              {&tg.SendMessageCancelAction{}},
		"": {&tg.SendMessageEmojiInteractionSeen{}, &tg.SpeakingInGroupCallAction{},
			&tg.SendMessageHistoryImportAction{}, nil},
	} {
		for _, action := range actions {
			if got := kindOf(action); got != want {
				t.Errorf("%T: %q, want %q", action, got, want)
			}
		}
	}
	l := newListener(newHome(t), []string{"-5", "11"}, time.Now)
	typing := &tg.SendMessageTypingAction{}
	for _, u := range []tg.UpdateClass{
		&tg.UpdateUserTyping{UserID: 11, Action: typing}, // to this account, not to the bot
		&tg.UpdateChatUserTyping{ChatID: 6, FromID: &tg.PeerUser{UserID: 11}, Action: typing},
		&tg.UpdateChannelUserTyping{ChannelID: 5, FromID: &tg.PeerUser{UserID: 11}, Action: typing},
		&tg.UpdateChatUserTyping{ChatID: 5, FromID: &tg.PeerChannel{ChannelID: 11}, Action: typing},
		&tg.UpdateChatUserTyping{ChatID: 5},
		&tg.UpdateNewMessage{Message: &tg.Message{Message: "hello"}},
		nil,
	} {
		if l.take(t, u); len(l.heard) != 0 {
			t.Errorf("%T is taken: %+v", u, l.heard)
		}
	}
	if l.take(t, inGroup(11, typing)); len(l.heard) != 1 {
		t.Error("typing in a watched group is not taken")
	}
}

// TestFilter: typing of people without an open item is not written, however many they are; that of a
// person whose item opens a moment later is; it lasts 6 s unless it is repeated or ended.
func TestFilter(t *testing.T) {
	home := newHome(t)
	synctest.Test(t, func(t *testing.T) {
		l := newListener(home, []string{"-5"}, time.Now)
		typing := &tg.SendMessageTypingAction{}
		for user := range int64(500) {
			l.take(t, inGroup(1000+user, typing))
		}
		step := func() { time.Sleep(every); l.write() }
		wrote := func(n int) []presence.Typing {
			t.Helper()
			time.Sleep(1100 * time.Millisecond) // the file is replaced once a second
			all := presence.Read(home, time.Now())
			if len(all) != n {
				t.Fatalf("%d indicators, want %d", len(all), n)
			}
			return all
		}
		step()
		if wrote(0); home.Exists(presence.Folder) {
			t.Error("a file was written")
		}
		asks(t, home, "-5", "1007")
		step()
		if all := wrote(1); all[0].UserID != "1007" || all[0].ExpiresAt.Sub(all[0].ReceivedAt) != lasts {
			t.Errorf("%+v", all)
		}
		l.take(t, inGroup(1007, typing))
		time.Sleep(4 * time.Second)
		wrote(1) // repeated: counts from then
		time.Sleep(time.Second)
		if wrote(0); len(l.heard) == 0 {
			t.Fatal("the others are forgotten before anything looked at them")
		}
		if step(); len(l.heard) != 0 {
			t.Errorf("%d expired ones are kept", len(l.heard))
		}
		l.take(t, inGroup(1007, typing))
		wrote(1)
		l.take(t, inGroup(1007, &tg.SendMessageCancelAction{}))
		wrote(0)
		for user := range int64(3 * most) {
			l.take(t, inGroup(5000+user, typing))
		}
		if len(l.heard) > most {
			t.Errorf("%d are kept in memory", len(l.heard))
		}
	})
}

// BenchmarkWrite reads a thousand open items.
func BenchmarkWrite(b *testing.B) {
	home := newHome(b)
	for i := range 1000 {
		asks(b, home, "-5", strconv.Itoa(i))
	}
	now := time.Now()
	l := newListener(home, []string{"-5"}, func() time.Time { return now })
	for b.Loop() {
		l.heard[person{"-5", "x"}] = presence.Typing{ExpiresAt: now.Add(time.Hour)}
		l.read = time.Time{}
		l.write()
	}
}
