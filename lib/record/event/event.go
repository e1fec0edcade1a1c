// Package event is a chat message, or a change of one, normalized across platforms, with
// the classifier's fields.
package event

// Event is one line of events.ndjson. Times are RFC 3339 in UTC. A field that
// the documents do not have is marked as ours.
type Event struct {
	// Seq is the byte offset of this record's line in events.ndjson, stamped by
	// tri-watch. Ours. Nil in records that come from elsewhere.
	Seq *int64 `json:"seq,omitempty"`

	Platform   string   `json:"platform"`
	ChatID     string   `json:"chat_id"` // the parent chat, also for a message in a thread
	ChatName   string   `json:"chat_name"`
	MessageID  string   `json:"message_id"`
	CreateTime string   `json:"create_time"`
	MsgType    string   `json:"msg_type"` // text, image, file, thread_reply, …
	Content    string   `json:"content"`
	ThreadID   *string  `json:"thread_id"` // id of the thread's root message; nil: the message stands alone
	Sender     Sender   `json:"sender"`
	Mentions   []string `json:"mentions"`

	// ThreadInferred says why tri-thread gave this message a thread. Ours.
	ThreadInferred string `json:"thread_inferred,omitempty"`
	// EditedAt is set when this event is a change of a message seen before;
	// Content is then the new text. Ours.
	EditedAt string `json:"edited_at,omitempty"`
	// EditID tells two changes of one message apart where the platform's times
	// cannot (a revision, an offset). Ours.
	EditID string `json:"edit_id,omitempty"`
	// Deleted is set when the message is gone; Content is then empty. Ours.
	Deleted     bool         `json:"deleted,omitempty"`
	ReplyToID   string       `json:"reply_to_id,omitempty"` // the message quoted. Ours.
	Permalink   string       `json:"permalink,omitempty"`   // Ours.
	Attachments []Attachment `json:"attachments,omitempty"` // metadata only. Ours.
	// RawRef is where the platform's own record of it is kept, "raw.ndjson:OFFSET"
	// below the home, when chat.keep_raw is set. Ours.
	RawRef string `json:"raw_ref,omitempty"`

	// Raw is that record, on its way from the adapter to lib/flow/watch.
	Raw []byte `json:"-"`
}

// Sender is who wrote the message. Type is "user" or "bot".
type Sender struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Name string `json:"name,omitempty"` // Ours.
}

// Attachment is a file that came with a message, never its bytes.
type Attachment struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes
	URL  string `json:"url,omitempty"`
}

// What a classifier says of an event.
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
	Reasons                    []string `json:"reasons"` // the rules that fired. Ours.
	Lang                       string   `json:"lang,omitempty"`
}

// Root is the id of the message that the event's thread begins with: its own
// where it stands alone.
func (e *Event) Root() string {
	if e.ThreadID != nil && *e.ThreadID != "" {
		return *e.ThreadID
	}
	return e.MessageID
}

// Key is the key of the thread that the event belongs to.
func (e *Event) Key() string { return Key(e.Platform, e.ChatID, e.Root()) }

// Identity tells events apart: one message, one edit or deletion of it, once.
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
