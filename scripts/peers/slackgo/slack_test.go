// Package slackgo tries clients and servers of Slack that nobody here wrote: the
// Go and Node clients against our fake server, which shows that the fake is
// honest, and our adapter against an emulator of the Web API. It is a module of
// its own, so that slack-go is none of ours. scripts/peers/slack runs it.
package slackgo

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"tri/lib/chat"
	"tri/lib/chat/slack"
	"tri/lib/chat/slack/slacktest"
)

const (
	dev      = "C0DEV"
	patience = 30 * time.Second
)

func newFake(t *testing.T) *fake.Server {
	s := fake.New()
	t.Cleanup(s.Close)
	s.AddUser("ana", nil)
	s.AddChannel(dev, "dev", nil)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answered waits until the client has answered, in the thread, what ana said.
func answered(t *testing.T, s *fake.Server, root string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		acked, of := s.Acked()
		for _, m := range s.Messages(dev) {
			if m["thread_ts"] == root && m["user"] == fake.BotUser &&
				m["text"] == "re: a &lt; b &amp; c" && acked >= 1 {
				t.Logf("%d of %d envelopes acknowledged", acked, of)
				return
			}
		}
	}
	t.Fatalf("no answer; the thread is %v", s.Messages(dev))
}

// TestSlackGo: slack-go's Socket Mode client connects to the fake, understands
// what comes, acknowledges it, and its Web API client posts, reads, edits and
// reacts.
func TestSlackGo(t *testing.T) {
	s := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	api := sdk.New(s.BotToken, sdk.OptionAppLevelToken(s.AppToken), sdk.OptionAPIURL(s.URL))
	client := socketmode.New(api)
	go func() { _ = client.RunContext(ctx) }()
	hello, clicked := make(chan bool, 1), make(chan sdk.InteractionCallback, 1)
	go func() {
		for e := range client.Events {
			switch e.Type {
			case socketmode.EventTypeConnected, socketmode.EventTypeHello:
				select {
				case hello <- true:
				default:
				}
			case socketmode.EventTypeErrorBadMessage:
				t.Errorf("not understood: %+v", e.Data)
			case socketmode.EventTypeInteractive:
				client.Ack(*e.Request)
				clicked <- e.Data.(sdk.InteractionCallback)
			case socketmode.EventTypeEventsAPI:
				inner := e.Data.(slackevents.EventsAPIEvent).InnerEvent
				client.Ack(*e.Request)
				if m, ok := inner.Data.(*slackevents.MessageEvent); ok && m.BotID == "" && m.SubType == "" {
					if _, _, err := api.PostMessage(m.Channel, sdk.MsgOptionText("re: "+m.Text, false),
						sdk.MsgOptionTS(m.TimeStamp)); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}()
	select {
	case <-hello:
	case <-time.After(patience):
		t.Fatal("no hello")
	}
	root := s.Say(dev, "U0ANA", "", "a < b & c", nil)
	answered(t, s, root)

	self, err := api.AuthTest()
	must(t, err)
	if self.UserID != fake.BotUser || self.BotID != fake.BotID {
		t.Errorf("%+v", self)
	}
	replies, _, _, err := api.GetConversationReplies(&sdk.GetConversationRepliesParameters{ChannelID: dev,
		Timestamp: root, IncludeAllMetadata: true})
	must(t, err)
	if len(replies) != 2 || replies[1].BotID != fake.BotID {
		t.Fatalf("%+v", replies)
	}
	_, _, _, err = api.UpdateMessage(dev, replies[1].Timestamp, sdk.MsgOptionText("edited", false))
	must(t, err)
	must(t, api.AddReaction("eyes", sdk.NewRefToMessage(dev, root)))
	history, err := api.GetConversationHistory(&sdk.GetConversationHistoryParameters{ChannelID: dev,
		Limit: 1})
	must(t, err)
	if len(history.Messages) != 1 || history.Messages[0].Timestamp != root ||
		history.Messages[0].LatestReply == "" {
		t.Errorf("%+v", history)
	}
	who, err := api.GetUserInfo("U0ANA")
	must(t, err)
	room, err := api.GetConversationInfo(&sdk.GetConversationInfoInput{ChannelID: dev})
	must(t, err)
	if who.Name != "ana" || room.Name != "dev" {
		t.Errorf("%+v %+v", who, room)
	}
	if _, _, err := api.PostMessage("C0NONE", sdk.MsgOptionText("x", false)); err == nil ||
		err.Error() != "channel_not_found" {
		t.Error(err)
	}
	s.Click(dev, root, "U0ANA", "approve", "d-1")
	select {
	case c := <-clicked:
		if len(c.ActionCallback.BlockActions) != 1 || c.ActionCallback.BlockActions[0].Value != "d-1" {
			t.Errorf("%+v", c)
		}
	case <-time.After(patience):
		t.Error("no click")
	}
	s.SetFaults(fake.Faults{Busy: 1})
	limited := (*sdk.RateLimitedError)(nil)
	if _, _, err := api.PostMessage(dev, sdk.MsgOptionText("x", false)); !errors.As(err, &limited) ||
		limited.RetryAfter != time.Second {
		t.Error(err)
	}
}

// TestSignature: slack-go's verifier takes the signatures of the fake.
func TestSignature(t *testing.T) {
	h := http.Header{}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	h.Set("X-Slack-Request-Timestamp", at)
	h.Set("X-Slack-Signature", fake.Sign("secret", at, []byte(`{"a":1}`)))
	v, err := sdk.NewSecretsVerifier(h, "secret")
	must(t, err)
	_, err = v.Write([]byte(`{"a":1}`))
	must(t, err)
	must(t, v.Ensure())
}

// TestNode: so does Slack's own client for Node.
func TestNode(t *testing.T) {
	s := newFake(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv("TRI_PEER_NODE"), "../slack.js")
	cmd.Env = append(os.Environ(), "SLACK_API="+s.URL, "SLACK_APP_TOKEN="+s.AppToken,
		"SLACK_BOT_TOKEN="+s.BotToken)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "connected" {
		t.Fatalf("said %q", lines.Text())
	}
	answered(t, s, s.Say(dev, "U0ANA", "", "a < b & c", nil))
	s.Disconnect("refresh_requested") // it connects anew
	for range 2 {
		if !lines.Scan() {
			t.Fatal("ended")
		}
		if lines.Text() == "connected" {
			break
		}
	}
	answered(t, s, s.Say(dev, "U0ANA", "", "a < b & c", nil))
}

// TestEmulator: our sink and our reading of history against the emulator of the
// Web API that TRI_PEER_SLACK names.
func TestEmulator(t *testing.T) {
	url := os.Getenv("TRI_PEER_SLACK")
	o := slack.Options{URL: url, Token: "xoxb-test", AppToken: "xapp-1-A0-x", Now: time.Now,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	s, err := slack.NewSink(o)
	must(t, err)
	ctx := t.Context()
	c, err := slack.New(o)
	must(t, err)
	self, findings := c.Check(ctx)
	for _, f := range findings {
		t.Logf("%v %s: %s", f.OK, f.Name, f.Text)
	}
	if self.ID == "" {
		t.Fatal("who are we?")
	}
	room := os.Getenv("TRI_PEER_SLACK_CHAT")
	first, err := s.PostCard(ctx, chat.Card{ChatID: room, Title: "A question", Text: "where?", Key: "card",
		Buttons: []chat.Button{{Name: "approve", Label: "Post", Value: "d"}}})
	must(t, err)
	text := "a < b && c > d, \"it's\" :smile: <!channel> `x<y`\nsecond line"
	p := chat.Post{ChatID: room, ThreadID: first.MessageID, Text: text, Key: "k-1", Tried: time.Now()}
	if _, proof, err := s.Find(ctx, p); err != nil || proof != chat.Absent {
		t.Errorf("before: %v %v", proof, err)
	}
	made, err := s.Post(ctx, p)
	must(t, err)
	if got, proof, err := s.Find(ctx, p); err != nil || proof != chat.Found ||
		got.MessageID != made.MessageID {
		t.Errorf("find: %+v %v %v", got, proof, err)
	}
	back, gone, err := s.Message(ctx, room, made.MessageID)
	if want := strings.Replace(text, ":smile:", "😄", 1); err != nil || gone || back != want {
		t.Errorf("read back %q (gone %v, %v), want %q", back, gone, err, want)
	}
	must(t, s.Edit(ctx, room, made.MessageID, "edited"))
	must(t, s.React(ctx, room, made.MessageID, "👀", true))
	must(t, s.React(ctx, room, made.MessageID, "👀", true))
	must(t, s.React(ctx, room, made.MessageID, "👀", false))
	if back, _, err = s.Message(ctx, room, made.MessageID); err != nil || back != "edited" {
		t.Errorf("read back %q (%v)", back, err)
	}
	if _, err := s.Post(ctx, chat.Post{ChatID: "C0NOSUCH", ThreadID: made.MessageID, Text: "x",
		Key: "k"}); !chat.IsRefused(err) {
		t.Errorf("no such chat: %v", err)
	}
}
