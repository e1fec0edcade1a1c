package mattermost

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/emoji"
	"tri/lib/chat/sink"
)

// keyProp is the property of a post that contains the key.
const keyProp = "tri_key"

// Sink posts as the bot. It is separate from Client so that a watcher, which uses only Client,
// links no code that can post.
type Sink struct {
	*Client
	sink.Frame
}

// NewSink returns the sink of a server. It makes no network calls.
func NewSink(o Options) (*Sink, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return newSink(c), nil
}

func newSink(c *Client) *Sink {
	// 16,383 is the server's limit (model.PostMessageMaxRunesV2); with an old database column it is lower.
	return &Sink{c, sink.Frame{
		Platform: platform, Max: 16383, Outcome: outcome, Explain: c.explain,
		Joined: remembered, Settled: abandoned, Now: c.api.Now, Sleep: c.api.Sleep,
	}}
}

// outcome classifies an error response of the server: a 403 concerns this post.
func outcome(e *httpapi.Error) sink.Outcome {
	if e.Status == http.StatusForbidden {
		return sink.Refused
	}
	return sink.ByStatus(e.Status)
}

// crowd matches mentions of everybody. The server ignores them in code and also splits words at
// dots and dashes; here all matches are refused.
var crowd = lazyregexp.New(`(?i)(?:^|[^\pL\pN])@(?:all|channel|here)(?:$|[^\pL\pN])`)

// Post implements chat.Sink. The text is sent unchanged or refused.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	if !validID(p.ThreadID) {
		return chat.Posted{}, c.Frame.Refuse(p.ChatID,
			fmt.Errorf("thread %q: an id has 26 letters and digits", p.ThreadID))
	}
	if err := c.check(p.ChatID, p.ThreadID, p.Text); err != nil {
		return chat.Posted{}, err
	}
	made, err := c.send(ctx, p.ChatID, p.ThreadID, p.Text, p.Key)
	if !chat.IsRefused(err) {
		return made, err
	}
	// The server makes some checks after it has stored the post (of its links, for example), and then
	// returns an error although the post exists.
	found, proof, lookErr := c.find(ctx, p)
	switch {
	case proof == chat.Found:
		return found, nil
	case proof == chat.Absent || httpapi.StatusOf(lookErr) == http.StatusForbidden:
		return chat.Posted{}, err
	}
	return chat.Posted{}, fmt.Errorf("mattermost: post in %s: may have been stored: %v; looked for it: %v",
		p.ChatID, err, lookErr)
}

// send posts once, without notifications and previews.
func (c *Sink) send(ctx context.Context, chatID, thread, text, key string) (chat.Posted, error) {
	return c.Frame.Send(chatID, func() (chat.Posted, error) {
		self, err := c.me(ctx)
		if err != nil {
			return chat.Posted{}, fmt.Errorf("%w: %w", sink.ErrUnsent, err)
		}
		var made post
		err = c.once(ctx, http.MethodPost, "posts", map[string]any{
			"channel_id": chatID,
			"root_id":    thread,
			"message":    shown(text),
			// The server remembers the id for 30 s and answers a second request with the post of the
			// first.
			"pending_post_id": self.ID + ":" + key,
			"props": map[string]any{
				keyProp: key,
				// A post with attachments, even an empty list, gets no preview of its links
				// (App.getEmbedForPost); there is no other switch for one post.
				"attachments":              []any{},
				"disable_group_highlight":  true,
				"mentionHighlightDisabled": true,
			},
		}, &made)
		if err != nil || !validID(made.ID) {
			return chat.Posted{}, err
		}
		return posted(made), nil
	})
}

// shown returns text as it can be stored: PostgreSQL has no character 0, and the server answers a
// post that contains one with status 500, every time.
func shown(text string) string { return strings.ReplaceAll(text, "\x00", "\u2400") }

func posted(p post) chat.Posted {
	return chat.Posted{MessageID: p.ID, At: time.UnixMilli(p.CreateAt).UTC()}
}

// check refuses a post that would be rejected, before anything is sent. thread may be "".
func (c *Sink) check(chatID, thread, text string) error {
	var invalid error
	switch {
	case !validID(chatID) || thread != "" && !validID(thread):
		invalid = fmt.Errorf("thread %q: an id has 26 letters and digits", thread)
	case crowd.MatchString(text):
		invalid = fmt.Errorf("%q would alert everybody", crowd.FindString(text))
	}
	return c.Frame.Check(chatID, text, invalid)
}

// Find implements chat.Sink. It reads the whole thread for a post of the bot with the key.
//
// If the thread does not have it, no earlier attempt has landed so far. That none still will is
// certain for a refused attempt, and otherwise follows from this: the attempt was cut when its
// program died or gave up after 30 s, and its connection with it, so all that can remain is a
// request that the server has read and is processing. If it began within the last 30 s, the server
// knows its pending_post_id and answers a second post with the first, or with an error that leads
// back here. If it began earlier, the server has been processing it for longer than the 30 s after
// which it aborts a query (SqlSettings.QueryTimeout); Find waits until the attempt is twice that
// old, and reads the thread again.
func (c *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	if !validID(p.ChatID) || !validID(p.ThreadID) {
		return chat.Posted{}, chat.Absent, nil // such a post is refused before it is sent
	}
	found, proof, err := c.Frame.Find(ctx, p, c.find)
	if err != nil || proof != chat.Absent || p.Tried.IsZero() {
		return found, proof, err
	}
	return c.removed(ctx, p)
}

const (
	// remembered is less than the server's 30 s (app.PendingPostIDsCacheTTL), to leave time for the
	// next attempt to arrive.
	remembered = 20 * time.Second
	abandoned  = 90 * time.Second
)

// find looks for the post among the existing ones of its thread.
func (c *Sink) find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	self, err := c.me(ctx)
	if err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	q := url.Values{"perPage": {strconv.Itoa(maxPage)}, "direction": {"down"}}
	for {
		var l list
		err := c.get(ctx, "posts/"+p.ThreadID+"/thread", q, &l)
		switch {
		case httpapi.StatusOf(err) == http.StatusNotFound:
			return chat.Posted{}, chat.Absent, nil // deleted, with all replies
		case err != nil:
			return chat.Posted{}, chat.Unprovable, fmt.Errorf("mattermost: thread %s: %w", p.ThreadID, err)
		case l.FirstInaccessible != 0:
			return chat.Posted{}, chat.Unprovable, nil
		}
		for _, id := range l.Order {
			if made := l.Posts[id]; made.is(p, self) {
				return posted(made), chat.Found, nil
			}
		}
		last, ok := newest(l)
		if !l.HasNext {
			return chat.Posted{}, chat.Absent, nil
		}
		if !ok || last.ID == q.Get("fromPost") {
			return chat.Posted{}, chat.Unprovable,
				fmt.Errorf("mattermost: thread %s: its pages do not advance", p.ThreadID)
		}
		q.Set("fromPost", last.ID)
		q.Set("fromCreateAt", strconv.FormatInt(last.CreateAt, 10))
	}
}

// newest returns the last post of a page in the order of its pages.
func newest(l list) (post, bool) {
	if len(l.Order) == 0 {
		return post{}, false
	}
	return l.Posts[slices.MaxFunc(l.Order, func(a, b string) int {
		return cmp.Or(cmp.Compare(l.Posts[a].CreateAt, l.Posts[b].CreateAt), cmp.Compare(a, b))
	})], true
}

// is reports whether made is the result of Post for p.
func (made *post) is(p chat.Post, self user) bool {
	return made.UserID == self.ID && made.Props[keyProp] == p.Key
}

// removed looks for a post that landed and was deleted since: it was posted once and must not be
// posted again.
func (c *Sink) removed(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	self, err := c.me(ctx)
	if err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	var gone *post
	since := c.api.ServerTime(p.Tried).Add(-overlap).UnixMilli()
	whole, err := c.changes(ctx, p.ChatID, since, func(made post) {
		if made.is(p, self) && !made.old() {
			gone = &made
		}
	})
	switch {
	case httpapi.IsUnreadable(err):
		return chat.Posted{}, chat.Absent, nil // and a post will be refused
	case err != nil:
		return chat.Posted{}, chat.Unprovable, fmt.Errorf("mattermost: chat %s: %w", p.ChatID, err)
	case gone != nil:
		return posted(*gone), chat.Found, nil
	case !whole:
		return chat.Posted{}, chat.Unprovable, nil
	}
	return chat.Posted{}, chat.Absent, nil
}

func (c *Sink) Message(ctx context.Context, chatID, messageID string) (text string, gone bool, err error) {
	if !validID(messageID) {
		return "", true, nil
	}
	var p post
	err = c.get(ctx, "posts/"+messageID, nil, &p)
	switch {
	case httpapi.StatusOf(err) == http.StatusNotFound:
		return "", true, nil
	case err != nil:
		return "", false, sysexit.Errorf(sysexit.Unavailable, "mattermost: post %s: %w", messageID, err)
	case p.DeleteAt > 0 || p.ChannelID != chatID: // deleted, or moved to another chat
		return "", true, nil
	}
	return p.Message, false, nil
}

func (c *Sink) React(ctx context.Context, _, messageID, char string, on bool) error {
	name, ok := emoji.Name(char)
	if !ok || !validID(messageID) {
		return fmt.Errorf("mattermost: react with %q to %q: %w", char, messageID, chat.ErrUnsupported)
	}
	self, err := c.me(ctx)
	if err != nil {
		return err
	}
	if on {
		in := map[string]any{"user_id": self.ID, "post_id": messageID, "emoji_name": name}
		return c.once(ctx, http.MethodPost, "reactions", in, &struct{}{})
	}
	return c.once(ctx, http.MethodDelete, "users/"+self.ID+"/posts/"+messageID+"/reactions/"+name,
		nil, &struct{}{})
}

// Typing implements chat.Signaler: the indicator is shown for about five seconds.
func (c *Sink) Typing(ctx context.Context, chatID, threadID string) error {
	return c.once(ctx, http.MethodPost, "users/me/typing",
		map[string]any{"channel_id": chatID, "parent_id": threadID}, &struct{}{})
}

func (c *Sink) Edit(ctx context.Context, chatID, messageID, text string) error {
	if err := c.check(chatID, messageID, text); err != nil {
		return err
	}
	return c.once(ctx, http.MethodPut, "posts/"+messageID+"/patch",
		map[string]any{"message": shown(text)}, &post{})
}

// PostCard implements chat.Signaler: the bot adds the reactions for people to click on.
func (c *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	text := card.WithReactions()
	if err := c.check(card.ChatID, card.ThreadID, text); err != nil {
		return chat.Posted{}, err
	}
	made, err := c.send(ctx, card.ChatID, card.ThreadID, text, card.Key)
	if err != nil {
		return chat.Posted{}, err
	}
	return made, sink.React(ctx, c, made.MessageID, card)
}

// UpdateCard implements chat.Signaler. Reactions of removed buttons stay; clicks on them have no
// effect.
func (c *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	if err := c.Edit(ctx, card.ChatID, messageID, card.WithReactions()); err != nil {
		return err
	}
	return sink.React(ctx, c, messageID, card)
}
