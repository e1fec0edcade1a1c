//go:build peers

package teams

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// TestPlayground drives Microsoft's playground, which scripts/peers/teams starts: a person mentions
// the bot in a channel and replies, and the bot's answer is in the thread once.
func TestPlayground(t *testing.T) {
	base := os.Getenv("TRI_PEER_TEAMS")
	o := Options{AppID: "00000000-0000-0000-0000-000000000011", ServiceURL: base + "/_connector",
		Insecure: true, Listen: os.Getenv("TRI_PEER_TEAMS_LISTEN")}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan event.Event, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended, up := make(chan error, 1), make(chan bool, 100)
	go func() {
		ended <- c.Run(ctx, chat.Resume{}, chattest.Handler{Log: t.Logf, Connect: func(on bool) {
			up <- on
		}, Event: func(e event.Event) error { heard <- e; return nil }})
	}()
	<-up
	say := func(conversation, text string) (id, thread string) {
		t.Helper()
		body, _ := json.Marshal(map[string]any{"type": "text", "text": text, "textFormat": "plain",
			"from": map[string]any{"id": "user-id-0"},
			"mentions": []any{map[string]any{"text": "<at>tri</at>",
				"mentioned": map[string]any{"id": "28:" + o.AppID}}}})
		resp, err := http.Post(base+"/_conversation/v1/conversations/"+conversation+"/messages",
			"application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var out struct {
			ID     string `json:"messageId"`
			Thread string `json:"postConversationId"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode != 200 {
			t.Fatalf("say: status %d, %v", resp.StatusCode, err)
		}
		return out.ID, out.Thread
	}
	next := func() event.Event {
		t.Helper()
		select {
		case e := <-heard:
			return e
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is heard")
		}
		return event.Event{}
	}
	const channelID = "19:dev@thread.tacv2"
	_, thread := say(channelID, "<at>tri</at> where is the retry limit?")
	root := next()
	if root.ChatID != channelID || root.Content != "@tri where is the retry limit?" ||
		root.Sender.Name != "Alex Wilber" || len(root.Mentions) != 1 || root.Mentions[0] != "28:"+o.AppID {
		t.Errorf("heard %+v", root)
	}
	say(thread, "<at>tri</at> anybody?")
	reply := next()
	_, rootID, _ := strings.Cut(thread, ";messageid=")
	if reply.ThreadID == nil || *reply.ThreadID != rootID || reply.ChatID != channelID {
		t.Errorf("the reply came as %+v, its thread is %q", reply, thread)
	}
	s, err := NewSink(o)
	if err != nil {
		t.Fatal(err)
	}
	const text = "It is 5: client.go:42 & <b>."
	posted, err := s.Post(ctx, chat.Post{ChatID: channelID, ThreadID: rootID, ReplyToID: reply.MessageID,
		Text: text, Key: "k-1"})
	if err != nil || posted.MessageID == "" {
		t.Fatalf("post: %+v, %v", posted, err)
	}
	if err := s.Typing(ctx, channelID, rootID); err != nil {
		t.Errorf("typing: %v", err)
	}
	card, err := s.PostCard(ctx, chat.Card{ChatID: channelID, ThreadID: rootID, Title: "Draft",
		Text: "one\ntwo", Key: "c-1",
		Buttons: []chat.Button{{Name: "approve", Label: "Approve", Value: "d-1", Style: "primary"}}})
	if err != nil {
		t.Errorf("deal: %v", err)
	} else if err := s.UpdateCard(ctx, card.MessageID,
		chat.Card{ChatID: channelID, Title: "Done", Text: "approved"}); err != nil {
		t.Errorf("redeal: %v", err)
	}
	log, err := os.ReadFile(os.Getenv("TRI_PEER_TEAMS_LOG"))
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(text)
	stands := 0
	for line := range strings.Lines(string(log)) {
		var plainer bytes.Buffer
		if json.Indent(&plainer, quoted, "", "") == nil && strings.Contains(line, `"createMessage"`) &&
			(strings.Contains(line, plainer.String()) || strings.Contains(line, `"`+text+`"`)) {
			stands++
			if !strings.Contains(line, thread) {
				t.Errorf("not in the thread: %s", line)
			}
		}
	}
	if stands != 1 {
		t.Errorf("the answer stands there %d times", stands)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("%.3000s", log)
	}
}
