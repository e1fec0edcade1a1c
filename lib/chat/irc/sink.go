package irc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tri/lib/chat"
)

// Sink posts replies. It is separate from Client so that a watcher, which uses only Client, links
// no code that can post.
type Sink struct {
	*Client

	mu     sync.Mutex
	conn   *conn // nil: not connected
	joined map[string]bool
	sent   int
}

// NewSink returns the sink of a network. It makes no network calls.
func NewSink(o Options) (*Sink, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Sink{Client: c}, nil
}

// Limit implements chat.Sink. A text is sent as several lines if necessary.
func (c *Sink) Limit() int { return chat.Limits["irc"] }

// pace is the delay between lines after the first few: servers disconnect clients that flood. maxLines
// can be said in less than the minute after which tri-reply ends a post.
const (
	pace     = 600 * time.Millisecond
	maxLines = 80
)

// Post implements chat.Sink. The server confirms no message, but it answers a PING after the last
// one only when it has processed them all, and sends its errors before that.
func (c *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	out := lines(p.Text)
	if n := utf8.RuneCountInString(p.Text); n > c.Limit() || len(out) == 0 || len(out) > maxLines ||
		!isChannel(p.ChatID) && !nickForm.MatchString(p.ChatID) ||
		strings.ContainsAny(p.ChatID, " ,\r\n\x00") {
		return chat.Posted{},
			fmt.Errorf("irc: post in %q: %d characters in %d lines; 1 to %d in %d can be said, in a channel: %w",
				p.ChatID, n, len(out), c.Limit(), maxLines, chat.ErrRefused)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ready(ctx, p.ChatID); err != nil {
		c.drop()
		if chat.IsRefused(err) {
			return chat.Posted{}, err
		}
		// nothing was sent
		return chat.Posted{}, &chat.RetryError{After: 30 * time.Second, Err: fmt.Errorf("irc: %w", err)}
	}
	posted, err := c.say(ctx, p, out)
	if err != nil && !chat.IsRefused(err) {
		c.drop()
	}
	return posted, err
}

func (c *Sink) drop() {
	if c.conn != nil {
		_ = c.conn.net.Close()
	}
	c.conn, c.joined = nil, nil
}

// ready makes sure that there is a connection and that the channel is joined.
func (c *Sink) ready(ctx context.Context, channel string) error {
	if c.conn != nil {
		if _, _, err := c.ping(ctx, "", nil); err != nil {
			c.drop()
		}
	}
	if c.conn == nil {
		k, err := c.dial(ctx, c.o.Nick+"_", c.o.Nick+"__")
		if err != nil {
			return err
		}
		c.conn, c.joined, c.sent = k, map[string]bool{}, 0
	}
	if !isChannel(channel) || c.joined[fold(channel)] {
		return nil
	}
	refused, _, err := c.ping(ctx, "", func() error { return c.conn.write("JOIN", channel) })
	if err == nil && refused != "" {
		return fmt.Errorf("irc: post in %q: %s: %w", channel, refused, chat.ErrRefused)
	}
	c.joined[fold(channel)] = err == nil
	return err
}

// say sends the lines and waits until the server has processed them.
func (c *Sink) say(ctx context.Context, p chat.Post, out []string) (chat.Posted, error) {
	refused, echo, err := c.ping(ctx, p.ChatID, func() error {
		for _, text := range out {
			if c.sent++; c.sent > 4 {
				if err := c.o.Sleep(ctx, pace); err != nil {
					return err
				}
			}
			head := "PRIVMSG"
			if c.conn.caps["message-tags"] && p.ReplyToID != "" &&
				!strings.ContainsAny(p.ReplyToID, "; \\\r\n") {
				head = "@+draft/reply=" + p.ReplyToID + " PRIVMSG"
			}
			if err := c.conn.write(head, p.ChatID, ":"+text); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return chat.Posted{}, fmt.Errorf("irc: post in %s: %w", p.ChatID, err) // a part may have been posted
	case refused != "":
		return chat.Posted{}, fmt.Errorf("irc: post in %s: %s: %w", p.ChatID, refused, chat.ErrRefused)
	}
	now := c.o.Now().UTC()
	if echo == "" {
		echo = fmt.Sprintf("%d-%s", now.UnixNano(), p.Key)
	}
	return chat.Posted{MessageID: echo, At: now}, nil
}

// answerTime is the timeout for the server to process what was sent.
const answerTime = 30 * time.Second

// ping calls do and waits until the server has processed what it sent. refused is the server's
// error, echo the id of the first of the sink's messages in channel that the server sent back.
func (c *Sink) ping(ctx context.Context, channel string, do func() error) (refused, echo string, err error) {
	if do != nil {
		if err := do(); err != nil {
			return "", "", err
		}
	}
	k := c.conn
	stop := context.AfterFunc(ctx, func() { _ = k.net.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	token := fmt.Sprintf("tri%d", c.o.Now().UnixNano())
	if err := k.write("PING", token); err != nil {
		return "", "", err
	}
	for {
		x, err := k.read(answerTime)
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return "", "", errors.Join(errCut, err)
		}
		switch {
		case x.Command == "PONG" && x.last() == token:
			return refused, echo, nil
		case x.Command == "PING":
			err = k.write("PONG", ":"+x.last())
		case x.Command == "ERROR":
			return "", "", fmt.Errorf("%w: %q", errCut, x.last())
		case x.Command == "PRIVMSG" && echo == "" && fold(x.Nick()) == fold(k.nick) &&
			fold(x.param(0)) == fold(channel):
			echo = x.tag("msgid")
		case refusals[x.Command]:
			refused = fmt.Sprintf("%s %q", x.Command, x.last())
		}
		if err != nil {
			return "", "", err
		}
	}
}

// refusals are the numerics for a channel that cannot be joined or written to.
var refusals = map[string]bool{
	"401": true, "403": true, "404": true, "405": true, "411": true, "412": true, "437": true,
	"471": true, "473": true, "474": true, "475": true, "476": true, "477": true, "489": true, "520": true,
}

// Find implements chat.Sink: IRC cannot look up messages, so nothing can be proved.
func (c *Sink) Find(context.Context, chat.Post) (chat.Posted, chat.Proof, error) {
	return chat.Posted{}, chat.Unprovable, nil
}

// Message implements chat.Sink: IRC cannot read messages back.
func (c *Sink) Message(context.Context, string, string) (string, bool, error) {
	return "", false, fmt.Errorf("irc: read a message: %w", chat.ErrUnsupported)
}
