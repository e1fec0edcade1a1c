// Package chat is the port to chat platforms: a Source of events and a Sink of replies.
// Every platform is an adapter below this folder and passes the one conformance suite,
// chattest.
package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tri/lib/record/event"
	"tri/lib/record/presence"
)

// Source reads events from a platform.
type Source interface {
	// Run passes each message, edit and deletion to the handler, missed ones first, until ctx ends, the
	// input ends (nil) or it cannot continue. Delivery is at least once: an event may be passed again
	// (tri-watch drops duplicates), but none is skipped.
	Run(ctx context.Context, resume Resume, to Handler) error
}

// Resume is the point from which a source continues.
type Resume struct {
	// Last is, per chat_id, the latest create_time or edited_at in the log.
	Last map[string]time.Time
	// State is what the source last passed to Handler.Save, nil if nothing. It is only a hint (a
	// session to resume, a sync token): it may be older than the log, and a source must lose nothing
	// without it.
	State []byte
}

// Handler receives the events of a source. Its methods may be called from several goroutines. An
// input that not every handler needs gets a method here and an empty one in Discard, which handlers
// embed.
type Handler interface {
	// OnEvents stores events in order, with one fsync for all. They are durable when it returns nil;
	// only then may the source acknowledge them to the platform.
	OnEvents(events ...event.Event) error
	// OnAction stores a click or a reaction on a message of the bot, or a person's reaction on a message of
	// their own, durably.
	OnAction(a event.Action) error
	// OnTyping reports that somebody types, or no longer does (ExpiresAt in the past). It is only a
	// hint: it is not durable, and may be lost.
	OnTyping(t presence.Typing)
	// OnConnect reports that events can be received (true; not yet when the connection is only
	// requested), or no longer can (false).
	OnConnect(up bool)
	// Save stores at most 64 KiB for Resume.State, durably. Call it only when every earlier event is
	// durable.
	Save(state []byte) error
	// Logf reports events of the connection to the operator (reconnected, recovered 12 messages).
	Logf(format string, args ...any)
}

// Discard is a Handler that drops everything.
type Discard struct{}

var _ Handler = Discard{}

func (Discard) OnEvents(...event.Event) error { return nil }
func (Discard) OnAction(event.Action) error   { return nil }
func (Discard) OnTyping(presence.Typing)      {}
func (Discard) OnConnect(bool)                {}
func (Discard) Save([]byte) error             { return nil }
func (Discard) Logf(string, ...any)           {}

// Post is one message that the bot sends in a thread.
type Post struct {
	ChatID    string `json:"chat_id"`
	ThreadID  string `json:"thread_id"`   // root message; never empty
	ReplyToID string `json:"reply_to_id"` // the message answered
	Text      string `json:"text"`        // exactly the approved bytes
	// Key is the idempotency key, 1 to 64 characters of [a-z0-9-], the same at every attempt to send
	// this post. The platform stores it where it can, so that Find can look it up.
	Key string `json:"key"`
	// Tried is the start of the last earlier attempt; zero if there was none or it is unknown. Find
	// needs it to prove that no attempt can still land.
	Tried time.Time `json:"tried,omitzero"`
	// Own: this process made that attempt, so that Tried has a reading of its monotonic clock.
	Own bool `json:"-"`
}

// Posted identifies a message on the platform.
type Posted struct {
	MessageID string
	At        time.Time
}

// Proof is how certain the result of Find is.
type Proof int

const (
	Unprovable Proof = iota // cannot be decided: park it for a person
	Found                   // it is on the platform
	Absent                  // provably not there, and no earlier attempt can still land
)

// Sink sends replies. Only tri-reply links an implementation.
type Sink interface {
	// Post sends p once, with the platform's idempotency key where there is one. If the error satisfies
	// IsRefused or is a *RetryError, nothing was posted; after any other error p may have been posted.
	Post(ctx context.Context, p Post) (Posted, error)
	// Find looks for an earlier Post with the same key.
	Find(ctx context.Context, p Post) (Posted, Proof, error)
	// Message reads a message back, with its text as the source would report it. gone is true if it was
	// deleted. A platform that does not let a bot read messages returns ErrUnsupported.
	Message(ctx context.Context, chatID, messageID string) (text string, gone bool, err error)
	// Limit is the maximum length of a message in characters (runes).
	Limit() int
}

// Limits are the limits of the sinks of platforms on which a draft can be longer than a message. They are
// here for those who cut it before a person approves it. Each sink has the source of its number.
var Limits = map[string]int{"discord": 2000, "irc": 2000, "lark": 4000, "slack": 4000, "telegram": 2048}

// Signaler is a sink that can do more than post. A method that the platform lacks returns
// ErrUnsupported. No answer depends on any of them; only a card that was not posted is tried for long.
type Signaler interface {
	// React adds (on) or removes a reaction of the bot. emoji is one Unicode emoji ("👀"); the adapter
	// translates it to the platform's name.
	React(ctx context.Context, chatID, messageID, emoji string, on bool) error
	// Typing shows the typing indicator, for the few seconds that the platform keeps it.
	Typing(ctx context.Context, chatID, threadID string) error
	// Edit replaces the text of a message of the bot.
	Edit(ctx context.Context, chatID, messageID, text string) error
	// PostCard posts a card, once per key; UpdateCard replaces its contents (without buttons once it is
	// decided). On a platform without buttons the card lists a reaction for each button, and a reaction
	// arrives as an action whose Name is the emoji.
	PostCard(ctx context.Context, c Card) (Posted, error)
	UpdateCard(ctx context.Context, messageID string, c Card) error
}

// Card is a message with buttons, by which a draft is approved in a chat.
type Card struct {
	ChatID   string
	ThreadID string // "": in the chat itself, outside any thread
	Title    string // "": none
	Text     string // plain text; the adapter switches mentions and previews off
	Buttons  []Button
	Key      string // as Post.Key
}

// ButtonReactions are the reactions that replace a card's buttons on platforms that have none for a
// bot behind a firewall.
var ButtonReactions = map[string]string{"approve": "✅", "dismiss": "❌", "redo": "🔄", "undo": "↩️",
	"escalate": "⏩"}

// WithReactions returns the card's text followed by the meaning of each reaction.
func (c *Card) WithReactions() string {
	text := strings.TrimSpace(c.Text)
	if c.Title != "" {
		text = strings.TrimSpace("**" + c.Title + "**\n\n" + text)
	}
	var how []string
	for _, b := range c.Buttons {
		if mark := ButtonReactions[b.Name]; mark != "" {
			how = append(how, mark+" "+b.Label)
		}
	}
	if len(how) > 0 {
		text += "\n\n" + strings.Join(how, " · ")
	}
	return text
}

// Button is a button of a card. A click arrives as an event.Action with its Name and Value.
type Button struct {
	Name  string // approve, dismiss: at most 12 of [a-z]
	Label string // the label shown
	Value string // returned with a click: at most 48 bytes of [a-zA-Z0-9._:-]
	Style string // "", "primary", "danger"
}

// ErrUnsupported means that the platform lacks the feature.
var ErrUnsupported = errors.New("not supported by the platform")

// Checker checks the set-up of a platform for tri-health: the token, its scopes, the membership in
// each watched chat, intents, the clock. It posts nothing. Findings come in the order in which to
// fix them.
//
// self is the bot's own account, as far as it could be determined; the classifier needs its ID to
// recognize the bot's messages.
type Checker interface {
	Check(ctx context.Context) (self event.Sender, findings []Finding)
}

// Finding is one line of tri-health.
type Finding struct {
	Name string // token, scopes, chat, intents, clock
	OK   bool
	Warn bool   // not OK, but the platform works without it
	Text string // "the bot is a member of #dev"
	Fix  string // how to fix it; "" if OK
}

// Good returns a finding that is OK; Bad one that says how to fix it, and Warning one without which the
// platform works.
func Good(name, format string, args ...any) Finding {
	return Finding{Name: name, OK: true, Text: fmt.Sprintf(format, args...)}
}

func Bad(name, fix, format string, args ...any) Finding {
	return Finding{Name: name, Text: fmt.Sprintf(format, args...), Fix: fix}
}

func Warning(name, fix, format string, args ...any) Finding {
	return Finding{Name: name, Warn: true, Text: fmt.Sprintf(format, args...), Fix: fix}
}

// maxSkew is the clock difference above which a finding is reported. Tokens, and the calls of webhooks, may
// be off by five minutes.
const maxSkew = 30 * time.Second

// Clock returns the finding, if any, about a platform's clock that differs by skew from this machine's.
func Clock(whose string, skew time.Duration) []Finding {
	if skew.Abs() <= maxSkew {
		return nil
	}
	return []Finding{Warning("clock", "set this machine's clock: timedatectl set-ntp true",
		"%s clock differs by %v from this machine's", whose, skew.Round(time.Second))}
}

// Guide describes how to set up a platform.
type Guide struct {
	Steps    string // the steps for a person, in order, with the exact scopes
	Config   string // lines for the chat section of config.yaml, indented by two spaces
	Manifest string // the platform's app manifest; "" if it has none
}

// App is a source whose events are distributed over all connections of the same app, so that two
// watchers would each receive a part. AppID is the same for all of them and does not reveal the
// secret.
type App interface{ AppID() string }

// RetryError means that nothing was posted and that the post may be retried after After.
type RetryError struct {
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }
func (e *RetryError) Unwrap() error { return e.Err }

// ErrRefused means that the platform will never accept this post (thread deleted, no permission,
// text rejected); nothing was posted.
var ErrRefused = errors.New("refused by the platform")

// IsRefused reports whether err is a final refusal.
func IsRefused(err error) bool { return errors.Is(err, ErrRefused) }
