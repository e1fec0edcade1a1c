// Package report explains the past of a home: one message's history, briefs, costs,
// trends. It reads the logs and writes nothing.
package report

import (
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// Outcomes: what happened to a message. Each message has exactly one.
const (
	Unread     = "unread"       // not yet classified
	Dropped    = "dropped"      // it asks nothing, or may not open a thread
	Undispatch = "undispatched" // actionable, not yet read by the dispatcher
	Context    = "context"      // kept as context of another person's question
	Queued     = "queued"       // waits for the next cycle of its thread
	Working    = "working"      // being investigated or validated
	Waiting    = "waiting"      // for a decision by a person
	Approved   = "approved"     // by a person, not posted yet
	Parked     = "parked"       // it cannot be determined whether it was posted
	Answered   = "answered"     // posted
	Open       = "open"         // posted with others, and the answer does not cover this one
	Closed     = "closed"       // closed without an answer
	Ours       = "ours"         // the bot's own reply
	Gone       = "gone"         // deleted in the chat
)

// Story is everything that the logs contain about one message.
type Story struct {
	Platform  string `json:"platform"`
	ChatID    string `json:"chat_id"`
	ChatName  string `json:"chat_name"`
	MessageID string `json:"message_id"`
	Sender    string `json:"sender"`
	Content   string `json:"content"` // the latest version
	At        string `json:"at"`      // create_time
	Key       string `json:"key"`     // of its thread

	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`

	Events   []Seen   `json:"events"`             // the message and its changes
	Cycles   []Cycle  `json:"cycles,omitempty"`   // all cycles of the thread
	In       []int    `json:"in,omitempty"`       // the cycles that answer this message
	Troubles []string `json:"troubles,omitempty"` // errors of reading the logs
}

// Seen is the message, or a change of it, as received.
type Seen struct {
	Seq            *int64   `json:"seq,omitempty"`
	At             string   `json:"at"`
	What           string   `json:"what"` // said, edited, deleted
	Content        string   `json:"content,omitempty"`
	Classification string   `json:"classification,omitempty"` // "" while not classified
	Reasons        []string `json:"reasons,omitempty"`
	Words          []string `json:"words,omitempty"` // the reasons as text
	Confidence     float64  `json:"confidence,omitempty"`
	ClassifiedAt   string   `json:"classified_at,omitempty"`
	Version        string   `json:"classifier_version,omitempty"`
}

// Cycle is one question of a thread and its results.
type Cycle struct {
	Cycle     int              `json:"cycle"`
	Question  []string         `json:"question"` // ids of the messages that it answers
	asked     []thread.Message // those that ask something
	Type      string           `json:"question_type"`
	TypedBy   string           `json:"type_reason,omitempty"`
	Minutes   float64          `json:"expected_min,omitempty"`
	Because   []string         `json:"expected_because,omitempty"` // the rules behind the expected minutes
	Long      bool             `json:"is_escalated,omitempty"`
	Codebase  string           `json:"codebase"`
	Steps     []thread.Change  `json:"steps"`
	Runs      []Run            `json:"runs,omitempty"`
	Decisions []Decision       `json:"decisions,omitempty"`
	Posts     []*outbox.Entry  `json:"posts,omitempty"`
	Reply     *outbox.Reply    `json:"reply,omitempty"`
	Badge     string           `json:"badge,omitempty"`
	Asked     string           `json:"asked,omitempty"`
	Alerts    []thread.Note    `json:"alerts,omitempty"`
}

// Run is one run of an agent.
type Run struct {
	RunID     string           `json:"run_id"`
	Kind      string           `json:"kind"`
	Round     int              `json:"round"`
	Agent     string           `json:"agent"`
	Model     string           `json:"model,omitempty"`
	Status    string           `json:"status"` // done, failed, nothing; running if there is no result yet
	StartedAt string           `json:"started_at,omitempty"`
	EndedAt   string           `json:"ended_at,omitempty"`
	Error     string           `json:"error,omitempty"`
	Usage     *draft.Usage     `json:"usage,omitempty"`
	Return    *draft.Return    `json:"return,omitempty"`
	Verdict   *verdict.Verdict `json:"verdict,omitempty"`
}

// Decision is a record of the decision log and whether it is valid.
type Decision struct {
	decision.Record
	Counts bool   `json:"counts"`
	Why    string `json:"why,omitempty"` // why it is not valid
}
