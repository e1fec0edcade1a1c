// Package thread is the item: what one asker wants in a conversation and how far
// its answer has come. Apply is the state machine that alone moves it, Route says
// to which items of a conversation an event speaks.
package thread

import (
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/verdict"
)

// Statuses of triage §4.1. At rest are PendingUser and Closed; the others have a
// run under way or due.
const (
	Investigating      = "investigating"
	AwaitingValidation = "awaiting-validation"
	PendingUser        = "pending-user"
	BouncedRound1      = "bounced-round-1"
	Escalated          = "escalated"
	Closed             = "closed"
)

// Question types of triage §4.1.
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
	Why  string `json:"why,omitempty"` // ours
}

// Message is a chat message that the thread holds: what was asked, as it was
// when it was taken up. Ours.
type Message struct {
	MessageID  string `json:"message_id"`
	SenderID   string `json:"sender_id"`
	SenderName string `json:"sender_name,omitempty"`
	At         string `json:"at"`
	Content    string `json:"content"`
	Mention    bool   `json:"is_bot_mention,omitempty"`
	Actionable bool   `json:"actionable,omitempty"` // taken for a question
	Deleted    bool   `json:"deleted,omitempty"`
	// Inferred: tri-thread put it into the thread, the platform knows of none.
	Inferred bool `json:"inferred,omitempty"`
}

// Thread is the record of triage §4.1. Pointers are null until they are known.
type Thread struct {
	Key string `json:"key"` // ours: the file's name
	// Root is the key of the item that began the platform's thread, "" in that one,
	// which has in Beside the keys of the items of other askers. Ours.
	Root     string   `json:"root,omitempty"`
	Beside   []string `json:"beside,omitempty"`
	Platform string   `json:"platform"`
	ThreadID string   `json:"thread_id"`
	ChatID   string   `json:"chat_id"`
	ChatName string   `json:"chat_name"`

	OriginalMessageID  string `json:"original_message_id"`
	OriginalSenderID   string `json:"original_sender_id"`
	OriginalSenderName string `json:"original_sender_name"`
	QuestionType       string `json:"question_type"`
	TypeReason         string `json:"type_reason,omitempty"` // ours
	Lang               string `json:"lang,omitempty"`

	Status        string   `json:"status"`
	StatusHistory []Change `json:"status_history"`

	// Cycle counts questions put to this thread: a redo, an answer, an edit or a
	// reopening starts a new one. Rounds count inside a cycle. Ours.
	Cycle int `json:"cycle"`
	// Messages are what this cycle answers; Context what was said around it.
	Messages []Message `json:"messages"`
	Context  []Message `json:"context,omitempty"`
	// PendingMessageIDs arrived during a round and wait for the next cycle.
	PendingMessageIDs []string  `json:"pending_message_ids"`
	Pending           []Message `json:"pending,omitempty"`
	// Applied are the identities of the inputs already taken in, so that each
	// counts once however often it is read: hashes, of an event with its seq and its
	// Unix time in base 36, newest last, bounded. AppliedSeq and AppliedAt are the
	// largest of the events that have left the list; AppliedDecision is the number
	// of the last decision, AppliedReply the cycle of the last reply. Ours.
	Applied         []string `json:"applied"`
	AppliedSeq      *int64   `json:"applied_seq,omitempty"`
	AppliedAt       *int64   `json:"applied_at,omitempty"`
	AppliedDecision int64    `json:"applied_decision,omitempty"`
	AppliedReply    int      `json:"applied_reply,omitempty"`
	// Notes are what people told the investigator (redo, answer). Ours.
	Notes []Note `json:"notes,omitempty"`
	// Ordered says that a person asked for this cycle: no budget holds it back. Ours.
	Ordered bool `json:"ordered,omitempty"`
	// Asked is the question put to the operator before anything runs. Ours.
	Asked string `json:"asked,omitempty"`

	Rubric             string           `json:"rubric"`
	InvestigatorTaskID *string          `json:"investigator_task_id"` // run id
	InvestigatorRound  int              `json:"investigator_round"`   // 1 or 2
	InvestigatorReturn *draft.Return    `json:"investigator_return"`
	InvestigatorError  string           `json:"investigator_error,omitempty"`
	ValidatorTaskID    *string          `json:"validator_task_id"` // run id
	ValidatorReturn    *verdict.Verdict `json:"validator_return"`
	// BounceFeedback is what round 2 was told, EarlierDraft the draft that it, or the
	// operator who ordered the cycle, speaks of. Ours.
	BounceFeedback string `json:"bounce_feedback,omitempty"`
	EarlierDraft   string `json:"earlier_draft,omitempty"`

	IsEscalated              bool    `json:"is_escalated"`
	EscalationTmuxSession    *string `json:"escalation_tmux_session"`
	EscalationTranscriptPath *string `json:"escalation_transcript_path"`

	DraftPending    *string `json:"draft_pending"`
	DraftSHA256     string  `json:"draft_sha256,omitempty"` // ours
	Badge           string  `json:"badge,omitempty"`        // ours: "quotes checked, covers every sentence", "disagreement", …
	UserApprovedAt  *string `json:"user_approved_at"`
	PostedMessageID *string `json:"posted_message_id"`
	TriageFilePath  *string `json:"triage_file_path"`

	// HumanReplies are what other people said in the thread meanwhile. Ours.
	HumanReplies []Message `json:"human_replies,omitempty"`

	StartedAt   string  `json:"started_at"`
	LastEventAt string  `json:"last_event_at"`
	ClosedAt    *string `json:"closed_at"`
	CloseReason string  `json:"close_reason,omitempty"` // ours

	Codebase    string  `json:"codebase"`               // folder that is read; ours
	ExpectedMin float64 `json:"expected_min,omitempty"` // minutes; ours
	// ExpectedBecause is what ExpectedMin is made of. Ours.
	ExpectedBecause []string `json:"expected_because,omitempty"`
	ReadyAt         string   `json:"ready_at,omitempty"` // when the draft was ready; ours
	// Alerts are what the person should know and no decision waits for: the
	// question was edited after the answer, and so on. Ours.
	Alerts []Note `json:"alerts,omitempty"`
}

// Hint is what an investigator or validator is told of other work: it may help,
// and may be wrong.
type Hint struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// Note is a person's word to the investigator.
type Note struct {
	By   string `json:"by"`
	At   string `json:"at"`
	Text string `json:"text"`
}

// AtRest reports whether nothing but a person or a new message can move t.
func (t *Thread) AtRest() bool { return t.Status == PendingUser || t.Status == Closed }

// Target is where an answer to t goes: the message answered is the last one of
// the cycle. A thread that was inferred is none on the platform; there the
// message answered is the root of the platform's own.
func (t *Thread) Target() (chatID, threadID, replyTo string) {
	replyTo = t.OriginalMessageID
	n := len(t.Messages)
	if n > 0 {
		replyTo = t.Messages[n-1].MessageID
	}
	if n > 0 && t.Messages[n-1].Inferred {
		return t.ChatID, replyTo, replyTo
	}
	return t.ChatID, t.ThreadID, replyTo
}

// From makes the message that a thread keeps of an event.
func From(e *event.Classified) Message {
	return Message{
		MessageID: e.MessageID, SenderID: e.Sender.ID, SenderName: e.Sender.Name,
		At: e.CreateTime, Content: e.Content, Mention: e.IsBotMention,
		Actionable: e.Classification == event.Actionable, Deleted: e.Deleted,
		Inferred: e.ThreadInferred != "",
	}
}
