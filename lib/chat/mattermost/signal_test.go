package mattermost

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/mattermost/mattermosttest"
	"tri/lib/record/event"
)

// TestSignals: reactions, typing and edits; edits of other accounts' messages are refused.
func TestSignals(t *testing.T) {
	w := newWorld(t)
	s, c := w.sink(), w.chats[0]
	root := w.Say(c, "ana", "", "where?")
	ctx := t.Context()
	if err := errors.Join(s.React(ctx, c, root, "👀", true), s.React(ctx, c, root, "✅", true),
		s.React(ctx, c, root, "👀", false), s.Typing(ctx, c, root)); err != nil {
		t.Fatal(err)
	}
	if got := w.server.Reactions(root); len(got) != 1 || got["white_check_mark"] != 1 {
		t.Errorf("%v", got)
	}
	if err := s.React(ctx, c, root, "☭☭", true); !errors.Is(err, chat.ErrUnsupported) {
		t.Errorf("a parrot: %v", err)
	}
	made := w.persisted(chat.Post{ChatID: c, ThreadID: root, Text: "It is 5.", Key: "k"})
	if err := s.Edit(ctx, c, made, "It is 6."); err != nil {
		t.Fatal(err)
	}
	if text, _, err := s.Message(ctx, c, made); err != nil || text != "It is 6." {
		t.Errorf("%q %v", text, err)
	}
	if err := s.Edit(ctx, c, root, "not ours"); err == nil {
		t.Error("somebody else's message is edited")
	}
	if err := s.Edit(ctx, c, made, "to @all"); !chat.IsRefused(err) {
		t.Errorf("an edit that alerts everybody: %v", err)
	}
}

func (w *world) persisted(p chat.Post) string {
	w.t.Helper()
	got, err := w.sink().Post(w.t.Context(), p)
	w.must(err)
	return got.MessageID
}

// TestCard: a card has the bot's reactions to click on; a click on one of them, and nothing else,
// is an action, once.
func TestCard(t *testing.T) {
	w := newWorld(t)
	s, c := w.sink(), w.chats[0]
	card := chat.Card{ChatID: c, Title: "Draft 3", Text: "It is 5.", Key: "k",
		Buttons: []chat.Button{{Name: "approve", Label: "Approve"}, {Name: "dismiss", Label: "Dismiss"}}}
	got, err := s.PostCard(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.server.Reactions(got.MessageID); n["white_check_mark"] != 1 || n["x"] != 1 {
		t.Errorf("%v", n)
	}
	acted := make(chan event.Action, 9)
	up := make(chan bool, 9)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.client().Run(ctx, chat.Resume{}, chattest.Handler{Log: t.Logf, Connect: func(b bool) {
			up <- b
		}, Action: func(a event.Action) error {
			acted <- a
			return nil
		}, Event: func(event.Event) error { return nil }})
	}()
	for !<-up {
	}
	ana := w.people["ana"].ID
	w.server.React(ana, w.Say(c, "ben", "", "hm"), "+1", true) // not the bot's, nor theirs
	own := w.Say(c, "ana", "", "where?")
	w.server.React(ana, own, "x", true)
	if a := <-acted; a.Name != "❌" || a.MessageID != own || a.Sender.ID != ana {
		t.Errorf("%+v", a)
	}
	w.server.React(ana, got.MessageID, "white_check_mark", true)
	w.server.React(ana, got.MessageID, "white_check_mark", false)
	a, b := <-acted, <-acted
	if a.Name != "✅" || a.MessageID != got.MessageID || a.ChatID != c || a.Sender.ID != ana ||
		a.Sender.Name != "ana" || a.Removed || !b.Removed || a.ID == b.ID {
		t.Errorf("%+v, %+v", a, b)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	card.Buttons = []chat.Button{{Name: "undo", Label: "Undo"}}
	if err := errors.Join(s.UpdateCard(t.Context(), got.MessageID, card),
		s.UpdateCard(t.Context(), got.MessageID, card)); err != nil {
		t.Fatal(err)
	}
	if n := w.server.Reactions(got.MessageID); n["leftwards_arrow_with_hook"] != 1 {
		t.Errorf("%v", n)
	}
	card.Buttons, card.Text = nil, "Approved by ana."
	if err := s.UpdateCard(t.Context(), got.MessageID, card); err != nil {
		t.Fatal(err)
	}
	posts := w.server.Posts()
	i := slices.IndexFunc(posts, func(p mattermosttest.Post) bool { return p.ID == got.MessageID })
	if i < 0 || !strings.Contains(posts[i].Message, "Approved by ana.") ||
		strings.Contains(posts[i].Message, "✅") {
		t.Errorf("%+v", posts)
	}
}
