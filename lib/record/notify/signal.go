// Package notify asks tri-reply to show something in a chat besides replies: a card or a reaction.
// Any program appends requests to signals.ndjson; tri-reply, which alone posts, does each once and
// records the outcome in signals-done.ndjson. No answer waits for a signal.
package notify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/notice"
)

// The logs' names below the home.
const (
	LogName  = "signals.ndjson"
	DoneName = "signals-done.ndjson"
)

// Kinds of signal.
const (
	Card   = "card"   // post a card
	Recard = "recard" // replace the content of a card; a card without buttons is closed
	React  = "react"  // set or remove a reaction of the bot
	Edit   = "edit"   // replace the text of a posted notice by another one of its form
)

// Signal is one line of signals.ndjson. Which fields are set depends on Kind.
type Signal struct {
	ID       string `json:"id"` // 1 to 64 of [a-z0-9-]; a signal with a known ID is not done again
	At       string `json:"at"` // RFC 3339
	Kind     string `json:"kind"`
	By       string `json:"by"` // the requesting program
	Platform string `json:"platform"`
	ChatID   string `json:"chat_id"`

	MessageID string `json:"message_id,omitempty"` // of react: the message
	Emoji     string `json:"emoji,omitempty"`      // one visible character
	On        bool   `json:"on,omitempty"`

	Card    string   `json:"card,omitempty"` // of recard: the ID of the signal that posted it
	Title   string   `json:"title,omitempty"`
	Text    string   `json:"text,omitempty"` // plain text
	Buttons []Button `json:"buttons,omitempty"`

	// Of edit: the values of the form. Text and message follow from Key, which is the notice's.
	Holes *notice.Holes `json:"holes,omitempty"`

	// What a card is about: a draft of a thread, or a parked post.
	Key         string `json:"key,omitempty"`
	Cycle       int    `json:"cycle,omitempty"`
	DraftSHA256 string `json:"draft_sha256,omitempty"`
	Post        string `json:"post,omitempty"`
}

// Button is a button of a card; see chat.Button.
type Button struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Value string `json:"value"`
	Style string `json:"style,omitempty"`
}

// OfAuto returns the ID of the card that announces an automatic reply; draft is its decision.ID.
// tri-reply posts the reply only after its card is shown.
func OfAuto(draft string) string {
	return "auto-" + text.SHA256(draft)[:32]
}

// Outcomes.
const (
	Shown       = "shown"
	Unsupported = "unsupported" // the platform does not support it
	Refused     = "refused"     // by the configuration or the platform
	Late        = "late"        // too old to be useful, or replaced before it was shown
	Failed      = "failed"      // tried, with an unknown result
)

// Done is one line of signals-done.ndjson.
type Done struct {
	ID        string `json:"id"` // of the signal
	At        string `json:"at"`
	Outcome   string `json:"outcome"`
	MessageID string `json:"message_id,omitempty"` // of a card: its message id
	Why       string `json:"why,omitempty"`
}

// Ask appends signals durably. Any number of programs may call it.
func Ask(h *durable.Home, signals ...Signal) error { return durable.Append(h, LogName, signals...) }

// Tell appends outcomes. Only tri-reply does.
func Tell(h *durable.Home, done ...Done) error { return durable.Append(h, DoneName, done...) }

// Asked calls fn for each signal from a byte offset and returns the offset after the last.
func Asked(h *durable.Home, from int64, fn func(Signal) error) (int64, error) {
	return each(h, LogName, from, fn)
}

// Told is Asked for outcomes.
func Told(h *durable.Home, from int64, fn func(Done) error) (int64, error) {
	return each(h, DoneName, from, fn)
}

func each[T any](h *durable.Home, name string, from int64, fn func(T) error) (int64, error) {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return from, nil
	}
	if err != nil {
		return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	defer f.Close()
	if _, err := f.Seek(from, 0); err != nil {
		return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
	}
	in := bufio.NewScanner(f)
	in.Buffer(nil, ndjson.MaxLine)
	in.Split(wholeLines)
	for in.Scan() {
		var r T
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return from, sysexit.With(sysexit.Data, fmt.Errorf("read %s at byte %d: %w", name, from, err))
		}
		if err := fn(r); err != nil {
			return from, err
		}
		from += int64(len(in.Bytes()))
	}
	if err := in.Err(); err != nil {
		return from, sysexit.With(sysexit.IO, fmt.Errorf("read %s at byte %d: %w", name, from, err))
	}
	return from, nil
}

// wholeLines is a bufio.SplitFunc for lines including their newline. An incomplete last line is
// being written or torn, and is skipped.
func wholeLines(data []byte, _ bool) (int, []byte, error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

// Allowed returns why the configuration does not permit a signal. Cards may go only to the
// operators' channel, reactions only to the chats listed for them. A program that requests more
// has been misled.
func Allowed(c *config.Config, s *Signal) error {
	switch s.Kind {
	case Card, Recard:
		if g := c.Gate.Chat; s.Platform != g.Platform || s.ChatID != g.ChatID || g.ChatID == "" {
			return errors.New("cards are for the channel of gate.chat")
		}
	case React:
		r := c.Gate.Reactions
		if !r.Enabled || !slices.Contains(r.Chats, s.ChatID) {
			return errors.New("gate.reactions does not name this chat")
		}
		// A removal may be of one that an earlier configuration named.
		if s.Emoji == "" || s.On && !slices.Contains(r.Emoji(), s.Emoji) {
			return errors.New("gate.reactions does not name this reaction")
		}
	case Edit: // the approval of its form allows it
	default:
		return fmt.Errorf("there is no kind %q", s.Kind)
	}
	return nil
}
