// Package outbox is the intent and the outcome of each post, durable before and
// after it, so that whatever is killed when, nothing is posted twice and
// nothing approved is forgotten.
package outbox

// States of an entry.
const (
	Intent  = "intent"  // it may or may not stand on the platform
	Posted  = "posted"  // it stands there
	Parked  = "parked"  // nobody can prove whether it does: a person settles it
	Refused = "refused" // the platform will never take it; nothing was posted
	Dropped = "dropped" // a person settled it: not to be posted (again)
)

// Entry is one file of outbox/: one part of one approved draft of one thread.
type Entry struct {
	ID       string `json:"id"` // <thread key>.<first 12 of draft sha256>.<part>: the file's name
	Key      string `json:"key"`
	PostKey  string `json:"post_key"` // what the platform is given
	State    string `json:"state"`
	Platform string `json:"platform"`
	ChatID   string `json:"chat_id"`
	ThreadID string `json:"thread_id"`
	ReplyTo  string `json:"reply_to_message_id"`

	DraftSHA256 string `json:"draft_sha256"`
	Part        int    `json:"part"` // from 1
	Parts       int    `json:"parts"`
	Text        string `json:"text"`

	Tries           int    `json:"tries"`
	IntentAt        string `json:"intent_at"`
	PostedMessageID string `json:"posted_message_id,omitempty"`
	PostedAt        string `json:"posted_at,omitempty"`
	Why             string `json:"why,omitempty"` // of parked, refused, dropped
}

// Reply is one line of replies.ndjson (triage §3.7), one for each draft posted
// or settled.
type Reply struct {
	Platform           string   `json:"platform"` // ours
	ChatID             string   `json:"chat_id"`
	ReplyToMessageID   string   `json:"reply_to_message_id"`
	PostedMessageID    string   `json:"posted_message_id"`
	PostedMessageIDs   []string `json:"posted_message_ids,omitempty"` // ours: all parts
	PostedAt           string   `json:"posted_at"`
	ReplyText          string   `json:"reply_text"`
	InvestigatorTaskID string   `json:"investigator_task_id"`
	ValidatorVerdict   string   `json:"validator_verdict"`
	InvestigatorRounds int      `json:"investigator_rounds"`
	WasEscalated       bool     `json:"was_escalated"`
	TriageFile         *string  `json:"triage_file"`

	Key         string `json:"key"`          // ours: thread
	Cycle       int    `json:"cycle"`        // ours
	DraftSHA256 string `json:"draft_sha256"` // ours
	Outcome     string `json:"outcome"`      // ours: posted, refused, dropped
	ApprovedBy  string `json:"approved_by"`  // ours
	Why         string `json:"why,omitempty"`
}
