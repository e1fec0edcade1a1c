// Package decision is the hash-chained log of offers and decisions, and the fold that
// says which decisions count.
package decision

import "tri/lib/record/draft"

// Kinds of record. Offer and Withdraw are written by tri-dispatch, Revoke by
// tri-reply when the ground has shifted under an approved draft, Claim by tri-reply
// before it posts, the others by people through tri-approve. The log is the one
// total order: an undo or a withdraw counts only when it stands before the claim.
const (
	Offer    = "offer"
	Withdraw = "withdraw"
	Approve  = "approve"
	Edit     = "edit"     // approve another text
	Dismiss  = "dismiss"  // post nothing
	Redo     = "redo"     // investigate again, with a note
	Answer   = "answer"   // the operator answers what was asked; investigate with it
	Escalate = "escalate" // have it looked into for longer (tier 2)
	Auto     = "auto"     // by tri-dispatch: the auto-reply policy says yes (triage §7)
	Undo     = "undo"     // take the decision back, before it is posted
	Claim    = "claim"    // by tri-reply: from here it is being posted, too late to undo
	Revoke   = "revoke"
	Settle   = "settle" // what to do with a parked post: posted, retry or drop
)

// Outcomes of a settle.
const (
	SettlePosted = "posted" // it stands on the platform: record it
	SettleRetry  = "retry"  // it does not: post it again
	SettleDrop   = "drop"   // leave it, whatever stands there
)

// Record is one line of decisions.ndjson. Which fields are set depends on Kind.
type Record struct {
	// N counts records from 1; Prev is the SHA-256 of the line before, "" for the
	// first. Both are stamped by Append.
	N    int64  `json:"n"`
	Prev string `json:"prev"`

	At   string `json:"at"` // RFC 3339
	Kind string `json:"kind"`
	By   string `json:"by"`  // a person's id, or the program's name
	Via  string `json:"via"` // terminal, web, chat, policy, code

	// Ref is the click or the message in a chat by which it was said: one of them
	// is never taken for two words.
	Ref string `json:"ref,omitempty"`

	Key         string `json:"key"` // thread
	Cycle       int    `json:"cycle"`
	DraftSHA256 string `json:"draft_sha256"` // of Text; hex

	// Text is the draft of an offer, the approved bytes of an approve, the
	// replacement of an edit.
	Text string `json:"text,omitempty"`
	// Note is the person's reason, instruction or answer.
	Note string `json:"note,omitempty"`
	// Original is the offered hash that an edit replaces.
	Original string `json:"original_sha256,omitempty"`
	// Distance of an edit is how many characters were added, taken away or replaced.
	Distance int `json:"distance,omitempty"`
	// NoFile keeps the triage file that was proposed with the draft from being saved.
	NoFile bool `json:"no_file,omitempty"`
	// Grounds are the preconditions that an auto found to hold, one sentence each.
	Grounds []string `json:"grounds,omitempty"`
	// Outcome of a settle: posted, retry, drop. Post names the outbox entry.
	Outcome string `json:"outcome,omitempty"`
	Post    string `json:"post,omitempty"`
	// Tries of a settle is that of the parked entry, so that a word said about one
	// parking is never taken for the next.
	Tries int `json:"tries,omitempty"`

	// Nonce of a claim is of the process that appended it: it alone may post without
	// a look at whether another has.
	Nonce string `json:"nonce,omitempty"`

	// What follows is in offers, so that tri-reply needs no thread.
	Target    *Target     `json:"target,omitempty"`
	Evidence  []draft.Ref `json:"evidence,omitempty"`
	Codebase  string      `json:"codebase,omitempty"` // its name in the configuration
	ExpiresAt string      `json:"expires_at,omitempty"`
	// Meta is carried into replies.ndjson (triage §3.7).
	Meta *Meta `json:"meta,omitempty"`
	// Sources are the texts that a new draft may speak of (question, summary,
	// notes), for the safety checks of an edit.
	Sources []string `json:"sources,omitempty"`
}

// Target is where a post goes and what it answers.
type Target struct {
	Platform       string `json:"platform"`
	ChatID         string `json:"chat_id"`
	ThreadID       string `json:"thread_id"`
	ReplyToID      string `json:"reply_to_message_id"`
	QuestionSHA256 string `json:"question_sha256"` // of the text of ReplyToID when it was taken up
}

// Meta is what replies.ndjson says of how an answer came about.
type Meta struct {
	InvestigatorTaskID string  `json:"investigator_task_id"`
	ValidatorVerdict   string  `json:"validator_verdict"` // pass, bounce-then-pass, escalate-then-user-approved
	InvestigatorRounds int     `json:"investigator_rounds"`
	WasEscalated       bool    `json:"was_escalated"`
	TriageFile         *string `json:"triage_file"`
}
