// Package event is a chat message, or a change of one, normalized across platforms, with the
// classifier's fields.
package event

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"tri/lib/base/text"
)

// Event is one line of events.ndjson. Times are RFC 3339 in UTC.
type Event struct {
	// Seq is the byte offset of this record's line in events.ndjson, stamped by tri-watch. Nil in
	// records from elsewhere.
	Seq *int64 `json:"seq,omitempty"`

	Platform   string   `json:"platform"`
	ChatID     string   `json:"chat_id"` // the parent chat, also for a message in a thread
	ChatName   string   `json:"chat_name"`
	MessageID  string   `json:"message_id"`
	CreateTime string   `json:"create_time"`
	MsgType    string   `json:"msg_type"` // text, image, file, thread_reply, …
	Content    string   `json:"content"`
	ThreadID   *string  `json:"thread_id"` // id of the thread's root message; nil: not in a thread
	Sender     Sender   `json:"sender"`
	Mentions   []string `json:"mentions"`

	// ThreadInferred says why tri-thread assigned this message to a thread.
	ThreadInferred string `json:"thread_inferred,omitempty"`
	// TurnID is the message_id of the first message of its turn, TurnN its number in it (0: an edit
	// or a deletion) and TurnWhy the reason; see lib/record/turn. Absent without tri-turn.
	TurnID  string `json:"turn_id,omitempty"`
	TurnN   int    `json:"turn_n,omitempty"`
	TurnWhy string `json:"turn_why,omitempty"`
	// EditedAt is set if this event is an edit of an earlier message; Content is then the new
	// text.
	EditedAt string `json:"edited_at,omitempty"`
	// EditID distinguishes two edits of one message if the platform's times cannot (a revision, an
	// offset).
	EditID string `json:"edit_id,omitempty"`
	// Deleted is set if the message was deleted; Content is then empty.
	Deleted   bool   `json:"deleted,omitempty"`
	ReplyToID string `json:"reply_to_id,omitempty"` // the quoted message
	// ForwardedFrom is who wrote what the sender passed on, "unknown" if the platform does not say. Content
	// has that text as quoted lines ("> "); see Forward.
	ForwardedFrom string       `json:"forwarded_from,omitempty"`
	Permalink     string       `json:"permalink,omitempty"`
	Attachments   []Attachment `json:"attachments,omitempty"` // metadata only
	// RawRef is where the platform's own record is kept, "raw.ndjson:OFFSET" below the home. Set
	// if chat.keep_raw is set.
	RawRef string `json:"raw_ref,omitempty"`

	// Raw is that record, passed from the adapter to lib/flow/watch.
	Raw []byte `json:"-"`
}

// Sender is the author of the message. Type is "user" or "bot".
type Sender struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

// Attachment is the metadata of an attached file, never its bytes.
type Attachment struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes
	URL  string `json:"url,omitempty"`
}

// Classifications of an event.
const (
	Actionable = "actionable"
	Ambient    = "ambient"
	Ack        = "ack"
)

// Classified is an event with the classifier's fields.
type Classified struct {
	Event

	IsBotMention               bool     `json:"is_bot_mention"`
	IsQuestion                 bool     `json:"is_question"`
	IsAckOrEmoji               bool     `json:"is_ack_or_emoji"`
	IsInternalChatter          bool     `json:"is_internal_chatter"`
	MentionsThreadWithInflight bool     `json:"mentions_thread_with_inflight"`
	Classification             string   `json:"classification"`
	ClassifierConfidence       float64  `json:"classifier_confidence"` // 0 to 1
	ClassifierVersion          string   `json:"classifier_version"`
	ClassifiedAt               string   `json:"classified_at"`
	Reasons                    []string `json:"reasons"` // the rules that matched
	Lang                       string   `json:"lang,omitempty"`
}

// Root returns the id of the first message of the event's thread, or the event's own if it is not
// in a thread.
func (e *Event) Root() string {
	if e.ThreadID != nil && *e.ThreadID != "" {
		return *e.ThreadID
	}
	return e.MessageID
}

// Key returns the key of the event's thread.
func (e *Event) Key() string { return Key(e.Platform, e.ChatID, e.Root()) }

// maxFrom is the length of ForwardedFrom, in characters.
const maxFrom = 100

// Forward appends a text that its sender has passed on to the content, as quoted lines, which no rule takes
// for words of the sender. from is who wrote it, "" if the platform does not say.
func (e *Event) Forward(from, said string) {
	e.ForwardedFrom = cmp.Or(text.Line(from, maxFrom), "unknown")
	if said != "" {
		said = "> " + strings.ReplaceAll(said, "\n", "\n> ")
		e.Content = strings.TrimPrefix(e.Content+"\n"+said, "\n")
	}
}

// ChangedAt returns the time of e's version of its message: when it was edited or deleted, or else
// sent. It is zero if that time is not valid.
func (e *Event) ChangedAt() time.Time {
	var latest time.Time
	for _, s := range []string{e.CreateTime, e.EditedAt} {
		if at, err := time.Parse(time.RFC3339Nano, s); err == nil && at.After(latest) {
			latest = at
		}
	}
	return latest
}

// Identity returns a string that is unique to a message, or to one edit or deletion of it.
func (e *Event) Identity() string {
	edit := e.EditID
	if edit == "" {
		edit = e.EditedAt
	}
	if e.Deleted {
		edit = "deleted " + edit
	}
	return e.Platform + "\x00" + e.ChatID + "\x00" + e.MessageID + "\x00" + edit
}

// Line returns an event, as a record, as a line for people: its time in UTC, chat, sender and text. What is
// neither message nor change of one, such as a click, has no line.
func Line(record []byte) string {
	var e Event
	if json.Unmarshal(record, &e) != nil || e.MessageID == "" {
		return ""
	}
	at := e.CreateTime
	if t := e.ChangedAt(); !t.IsZero() {
		at = t.UTC().Format("01-02 15:04:05")
	}
	what := ": " + e.Content
	switch {
	case e.Deleted:
		what = " deleted a message"
	case e.EditedAt != "":
		what = ", edited: " + e.Content
	}
	for _, a := range e.Attachments {
		what += " [" + a.Name + "]"
	}
	return text.Line(fmt.Sprintf("%s  %s  %s%s", at, cmp.Or(e.ChatName, e.ChatID),
		cmp.Or(e.Sender.Name, e.Sender.ID), what), 500)
}

// Action is one line of actions.ndjson: a click on a button of one of the bot's cards, or a
// reaction to one of its messages. It is not yet a decision: the reader checks whether the sender
// may decide.
type Action struct {
	ID        string `json:"id"` // the platform's id of the click or reaction: the same at every delivery
	Platform  string `json:"platform"`
	ChatID    string `json:"chat_id"`
	MessageID string `json:"message_id"` // of the card or message
	At        string `json:"at"`         // RFC 3339 in UTC
	Sender    Sender `json:"sender"`     // who did it
	Name      string `json:"name"`       // of the button: approve, dismiss, …; or the emoji of a reaction
	Value     string `json:"value"`      // the button's value; "" for a reaction
	Removed   bool   `json:"removed,omitempty"`
}
