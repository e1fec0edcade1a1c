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

// Outcomes: what has become of a message. Each has exactly one.
const (
	Unread     = "unread"       // the classifier has not come to it
	Dropped    = "dropped"      // nothing in it asks, or it may not open anything
	Undispatch = "undispatched" // actionable, the dispatcher has not come to it
	Context    = "context"      // kept beside a question that somebody else asked
	Queued     = "queued"       // waits for the next cycle of its thread
	Working    = "working"      // investigated or validated
	Waiting    = "waiting"      // for a person
	Approved   = "approved"     // by a person, not posted yet
	Parked     = "parked"       // nobody can prove whether it was posted
	Answered   = "answered"     // posted
	Open       = "open"         // posted with others, and the answer leaves this one out
	Closed     = "closed"       // closed without an answer
	Ours       = "ours"         // our own reply
	Gone       = "gone"         // deleted in the chat
)

// Story is everything that the logs tell of one message.
type Story struct {
	Platform  string `json:"platform"`
	ChatID    string `json:"chat_id"`
	ChatName  string `json:"chat_name"`
	MessageID string `json:"message_id"`
	Sender    string `json:"sender"`
	Content   string `json:"content"` // the latest
	At        string `json:"at"`      // create_time
	Key       string `json:"key"`     // of its thread

	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`

	Events   []Seen   `json:"events"`             // the message and its changes
	Cycles   []Cycle  `json:"cycles,omitempty"`   // of the thread, all
	In       []int    `json:"in,omitempty"`       // the cycles that answer this message
	Troubles []string `json:"troubles,omitempty"` // what could not be read
}

// Seen is the message, or a change of it, as it came in.
type Seen struct {
	Seq            *int64   `json:"seq,omitempty"`
	At             string   `json:"at"`
	What           string   `json:"what"` // said, edited, deleted
	Content        string   `json:"content,omitempty"`
	Classification string   `json:"classification,omitempty"` // "" while unread
	Reasons        []string `json:"reasons,omitempty"`
	Words          []string `json:"words,omitempty"` // the reasons, for people
	Confidence     float64  `json:"confidence,omitempty"`
	ClassifiedAt   string   `json:"classified_at,omitempty"`
	Version        string   `json:"classifier_version,omitempty"`
}

// Cycle is one question put to a thread and what came of it.
type Cycle struct {
	Cycle     int             `json:"cycle"`
	Question  []string        `json:"question"` // ids of the messages that it answers
	asked     []string        // their texts
	Type      string          `json:"question_type"`
	TypedBy   string          `json:"type_reason,omitempty"`
	Minutes   float64         `json:"expected_min,omitempty"`
	Because   []string        `json:"expected_because,omitempty"` // what the minutes are made of
	Long      bool            `json:"is_escalated,omitempty"`
	Codebase  string          `json:"codebase"`
	Steps     []thread.Change `json:"steps"`
	Runs      []Run           `json:"runs,omitempty"`
	Decisions []Decision      `json:"decisions,omitempty"`
	Posts     []*outbox.Entry `json:"posts,omitempty"`
	Reply     *outbox.Reply   `json:"reply,omitempty"`
	Badge     string          `json:"badge,omitempty"`
	Asked     string          `json:"asked,omitempty"`
	Alerts    []thread.Note   `json:"alerts,omitempty"`
}

// Run is one run of an agent.
type Run struct {
	RunID     string           `json:"run_id"`
	Kind      string           `json:"kind"`
	Round     int              `json:"round"`
	Agent     string           `json:"agent"`
	Model     string           `json:"model,omitempty"`
	Status    string           `json:"status"` // done, failed, nothing; running while there is no result
	StartedAt string           `json:"started_at,omitempty"`
	EndedAt   string           `json:"ended_at,omitempty"`
	Error     string           `json:"error,omitempty"`
	Usage     *draft.Usage     `json:"usage,omitempty"`
	Return    *draft.Return    `json:"return,omitempty"`
	Verdict   *verdict.Verdict `json:"verdict,omitempty"`
}

// Decision is a record of the decision log and whether it counts.
type Decision struct {
	decision.Record
	Counts bool   `json:"counts"`
	Why    string `json:"why,omitempty"` // it does not
}
