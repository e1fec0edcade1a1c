package mattermost

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"sync"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/chat/webhook"
)

// calls answers outgoing webhooks in addition to the WebSocket, for servers behind proxies that
// block WebSockets. Each call names a post, which is then read from the server, so that a forged
// call can only cause a read. https://developers.mattermost.com/integrate/webhooks/outgoing/
func (c *Client) calls(resume chat.Resume, to chat.Handler) webhook.Handler {
	var mu sync.Mutex
	l := c.listening(resume, to)
	return func(ctx context.Context, call *webhook.Call) webhook.Answer {
		token, id := arguments(call)
		if call.Method != http.MethodPost || token == "" || !webhook.Equal(token, c.o.HookToken) {
			return webhook.Refused()
		}
		call.Proved()
		if !validID(id) {
			return webhook.Answer{Status: http.StatusBadRequest}
		}
		mu.Lock() // calls that wait find their posts read by the one before
		defer mu.Unlock()
		if err := l.called(ctx, id); err != nil {
			to.Logf("mattermost: webhook for post %s: %v", id, err)
			return webhook.Answer{Status: http.StatusServiceUnavailable}
		}
		return webhook.Answer{Type: "application/json", Body: []byte("{}")} // no text: nothing is posted
	}
}

// arguments returns the token and the post of a call, from JSON or from a form, depending on the
// set-up of the webhook.
func arguments(call *webhook.Call) (token, id string) {
	kind, _, _ := mime.ParseMediaType(call.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(call.Body))
		if err != nil {
			return "", ""
		}
		return form.Get("token"), form.Get("post_id")
	}
	var said struct {
		Token string `json:"token"`
		Post  string `json:"post_id"`
	}
	if json.Unmarshal(call.Body, &said) != nil {
		return "", ""
	}
	return said.Token, said.Post
}

// called makes the post of a call durable, after everything that was missed in all chats: a start reads the
// history from the latest times in the log, and must find no gap before them.
func (l *listening) called(ctx context.Context, id string) error {
	p := new(post)
	switch err := l.get(ctx, "posts/"+id, nil, p); {
	case httpapi.IsUnreadable(err):
		return nil // no such post for the bot
	case err != nil:
		return err
	case !validID(p.ID) || !validID(p.ChannelID):
		return fmt.Errorf("post %s: the answer is not a post", id)
	}
	b := new(session.Batch)
	if err := l.add(ctx, p, b); err != nil || len(b.Events) == 0 {
		return err
	}
	l.Past = false // the socket may have brought what is read here: nothing is reported as recovered
	if err := l.catchUp(ctx); err != nil {
		return err
	}
	if l.Recent.Has(b.Events[0].Identity()) {
		return nil
	}
	return l.Commit(b)
}
