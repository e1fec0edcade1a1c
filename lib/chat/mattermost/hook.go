package mattermost

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"tri/lib/chat"
	"tri/lib/chat/webhook"
)

// calls answers outgoing webhooks in addition to the WebSocket, for servers behind proxies that
// block WebSockets. Each call names a post, which is then read from the server, so that a forged
// call can only cause a read. https://developers.mattermost.com/integrate/webhooks/outgoing/
func (c *Client) calls(to chat.Handler) webhook.Handler {
	return func(ctx context.Context, call *webhook.Call) webhook.Answer {
		token, id := arguments(call)
		if call.Method != http.MethodPost || token == "" || !webhook.Equal(token, c.o.HookToken) {
			return webhook.Refused()
		}
		call.Proved()
		if !validID(id) {
			return webhook.Answer{Status: http.StatusBadRequest}
		}
		if err := c.called(ctx, id, to); err != nil {
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

// called makes the post of a call durable.
func (c *Client) called(ctx context.Context, id string, to chat.Handler) error {
	p := new(post)
	switch err := c.get(ctx, "posts/"+id, nil, p); {
	case unreadable(err):
		return nil // no such post for the bot
	case err != nil:
		return err
	case !validID(p.ID) || !validID(p.ChannelID):
		return fmt.Errorf("post %s: the answer is no post", id)
	}
	if ok, err := c.accepts(ctx, p); err != nil || !ok {
		return err
	}
	e, err := c.event(ctx, p, nil)
	if err != nil {
		return err
	}
	return to.OnEvents(e)
}
