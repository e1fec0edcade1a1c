// Package chat is the port to chat platforms: a Source of events and a Sink of replies.
// Every platform is an adapter below this folder and passes the one conformance suite,
// chattest.
package chat

import (
	"context"
	"errors"
	"strings"
	"time"

	"tri/lib/record/event"
)

// Source brings a platform's messages in.
type Source interface {
	// Run hands each message, edit and deletion to the handler, the missed ones
	// first, until ctx ends, the input ends (nil) or it cannot continue. An event may
	// be handed over more than once (tri-watch drops what it has seen); never zero
	// times.
	Run(ctx context.Context, resume Resume, to Handler) error
}

// Resume says where the log ends.
type Resume struct {
	// Last is, per chat_id, the latest create_time or edited_at in the log.
	Last map[string]time.Time
	// State is what the source saved last (Handler.Save), nil for nothing. It is a
	// help to continue (a session to resume, a sync token), never the only ground on
	// which nothing is lost: it may be older than the log.
	State []byte
}

// Handler takes what a source receives. Its methods may be called from several
// goroutines. An input that not every handler wants gets a method here and an
// empty one in Discard, which handlers embed.
type Handler interface {
	// OnEvents keeps events that are ready together, in order, with one fsync for
	// all. They are durable when it returns nil; only then may the platform be told.
	OnEvents(events ...event.Event) error
	// OnAction keeps a click or a reaction on a message of the bot's, durably.
	OnAction(a event.Action) error
	// OnConnect is called when the platform can be heard (true; not when it was
	// asked to), and when it cannot any more (false).
	OnConnect(up bool)
	// Save keeps at most 64 KiB for Resume.State, durably. Call it only when every
	// event before it is durable.
	Save(state []byte) error
	// Logf reports what a person should know (reconnected, recovered 12 messages).
	Logf(format string, args ...any)
}

// Discard is a Handler that keeps nothing.
type Discard struct{}

// OnEvents implements Handler.
func (Discard) OnEvents(...event.Event) error { return nil }

// OnAction implements Handler.
func (Discard) OnAction(event.Action) error { return nil }

// OnConnect implements Handler.
func (Discard) OnConnect(bool) {}

// Save implements Handler.
func (Discard) Save([]byte) error { return nil }

// Logf implements Handler.
func (Discard) Logf(string, ...any) {}

// Post is one message to be sent, as the bot, in a thread.
type Post struct {
	ChatID    string `json:"chat_id"`
	ThreadID  string `json:"thread_id"`   // root message; never empty
	ReplyToID string `json:"reply_to_id"` // the message answered
	Text      string `json:"text"`        // exactly the approved bytes
	// Key is ours, 1 to 64 characters of [a-z0-9-], the same at every try of the
	// same post. The platform keeps it where it can, so that Find can.
	Key string `json:"key"`
	// Tried is when the last earlier try of this post began; zero: there was none,
	// or nobody knows. Find needs it to prove that none can still land.
	Tried time.Time `json:"tried,omitzero"`
}

// Posted is a message that stands on the platform.
type Posted struct {
	MessageID string
	At        time.Time
}

// Proof says how sure Find is.
type Proof int

const (
	Unprovable Proof = iota // cannot tell: park it for the person
	Found                   // it stands there
	Absent                  // provably not there, and no earlier try can still land
)

// Sink sends replies out. Only tri-reply links one.
type Sink interface {
	// Post sends p once, with the platform's idempotency key where it has one. An
	// error that IsRefused or is a *RetryError means that nothing was posted; any
	// other error means that it may have been.
	Post(ctx context.Context, p Post) (Posted, error)
	// Find looks for an earlier Post with the same key.
	Find(ctx context.Context, p Post) (Posted, Proof, error)
	// Message reads a message back: its text as the source would give it.
	// gone is true when it was deleted. A platform that shows a bot nothing of the
	// past returns ErrUnsupported.
	Message(ctx context.Context, chatID, messageID string) (text string, gone bool, err error)
	// Limit is the most characters (runes) that one message can hold.
	Limit() int
}

// Signaler is a sink that can do more than post. A method that the platform does
// not have returns ErrUnsupported; none of them is ever needed for an answer to
// arrive, and none is tried twice.
type Signaler interface {
	// React sets, or takes away, a reaction of the bot. emoji is one character as
	// people see it ("👀"); the adapter knows its platform's name.
	React(ctx context.Context, chatID, messageID, emoji string, on bool) error
	// Typing shows that the bot writes, for the few seconds that the platform has it.
	Typing(ctx context.Context, chatID, threadID string) error
	// Edit replaces the text of a message of the bot's own.
	Edit(ctx context.Context, chatID, messageID, text string) error
	// PostCard posts a card, once for its key, and UpdateCard replaces what it shows (with
	// no buttons: it is settled). Where the platform has no buttons, the card says
	// which reaction stands for which, and a click on one comes as an action whose
	// Name is the emoji.
	PostCard(ctx context.Context, c Card) (Posted, error)
	UpdateCard(ctx context.Context, messageID string, c Card) error
}

// Card is a message with buttons: what a draft is approved with in a chat.
type Card struct {
	ChatID   string
	ThreadID string // "": in the chat itself
	Title    string
	Text     string // plain text; the adapter switches mentions and previews off
	Buttons  []Button
	Key      string // as Post.Key
}

// ButtonReactions are the reactions that stand for a card's buttons on platforms that have
// none for a bot behind a firewall.
var ButtonReactions = map[string]string{"approve": "✅", "dismiss": "❌", "redo": "🔄", "undo": "↩️", "escalate": "⏩"}

// WithReactions is the card's text with what each reaction below it stands for.
func (c *Card) WithReactions() string {
	text := strings.TrimSpace("**" + c.Title + "**\n\n" + c.Text)
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

// Button is one of a card's. A click comes back as an event.Action with its Name
// and Value.
type Button struct {
	Name  string // approve, dismiss: at most 12 of [a-z]
	Label string // what people read
	Value string // what comes back: at most 48 bytes of [a-zA-Z0-9._:-]
	Style string // "", "primary", "danger"
}

// ErrUnsupported means that the platform has no such thing.
var ErrUnsupported = errors.New("not supported by the platform")

// Checker looks from outside whether a platform is set up, for tri-health: the
// token, its scopes, the membership in each watched chat, intents, the clock. It
// posts nothing. Findings come in the order in which one would mend them.
//
// Self is who we are there, as far as it was found out: its ID is what the
// classifier must know for ours.
type Checker interface {
	Check(ctx context.Context) (self event.Sender, findings []Finding)
}

// Finding is one line of tri-health.
type Finding struct {
	Name string // token, scopes, chat, intents, clock
	OK   bool
	Warn bool   // not OK, but it works without
	Text string // "the bot is a member of #dev"
	Mend string // what to do; "" when OK
}

// Guide is how a platform is set up.
type Guide struct {
	Steps    string // what a person does there, in order, with the exact scopes
	Config   string // lines for under chat: of config.yaml, indented by two spaces
	Manifest string // what the platform takes as the whole set-up of an app; "" for none
}

// App is a source that shares its stream with every other connection of the same
// app: two watchers would each get a part. AppID is the same for all of them, and
// says nothing of the secret.
type App interface{ AppID() string }

// RetryError means that nothing was posted and that it may be tried again After.
type RetryError struct {
	After time.Duration
	Err   error
}

func (e *RetryError) Error() string { return e.Err.Error() }
func (e *RetryError) Unwrap() error { return e.Err }

// ErrRefused means that the platform will never take this post (thread deleted,
// no permission, text refused); nothing was posted.
var ErrRefused = errors.New("refused by the platform")

// IsRefused reports whether err is final.
func IsRefused(err error) bool { return errors.Is(err, ErrRefused) }
