package discord

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/session"
	"tri/lib/chat/webhook"
	"tri/lib/record/event"
)

// Types of interactions and of responses to them (interactions/receiving-and-responding).
const (
	interactionPing  = 1
	interactionClick = 3
	answerPong       = 1
	answerSeen       = 6 // deferred update: nothing is posted, and the client shows no failure
)

// interaction is a click, or a ping by which Discord checks the endpoint.
type interaction struct {
	ID        string `json:"id"`
	Kind      int    `json:"type"`
	Token     string `json:"token"`
	ChannelID string `json:"channel_id"`
	Data      struct {
		CustomID string `json:"custom_id"`
	} `json:"data"`
	Member struct {
		User user   `json:"user"`
		Nick string `json:"nick"`
	} `json:"member"` // in a server
	User    user `json:"user"` // in a private chat
	Message struct {
		ID string `json:"id"`
	} `json:"message"`
}

// action returns the action of a click, if it is on a card in a watched chat.
func (c *Client) action(ctx context.Context, i *interaction) (a event.Action, ok bool, err error) {
	who := i.Member.User
	if who.ID == "" {
		who = i.User
	}
	name, value, ok := strings.Cut(i.Data.CustomID, ":")
	if i.Kind != interactionClick || !ok || !validID(i.ID) || !validID(i.ChannelID) ||
		!validID(i.Message.ID) || !validID(who.ID) {
		return a, false, nil
	}
	p, err := c.place(ctx, i.ChannelID)
	if err != nil || !c.accepts(&p) {
		return a, false, err
	}
	return event.Action{
		ID: i.ID, Platform: platform, ChatID: p.chat(), MessageID: i.Message.ID,
		At:     createdAt(i.ID).Format(stamps),
		Sender: event.Sender{ID: who.ID, Type: "user", Name: cmp.Or(i.Member.Nick, who.name())}, Name: name,
		Value: value,
	}, true, nil
}

// clicked adds a click that arrived over the gateway, and responds when it is durable. After a late
// response Discord shows the user "failed" for a click that counts; the card shows the actual
// result.
func (l *listening) clicked(ctx context.Context, f frame, b *session.Batch) error {
	var i interaction
	if err := json.Unmarshal(f.Data, &i); err != nil || !validID(i.ID) {
		l.Logf("discord: event %d: a click is not understood, left out", f.Seq)
		return nil
	}
	a, ok, err := l.action(ctx, &i)
	if err != nil {
		return err
	}
	if ok {
		b.Actions = append(b.Actions, a)
	}
	if i.Kind != interactionClick || !printable(i.Token) {
		return nil
	}
	b.Done = append(b.Done, func(failed error) error {
		if failed != nil {
			return nil
		}
		err := l.once(ctx, http.MethodPost, "interactions/"+i.ID+"/"+i.Token+"/callback",
			map[string]any{"type": answerSeen}, nil)
		if err != nil { // the error itself contains the token
			l.Logf("discord: click %s could not be answered: status %d, code %q", i.ID, httpapi.StatusOf(err),
				httpapi.CodeOf(err))
		}
		return nil
	})
	return nil
}

// printable reports whether a token can be part of a URL path unescaped.
func printable(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' &&
			r != '.' && r != '='
	})
}

// calls handles Discord's calls of the interactions endpoint. Discord also sends calls with wrong
// signatures to check that they are refused.
func (c *Client) calls(stamps *webhook.Stamps, to chat.Handler) webhook.Handler {
	return func(ctx context.Context, call *webhook.Call) webhook.Answer {
		if call.Method != http.MethodPost || !stamps.Verify(call) {
			return webhook.Refused()
		}
		call.Proved()
		var i interaction
		if json.Unmarshal(call.Body, &i) != nil {
			return webhook.Answer{Status: http.StatusBadRequest}
		}
		answer := answerSeen
		if i.Kind == interactionPing {
			answer = answerPong
		} else if err := c.click(ctx, &i, to); err != nil {
			to.Logf("discord: click %q: %v", i.ID, err)
			return webhook.Answer{Status: http.StatusServiceUnavailable}
		}
		stamps.Keep(call)
		return webhook.Answer{Type: "application/json", Body: fmt.Appendf(nil, `{"type":%d}`, answer)}
	}
}

// click makes a click durable.
func (c *Client) click(ctx context.Context, i *interaction, to chat.Handler) error {
	a, ok, err := c.action(ctx, i)
	if err != nil || !ok {
		return err
	}
	return to.OnAction(a)
}

// stamps verifies signatures over the time and body as received.
func (c *Client) stamps() *webhook.Stamps {
	return &webhook.Stamps{
		Time: "X-Signature-Timestamp", Signature: "X-Signature-Ed25519", Size: 2 * ed25519.SignatureSize,
		Now: c.api.Now,
		Valid: func(call *webhook.Call, at, signature string) bool {
			sum, err := hex.DecodeString(signature)
			// accept one spelling only: otherwise a replay could look new
			return err == nil && strings.ToLower(signature) == signature &&
				ed25519.Verify(c.key, append([]byte(at), call.Body...), sum)
		},
	}
}

// reacted adds a reaction to a message of the bot, or of a person to a message of their own. Discord gives
// reactions no id and no time;
// the session and its sequence number identify one, and are the same at each delivery.
func (l *listening) reacted(ctx context.Context, f frame, b *session.Batch) error {
	var r struct {
		UserID    string `json:"user_id"`
		ChannelID string `json:"channel_id"`
		MessageID string `json:"message_id"`
		AuthorID  string `json:"message_author_id"`
		Emoji     struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"emoji"`
		Member struct {
			Nick string `json:"nick"`
			User user   `json:"user"`
		} `json:"member"`
	}
	if json.Unmarshal(f.Data, &r) != nil || !validID(r.UserID) || !validID(r.ChannelID) ||
		!validID(r.MessageID) {
		l.Logf("discord: event %d: a reaction is not understood, left out", f.Seq)
		return nil
	}
	self, err := l.me(ctx)
	if err != nil || r.UserID == self.ID {
		return err
	}
	p, err := l.place(ctx, r.ChannelID)
	if err != nil || !l.accepts(&p) {
		return err
	}
	if r.AuthorID == "" {
		r.AuthorID, err = l.author(ctx, p.ID, r.MessageID)
	}
	if err != nil || r.AuthorID != self.ID && r.AuthorID != r.UserID {
		return err
	}
	name := r.Emoji.Name
	if r.Emoji.ID != "" {
		name = ":" + name + ":"
	}
	b.Actions = append(b.Actions, event.Action{
		ID: fmt.Sprintf("%s %d", l.resumeState.ID, f.Seq), Platform: platform, ChatID: p.chat(),
		MessageID: r.MessageID,
		At:        l.api.ServerTime(l.api.Now()).UTC().Format(stamps),
		Sender: event.Sender{ID: r.UserID, Type: "user",
			Name: cmp.Or(r.Member.Nick, r.Member.User.name())},
		Name: name, Removed: f.Type == "MESSAGE_REACTION_REMOVE",
	})
	return nil
}

// author returns the author of a message, "" if it was deleted.
func (l *listening) author(ctx context.Context, place, id string) (string, error) {
	if s, ok := l.recent.senders[id]; ok {
		return s.ID, nil
	}
	var m message
	switch err := l.get(ctx, "channels/"+place+"/messages/"+id, nil, &m); {
	case httpapi.StatusOf(err) == http.StatusNotFound || httpapi.StatusOf(err) == http.StatusForbidden:
		return "", nil
	case err != nil || m.Author == nil:
		return "", err
	}
	return m.Author.ID, nil
}
