// Package thread is the item: what one asker wants in a conversation, and the progress of its
// answer. Only Apply, the state machine, changes it; Route assigns an event to the items of a
// conversation.
package thread

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/verdict"
)

// Statuses of a thread. PendingUser and Closed are at rest; in the others a run is in progress or
// due.
const (
	Investigating      = "investigating"
	AwaitingValidation = "awaiting-validation"
	PendingUser        = "pending-user"
	BouncedRound1      = "bounced-round-1"
	Escalated          = "escalated"
	Closed             = "closed"
)

// Question types.
const (
	TechnicalQA = "technical_qa"
	StatusCheck = "status_check"
	DataLookup  = "data_lookup"
	APIContract = "api_contract"
	Other       = "other"
)

// Change is one step of a thread's history.
type Change struct {
	At   string `json:"at"`
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why,omitempty"`
}

// Message is a chat message that the thread holds, as it was when the thread took it.
type Message struct {
	MessageID  string `json:"message_id"` // "" of an operator's words, which begin an item
	SenderID   string `json:"sender_id"`
	SenderName string `json:"sender_name,omitempty"`
	At         string `json:"at"`
	Content    string `json:"content"`
	Mention    bool   `json:"is_bot_mention,omitempty"`
	Actionable bool   `json:"actionable,omitempty"` // classified as a question
	Deleted    bool   `json:"deleted,omitempty"`
	// Inferred says that tri-thread assigned it to the thread, not the platform.
	Inferred bool `json:"inferred,omitempty"`
	// Before says that it came before the question, in the same turn.
	Before bool `json:"before,omitempty"`
	// Relation is RelationRedirect if the message replaces what was asked before.
	Relation string `json:"relation,omitempty"`
	// Files are the names of attached files, at most 10. No program reads the files.
	Files []string `json:"files,omitempty"`
}

const (
	maxFiles    = 10
	maxFileName = 100 // characters
)

// Said returns what an agent is shown of the message: its text, and the names of attached files.
func (m *Message) Said() string {
	if len(m.Files) == 0 {
		return m.Content
	}
	return strings.TrimLeft(m.Content+"\n[attached, not readable: "+strings.Join(m.Files, ", ")+"]", "\n")
}

// Thread is one item with its history. Pointers are null until their value is known.
type Thread struct {
	Key string `json:"key"` // the file's name
	// Root is the key of the item that began the platform's thread. It is "" in that item, whose
	// Beside lists the keys of the other items. Parent is the asker's own item that a branch is beside.
	Root     string   `json:"root,omitempty"`
	Parent   string   `json:"parent,omitempty"`
	Beside   []string `json:"beside,omitempty"`
	Platform string   `json:"platform"`
	ThreadID string   `json:"thread_id"`
	ChatID   string   `json:"chat_id"`
	ChatName string   `json:"chat_name"`

	OriginalMessageID  string `json:"original_message_id"`
	OriginalSenderID   string `json:"original_sender_id"`
	OriginalSenderName string `json:"original_sender_name"`
	QuestionType       string `json:"question_type"`
	TypeReason         string `json:"type_reason,omitempty"`
	Lang               string `json:"lang,omitempty"`
	Want
	// Summary are the first words of a request to an inbox.
	Summary string `json:"summary,omitempty"`
	// ClarifyQuestion is what the asker is to be asked, and ClarifyMessageID the message that asked it.
	ClarifyQuestion  *string `json:"clarify_question,omitempty"`
	ClarifyMessageID string  `json:"clarify_message_id,omitempty"`

	Status        string   `json:"status"`
	StatusHistory []Change `json:"status_history"`

	// Cycle counts the questions put to this thread: a redo, an answer, an edit or a reopening
	// starts a new one. Rounds count within a cycle.
	Cycle int `json:"cycle"`
	// Messages are the messages that this cycle answers, Context those around them.
	Messages []Message `json:"messages"`
	Context  []Message `json:"context,omitempty"`
	// PendingMessageIDs arrived during a round and wait for the next cycle.
	PendingMessageIDs []string  `json:"pending_message_ids"`
	Pending           []Message `json:"pending,omitempty"`
	// Applied are the identities of the inputs already applied, so that each counts once however
	// often it is read: hashes, of an event with its seq and Unix time in base 36, newest last,
	// bounded. AppliedSeq and AppliedAt are the maxima of the events dropped from the list;
	// AppliedDecision is the number of the last decision, AppliedReply the cycle of the last
	// reply.
	Applied         []string `json:"applied"`
	AppliedSeq      *int64   `json:"applied_seq,omitempty"`
	AppliedAt       *int64   `json:"applied_at,omitempty"`
	AppliedDecision int64    `json:"applied_decision,omitempty"`
	AppliedReply    int      `json:"applied_reply,omitempty"`
	// PendingNotes are words of operators that wait for the run in progress, or for the next cycle.
	PendingNotes []Note `json:"pending_notes,omitempty"`
	// Notes are instructions of people to the investigator (redo, answer, tell, redirect).
	Notes []Note `json:"notes,omitempty"`
	// Ordered says that a person requested this cycle: no budget limits it.
	Ordered bool `json:"ordered,omitempty"`
	// Asked is the question put to the operator before anything runs.
	Asked string `json:"asked,omitempty"`

	// Resume is the last investigation that returned a draft, for the next cycle to continue.
	Resume *Resume `json:"resume,omitempty"`

	Rubric             string           `json:"rubric"`
	InvestigatorTaskID *string          `json:"investigator_task_id"` // run id
	InvestigatorRound  int              `json:"investigator_round"`   // 1 or 2
	InvestigatorReturn *draft.Return    `json:"investigator_return"`
	InvestigatorError  string           `json:"investigator_error,omitempty"`
	ValidatorTaskID    *string          `json:"validator_task_id"` // run id
	ValidatorReturn    *verdict.Verdict `json:"validator_return"`
	// BounceFeedback is the feedback given to round 2. EarlierDraft is the draft that the
	// feedback, or the operator who ordered the cycle, refers to.
	BounceFeedback string `json:"bounce_feedback,omitempty"`
	EarlierDraft   string `json:"earlier_draft,omitempty"`

	IsEscalated              bool    `json:"is_escalated"`
	EscalationTmuxSession    *string `json:"escalation_tmux_session"`
	EscalationTranscriptPath *string `json:"escalation_transcript_path"`

	DraftPending *string `json:"draft_pending"`
	DraftSHA256  string  `json:"draft_sha256,omitempty"`
	// NotAnswered are the messages of the cycle whose questions the draft leaves out, by id.
	NotAnswered []string `json:"not_answered,omitempty"`
	Badge       string   `json:"badge,omitempty"` // "disagreement", "quotes checked", …
	// Ends are signs in the draft's text that it is no answer.
	Ends            []string `json:"ends,omitempty"`
	UserApprovedAt  *string  `json:"user_approved_at"`
	PostedMessageID *string  `json:"posted_message_id"`
	TriageFilePath  *string  `json:"triage_file_path"`

	// HumanReplies are other people's messages in the thread.
	HumanReplies []Message `json:"human_replies,omitempty"`

	StartedAt   string  `json:"started_at"`
	LastEventAt string  `json:"last_event_at"`
	ClosedAt    *string `json:"closed_at"`
	CloseReason string  `json:"close_reason,omitempty"`

	Codebase    string  `json:"codebase"`               // folder that is read
	ExpectedMin float64 `json:"expected_min,omitempty"` // minutes
	// ExpectedBecause lists the parts of ExpectedMin.
	ExpectedBecause []string `json:"expected_because,omitempty"`
	ReadyAt         string   `json:"ready_at,omitempty"` // when the draft was ready
	// Alerts are notices for the operator that need no decision, such as an edit of the question
	// after the answer.
	Alerts []Note `json:"alerts,omitempty"`
}

// Resume names a run and its session, and the cycle that it was of.
type Resume struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
	Cycle     int    `json:"cycle"`
}

// Hint is information on other work, given to an investigator or validator. It may be wrong.
type Hint struct {
	Source string `json:"source"`
	Text   string `json:"text"`
	// Refs are the lines that an approved answer cites: it is of use only while they are unchanged.
	Refs []draft.Ref `json:"refs,omitempty"`
}

// Note is a person's instruction to the investigator.
type Note struct {
	By   string `json:"by"`
	At   string `json:"at"`
	Text string `json:"text"`
	// Relation is RelationRedirect if the note replaces what was asked before.
	Relation string `json:"relation,omitempty"`
}

// AtRest reports whether only a person or a new message can move t.
func (t *Thread) AtRest() bool { return t.Status == PendingUser || t.Status == Closed }

// Questions returns the messages of the cycle that ask something.
func (t *Thread) Questions() []Message {
	return slices.DeleteFunc(slices.Clone(t.Messages), func(m Message) bool {
		return m.Before || m.Deleted || !m.Actionable
	})
}

// Texts returns the texts of messages.
func Texts(ms []Message) (all []string) {
	for _, m := range ms {
		all = append(all, m.Content)
	}
	return all
}

// Text returns what is asked in this cycle, a message to a line.
func (t *Thread) Text() string {
	return strings.Join(Texts(slices.DeleteFunc(slices.Clone(t.Messages), func(m Message) bool {
		return m.Deleted
	})), "\n")
}

// Earlier returns the run of an earlier cycle that the due investigation continues, nil if there is
// none: a second round and a longer look begin anew.
func (t *Thread) Earlier() *Resume {
	if t.Resume == nil || t.Resume.Cycle == t.Cycle || t.InvestigatorRound != 1 {
		return nil
	}
	return t.Resume
}

// Target returns where an answer to t goes: it replies to the last chat message of the cycle that is there.
// An inferred thread does not exist on the platform; its answer replies to the root of the platform's own
// thread.
func (t *Thread) Target() (chatID, threadID, replyTo string) {
	for _, m := range slices.Backward(t.Messages) {
		switch {
		case m.MessageID == "" || m.Deleted:
		case m.Inferred:
			return t.ChatID, m.MessageID, m.MessageID
		default:
			return t.ChatID, t.ThreadID, m.MessageID
		}
	}
	return t.ChatID, t.ThreadID, t.OriginalMessageID
}

// From returns the message that a thread keeps of an event.
func From(e *event.Classified) Message {
	m := Message{
		MessageID: e.MessageID, SenderID: e.Sender.ID, SenderName: e.Sender.Name,
		At: e.CreateTime, Content: e.Content, Mention: e.IsBotMention,
		Actionable: e.Classification == event.Actionable, Deleted: e.Deleted,
		Inferred: e.ThreadInferred != "",
	}
	for _, a := range e.Attachments[:min(len(e.Attachments), maxFiles)] {
		m.Files = append(m.Files, text.Line(a.Name, maxFileName))
	}
	return m
}

// UUID identifies the item of a key in a fixed length: RFC 9562, version 8, of the key's SHA-256.
func UUID(key string) string {
	b := sha256.Sum256([]byte(key))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
