package reply

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/chat"
)

// Test is one message of fixed text by which a person tries the way into a chat. It is no answer: it is in
// no log of the home.
type Test struct {
	Room     string // id of the chat, or its configured name
	Platform string // "": the one that Room determines
	By       string // the person who sends it; part of the text
	Yes      bool   // do not ask
	JSON     bool   // print a record
	Chats    []config.Chat
	Sinks    map[string]chat.Sink // by platform
	In       io.Reader
	Out, Err io.Writer
}

// tested is the record of a test message.
type tested struct {
	Platform  string `json:"platform"`
	ChatID    string `json:"chat_id"`
	MessageID string `json:"posted_message_id"`
	At        string `json:"posted_at"` // RFC 3339
	Text      string `json:"text"`
}

// senderForm keeps mentions and markup out of the text.
var senderForm = lazyregexp.New(`^[\pL\pN][\pL\pN ._-]{0,63}$`)

// Run shows the message, asks, posts it in the chat itself, and prints its id. It posts at most once: an
// unclear outcome is an error that says so, and nothing is tried again.
func (t *Test) Run(ctx context.Context) error {
	if !senderForm.MatchString(t.By) {
		err := sysexit.With(sysexit.Usage,
			fmt.Errorf("test message of %q: no name of letters, digits and . _ -", t.By))
		return sysexit.Hint(err, "--as NAME says who sends it")
	}
	done := tested{Text: "This is a test message from tri, sent by " + t.By + ". No answer is needed."}
	var err error
	if done.Platform, done.ChatID, err = t.place(); err != nil {
		return err
	}
	if err := t.ask(ctx, done); err != nil {
		return err
	}
	posted, err := t.post(ctx, done)
	if err != nil {
		return unposted(fmt.Errorf("test message to %q on %s: %w", done.ChatID, done.Platform, err))
	}
	done.MessageID, done.At = posted.MessageID, text.Timestamp(posted.At)
	return t.print(done)
}

// place returns where the message goes. Configured chats come first; any other word is taken for an id.
func (t *Test) place() (platform, chatID string, err error) {
	on := slices.Sorted(maps.Keys(t.Sinks))
	if t.Platform != "" {
		if t.Sinks[t.Platform] == nil {
			err := fmt.Errorf("platform %q: not configured; configured: %s", t.Platform,
				strings.Join(on, ", "))
			return "", "", sysexit.With(sysexit.Usage, err)
		}
		on = []string{t.Platform}
	}
	var found [][2]string
	for _, c := range t.Chats {
		for _, p := range on {
			at := [2]string{p, c.ChatID}
			meant := t.Room == c.ChatID || t.Room == c.Name
			if meant && (c.Platform == p || c.Platform == "") && !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0][0], found[0][1], nil
	case len(found) == 0 && len(on) == 1:
		return on[0], t.Room, nil
	case len(found) == 0:
		err = fmt.Errorf("chat %q: not configured, and it can be on %s", t.Room, strings.Join(on, ", "))
	default:
		var places []string
		for _, at := range found {
			places = append(places, fmt.Sprintf("%q on %s", at[1], at[0]))
		}
		err = fmt.Errorf("chat %q: could be %s", t.Room, strings.Join(places, ", "))
	}
	return "", "", sysexit.Hint(sysexit.With(sysexit.Usage, err),
		"--platform NAME and the id of the chat select one")
}

// ask shows what would be posted and waits for a yes.
func (t *Test) ask(ctx context.Context, m tested) error {
	_, err := fmt.Fprintf(t.Err, "To %s on %s would be posted:\n\n  %s\n\n", text.Visible(m.ChatID),
		m.Platform, m.Text)
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("show the test message: %w", err))
	}
	if t.Yes {
		return nil
	}
	if !term.Is(t.In) || !term.Is(t.Err) {
		err := sysexit.With(sysexit.Usage, errors.New("nothing was posted: no terminal on which to ask"))
		return sysexit.Hint(err, "--yes posts without asking")
	}
	fmt.Fprint(t.Err, "Post it? [y/N] ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(io.LimitReader(t.In, 100)).ReadString('\n') // end of input means no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
	case word := <-answer:
		if word == "y" || word == "yes" {
			return nil
		}
	}
	return sysexit.With(sysexit.No, errors.New("nothing was posted"))
}

// post posts the message outside any thread: as a card without title and buttons, or, on a platform
// without cards, as a post, which has no threads there either.
func (t *Test) post(ctx context.Context, m tested) (chat.Posted, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	key := "test-" + strings.ToLower(rand.Text())
	sink := t.Sinks[m.Platform]
	if cards, ok := sink.(chat.Signaler); ok {
		return cards.PostCard(ctx, chat.Card{ChatID: m.ChatID, Text: m.Text, Key: key})
	}
	return sink.Post(ctx, chat.Post{ChatID: m.ChatID, Text: m.Text, Key: key})
}

// unposted adds to the error of a post whether something was posted.
func unposted(err error) error {
	status, known := sysexit.Of(err)
	if !known {
		status = sysexit.Unavailable
	}
	again := new(chat.RetryError)
	switch {
	case errors.As(err, &again):
		err = fmt.Errorf("%w; nothing was posted", err)
		if !known {
			status = sysexit.TempFail
		}
		err = sysexit.Hint(err, fmt.Sprintf("try again in %v", cmp.Or(again.After, time.Second)))
	case chat.IsRefused(err), errors.Is(err, chat.ErrUnsupported):
		err = fmt.Errorf("%w; nothing was posted", err)
	default:
		err = sysexit.Hint(fmt.Errorf("%w; it may have been posted", err),
			"look in the chat before you try again")
	}
	return sysexit.With(status, err)
}

// print prints the record, or a line for people.
func (t *Test) print(m tested) error {
	line := fmt.Sprintf("posted to %s on %s: message %s\n", text.Visible(m.ChatID), m.Platform,
		text.Visible(m.MessageID))
	if t.JSON {
		b, err := json.Marshal(m)
		if err != nil {
			return sysexit.With(sysexit.Software, fmt.Errorf("write the record: %w", err))
		}
		line = string(b) + "\n"
	}
	if _, err := io.WriteString(t.Out, line); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("message %s was posted, and its record not written: %w",
			m.MessageID, err))
	}
	return nil
}
