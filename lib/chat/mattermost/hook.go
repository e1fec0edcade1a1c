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

// calls serves outgoing webhooks beside the WebSocket, for servers whose proxies
// let no WebSocket through: each names a post, which is then read from the server
// itself, so that a forged call can at most have us read what is there.
// https://developers.mattermost.com/integrate/webhooks/outgoing/
func (c *Client) calls(ctx context.Context, to chat.Handler) error {
	l, err := webhook.Listen(c.listen)
	if err != nil {
		return err
	}
	to.Logf("mattermost: outgoing webhooks are taken at %s", l.Addr())
	return webhook.Serve(ctx, l, nil, func(ctx context.Context, call *webhook.Call) webhook.Answer {
		token, id := named(call)
		if call.Method != http.MethodPost || token == "" || !webhook.Equal(token, c.hookToken) {
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
	})
}

// named is the token and the post of a call, as JSON or as a form, as the webhook
// was set up.
func named(call *webhook.Call) (token, id string) {
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
	case statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusForbidden:
		return nil // there is none for us
	case err != nil:
		return err
	case !validID(p.ID) || !validID(p.ChannelID):
		return fmt.Errorf("post %s: the answer is no post", id)
	}
	if ok, err := c.welcome(ctx, p); err != nil || !ok {
		return err
	}
	e, err := c.event(ctx, p, nil)
	if err != nil {
		return err
	}
	return to.OnEvents(e)
}

// welcome reports whether a post is one to be heard: in a watched chat, by nobody
// from outside unless they are let in, in a conversation of few only when it is
// named.
func (c *Client) welcome(ctx context.Context, p *post) (bool, error) {
	if !c.watches(p.ChannelID) {
		return false, nil
	}
	if c.chats == nil {
		r, err := c.room(ctx, p.ChannelID)
		if err != nil || r.Type == direct || r.Type == group {
			return false, err
		}
	}
	if c.external {
		return true, nil
	}
	u, err := c.person(ctx, p.UserID)
	return err == nil && !u.outside(), err
}
