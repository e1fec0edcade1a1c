// Package larkgo tries the official clients of Lark, for Go and for Node, against
// our fake server, which shows that the fake is honest: nobody but Lark has a
// server. It is a module of its own, so that the Go client is none of ours.
// scripts/peers/lark runs it.
package larkgo

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/larksuite/oapi-sdk-go/v3"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/larksuite/oapi-sdk-go/v3/core/httpserverext"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	im "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	"github.com/larksuite/oapi-sdk-go/v3/ws"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/lark"
	"tri/lib/record/event"
)

const (
	dev      = "oc_dev"
	patience = 30 * time.Second
)

func newFake(t *testing.T) *fake.Server {
	s := fake.New()
	t.Cleanup(s.Close)
	s.AddUser("ana", fake.Tenant)
	s.AddChat(dev, "dev", nil)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for what comes over a connection.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// reply is what the bot says in a thread, as it is stored; "" for nothing.
func reply(s *fake.Server, root string) string {
	for _, m := range s.Messages(dev) {
		if m["root_id"] == root && m["sender"].(fake.M)["id"] == fake.App {
			return m["body"].(fake.M)["content"].(string)
		}
	}
	return ""
}

// tokens are one client's: by themselves all of a process share them.
type tokens map[string]string

func (c tokens) Set(_ context.Context, key, value string, _ time.Duration) error {
	c[key] = value
	return nil
}

func (c tokens) Get(_ context.Context, key string) (string, error) { return c[key], nil }

func newClient(s *fake.Server) *im.V1 {
	return sdk.NewClient(fake.App, s.Secret, sdk.WithOpenBaseUrl(s.URL),
		sdk.WithLogLevel(larkcore.LogLevelError), sdk.WithTokenCache(tokens{})).Im.V1
}

// heard is what the Go client's handlers were given.
type heard struct {
	messages  chan *im.P2MessageReceiveV1
	recalls   chan *im.P2MessageRecalledV1
	reactions chan *im.P2MessageReactionCreatedV1
	clicks    chan *callback.CardActionTriggerEvent
}

func handlers(token, key string) (*dispatcher.EventDispatcher, *heard) {
	h := &heard{make(chan *im.P2MessageReceiveV1, 9), make(chan *im.P2MessageRecalledV1, 9),
		make(chan *im.P2MessageReactionCreatedV1, 9), make(chan *callback.CardActionTriggerEvent, 9)}
	d := dispatcher.NewEventDispatcher(token, key).
		OnP2MessageReceiveV1(func(_ context.Context, e *im.P2MessageReceiveV1) error {
			h.messages <- e
			return nil
		}).
		OnP2MessageRecalledV1(func(_ context.Context, e *im.P2MessageRecalledV1) error {
			h.recalls <- e
			return nil
		}).
		OnP2MessageReactionCreatedV1(func(_ context.Context, e *im.P2MessageReactionCreatedV1) error {
			h.reactions <- e
			return nil
		}).
		OnP2CardActionTrigger(func(_ context.Context,
			e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
			h.clicks <- e
			return nil, nil
		})
	return d, h
}

// take is the next of what comes.
func take[T any](t *testing.T, what string, from chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatal("never: " + what)
	}
	return v
}

// said checks every kind of event that the Go client was sent.
func said(t *testing.T, s *fake.Server, h *heard) (root string) {
	t.Helper()
	root = s.Say(dev, "ou_ana", "", "@tri a < b?")
	e := take(t, "message", h.messages).Event
	if *e.Message.MessageId != root || *e.Message.Content != `{"text":"@_user_1 a \u003c b?"}` ||
		*e.Sender.SenderId.OpenId != "ou_ana" || *e.Message.Mentions[0].Id.OpenId != fake.BotUser {
		t.Errorf("message: %s", larkcore.Prettify(e))
	}
	answer := s.Say(dev, "ou_ana", root, "more")
	if e := take(t, "answer", h.messages).Event; *e.Message.RootId != root ||
		!strings.HasPrefix(*e.Message.ThreadId, "omt_") {
		t.Errorf("answer: %s", larkcore.Prettify(e))
	}
	must(t, s.Recall(answer))
	if e := take(t, "recall", h.recalls).Event; *e.MessageId != answer || *e.ChatId != dev {
		t.Errorf("recall: %s", larkcore.Prettify(e))
	}
	s.React(root, "ou_ana", "THUMBSUP", true)
	if e := take(t, "reaction", h.reactions).Event; *e.MessageId != root ||
		*e.ReactionType.EmojiType != "THUMBSUP" {
		t.Errorf("reaction: %s", larkcore.Prettify(e))
	}
	s.Click(root, "ou_ana", fake.M{"name": "approve", "value": "d-1"})
	if e := take(t, "click", h.clicks).Event; e.Action.Value["name"] != "approve" ||
		e.Context.OpenMessageID != root || e.Operator.OpenID != "ou_ana" {
		t.Errorf("click: %s", larkcore.Prettify(e))
	}
	return root
}

// TestGo: the Go client's long connection understands what the fake sends, and
// answers it; its calls of the Open API are taken, and their answers understood.
func TestGo(t *testing.T) {
	s := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d, h := handlers("", "")
	client := ws.NewClient(fake.App, s.Secret, ws.WithEventHandler(d), ws.WithDomain(s.URL),
		ws.WithLogLevel(larkcore.LogLevelError))
	go func() { _ = client.Start(ctx) }()
	until(t, "connection", func() bool { return s.Conns() > 0 })
	root := said(t, s, h)
	until(t, "answers", func() bool { n, of, bad := s.Acked(); return n == of && bad == 0 })

	api := newClient(s)
	body := im.NewReplyMessageReqBodyBuilder().MsgType("post").Content(`{"zh_cn":{"title":"","content":[[{"tag":"text","text":"re"}]]}}`).ReplyInThread(true).Uuid("k").Build()
	for range 2 { // the same uuid
		made, err := api.Message.Reply(ctx, im.NewReplyMessageReqBuilder().MessageId(root).Body(body).Build())
		if err != nil || !made.Success() || *made.Data.RootId != root ||
			*made.Data.Sender.SenderType != "app" {
			t.Fatalf("reply: %v %s", err, larkcore.Prettify(made))
		}
	}
	got, err := api.Message.List(ctx,
		im.NewListMessageReqBuilder().ContainerIdType("chat").ContainerId(dev).StartTime("1").
			SortType("ByCreateTimeAsc").PageSize(50).Build())
	if err != nil || !got.Success() || len(got.Data.Items) != 1 || *got.Data.Items[0].Body.Content == "" {
		t.Fatalf("list: %v %s", err, larkcore.Prettify(got))
	}
	got, err = api.Message.List(ctx,
		im.NewListMessageReqBuilder().ContainerIdType("thread").ContainerId(*got.Data.Items[0].ThreadId).
			PageSize(50).Build())
	if err != nil || !got.Success() || len(got.Data.Items) != 3 || !*got.Data.Items[1].Deleted {
		t.Fatalf("list of the topic: %v %s", err, larkcore.Prettify(got))
	}
	one, err := api.Message.Get(ctx, im.NewGetMessageReqBuilder().MessageId(root).Build())
	if err != nil || !one.Success() || *one.Data.Items[0].MessageId != root {
		t.Errorf("get: %v %s", err, larkcore.Prettify(one))
	}
	react, err := api.MessageReaction.Create(ctx,
		im.NewCreateMessageReactionReqBuilder().MessageId(root).
			Body(im.NewCreateMessageReactionReqBodyBuilder().ReactionType(im.NewEmojiBuilder().
				EmojiType("OK").Build()).Build()).Build())
	if err != nil || !react.Success() || *react.Data.ReactionId == "" {
		t.Errorf("react: %v %s", err, larkcore.Prettify(react))
	}
	room, err := api.Chat.Get(ctx, im.NewGetChatReqBuilder().ChatId(dev).Build())
	if err != nil || !room.Success() || *room.Data.Name != "dev" {
		t.Errorf("chat: %v %s", err, larkcore.Prettify(room))
	}
	gone, err := api.Message.Reply(ctx,
		im.NewReplyMessageReqBuilder().MessageId("om_none").Body(body).Build())
	if err != nil || gone.Success() || gone.Code != 230001 {
		t.Errorf("refusal: %v %s", err, larkcore.Prettify(gone))
	}
	s.Expire()
	again, err := api.Message.Get(ctx, im.NewGetMessageReqBuilder().MessageId(root).Build())
	if err != nil || again.Code != 99991663 { // this client asks once more, with the token that it has
		t.Errorf("with a token that ended: %v %s", err, larkcore.Prettify(again))
	}
}

// TestGoWebhook: the Go client decrypts, and finds the signature good, of what the
// fake sends to an address; and answers the handshake as we do.
func TestGoWebhook(t *testing.T) {
	s := newFake(t)
	d, h := handlers(s.Token, s.EncryptKey)
	server := httptest.NewServer(http.HandlerFunc(httpserverext.NewEventHandlerFunc(d)))
	defer server.Close()
	s.Hook(server.URL)
	said(t, s, h)
	hello := []byte(`{"challenge":"c-1","token":"` + s.Token + `","type":"url_verification"}`)
	if status, b := s.Call(server.URL, hello); status != http.StatusOK ||
		strings.TrimSpace(string(b)) != `{"challenge":"c-1"}` {
		t.Errorf("handshake: %d %s", status, b)
	}
}

// TestTogether: the Go client posts, and our source hears it; our sink posts, and
// the Go client reads it.
func TestTogether(t *testing.T) {
	s := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := lark.Options{URL: s.URL, ID: fake.App, Secret: s.Secret, Sweep: 50 * time.Millisecond}
	source, err := lark.New(o)
	must(t, err)
	events := make(chan event.Event, 99)
	go func() {
		_ = source.Run(ctx, chat.Resume{}, chattest.Handler{Log: t.Logf, Event: func(e event.Event) error {
			events <- e
			return nil
		}})
	}()
	until(t, "connection", func() bool { return s.Conns() > 0 })
	root := s.Say(dev, "ou_ana", "", "where?")
	api := newClient(s)
	said, err := api.Message.Reply(ctx,
		im.NewReplyMessageReqBuilder().MessageId(root).Body(im.NewReplyMessageReqBodyBuilder().
			MsgType("text").Content(`{"text":"here"}`).ReplyInThread(true).Build()).Build())
	if err != nil || !said.Success() {
		t.Fatalf("%v %s", err, larkcore.Prettify(said))
	}
	for {
		e := take(t, "our own message", events)
		if e.Sender.Type == "bot" {
			if e.Content != "here" || *e.ThreadID != root || e.Sender.ID != fake.BotUser {
				t.Errorf("%+v", e)
			}
			break
		}
	}
	sink, err := lark.NewSink(o)
	must(t, err)
	made, err := sink.Post(ctx, chat.Post{ChatID: dev, ThreadID: root, Text: "and <there>", Key: "k"})
	must(t, err)
	one, err := api.Message.Get(ctx, im.NewGetMessageReqBuilder().MessageId(made.MessageID).Build())
	if err != nil || !one.Success() || *one.Data.Items[0].MsgType != "post" ||
		!strings.Contains(*one.Data.Items[0].Body.Content, `"text":"and `) {
		t.Errorf("%v %s", err, larkcore.Prettify(one))
	}
}

// TestNode: Lark's client for Node answers what it hears, which comes in several
// frames.
func TestNode(t *testing.T) {
	s := newFake(t)
	s.MaxPart = 200
	cmd := exec.CommandContext(t.Context(), "node", "../lark.js")
	cmd.Env = append(os.Environ(), "LARK_API="+s.URL, "LARK_APP_ID="+fake.App, "LARK_APP_SECRET="+s.Secret)
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = io.Writer(out), out
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	until(t, "connection of Node", func() bool { return s.Conns() > 0 })
	root := s.Say(dev, "ou_ana", "", "a < b & 重试?")
	until(t, "answer of Node", func() bool { return reply(s, root) == `{"text":"re: a < b & 重试?"}` })
	until(t, "its acknowledgement", func() bool { n, of, bad := s.Acked(); return n == of && bad == 0 })
}
