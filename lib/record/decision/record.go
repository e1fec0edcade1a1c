// Package decision is the hash-chained log of offers and decisions, and the fold that says which
// decisions count.
package decision

import (
	"fmt"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/notice"
	"tri/lib/record/verdict"
)

// Kinds of record. tri-dispatch writes Offer, Withdraw and Auto; tri-panel writes Offer for issues.
// tri-reply writes Revoke when the question of an approved draft has changed, and Claim before it posts.
// People write the others through tri-approve and tri-task. The log is the one total order: an undo or a
// withdraw counts only if it precedes the claim.
const (
	Offer    = "offer"
	Withdraw = "withdraw"
	Approve  = "approve"
	Edit     = "edit"     // approve another text
	Dismiss  = "dismiss"  // post nothing
	Redo     = "redo"     // investigate again, with a note
	Answer   = "answer"   // the operator answers a question put to them; investigate with the answer
	Escalate = "escalate" // run a longer investigation (tier 2)
	Tell     = "tell"     // add the note to what is asked
	Redirect = "redirect" // the note replaces what is asked
	Branch   = "branch"   // ask the note as well, in an item beside this one
	Cancel   = "cancel"   // end the work; nobody wants the answer
	Reopen   = "reopen"   // investigate again what was dismissed, was cancelled or has expired
	Auto     = "auto"     // by tri-dispatch: the auto-reply policy approves
	Undo     = "undo"     // take the decision back, before it is posted
	Claim    = "claim"    // by tri-reply: posting begins, too late to undo
	Revoke   = "revoke"
	Notice   = "notice"  // approve a form of notices by its exact text
	Retract  = "retract" // take a form back
	Notify   = "notify"  // by tri-dispatch: post a notice that an approved form gives
	Settle   = "settle"  // what to do with a parked post: posted, retry or drop
	Todo     = "todo"    // add, done or undone: change people's lists
)

// Outcomes of a settle.
const (
	SettlePosted = "posted" // it is on the platform: record it
	SettleRetry  = "retry"  // it is not: post it again
	SettleDrop   = "drop"   // leave it, posted or not
)

// Record is one line of decisions.ndjson. Which fields are set depends on Kind.
type Record struct {
	// N counts records from 1. Prev is the SHA-256 of the previous line, "" for the first. Append
	// stamps both.
	N    int64  `json:"n"`
	Prev string `json:"prev"`

	At   string `json:"at"` // RFC 3339
	Kind string `json:"kind"`
	By   string `json:"by"`  // a person's id, or the program's name
	Via  string `json:"via"` // terminal, web, chat, policy, code

	// Ref identifies the click or chat message that made the decision, so that one of them never
	// counts twice.
	Ref string `json:"ref,omitempty"`

	Key         string `json:"key"` // thread
	Cycle       int    `json:"cycle"`
	DraftSHA256 string `json:"draft_sha256"` // of Text; hex

	// Text is the draft of an offer, the approved bytes of an approve, or the replacement text of
	// an edit.
	Text string `json:"text,omitempty"`
	// Cuts are the byte offsets at which Text is posted in several messages, of an offer, the same of an
	// approval of it, and of an edit.
	Cuts []int `json:"cuts,omitempty"`
	// Form names the form of a notice. Holes are the values of a notify, Of is its item's key.
	Form  string        `json:"form,omitempty"`
	Holes *notice.Holes `json:"holes,omitempty"`
	Of    string        `json:"of,omitempty"`
	// Note is the person's reason, instruction or answer.
	Note string `json:"note,omitempty"`
	// Original is the hash of the offered draft that an edit replaces.
	Original string `json:"original_sha256,omitempty"`
	// Distance is the edit distance of an edit, in characters.
	Distance int `json:"distance,omitempty"`
	// Badge and Sentences say what code proved of the text of an edit, from what the draft cites.
	Badge     string             `json:"badge,omitempty"`
	Sentences []verdict.Sentence `json:"sentences,omitempty"`
	// NoFile keeps the triage file proposed with the draft from being saved.
	NoFile bool `json:"no_file,omitempty"`
	// Grounds are the preconditions that an auto found to hold, one sentence each.
	Grounds []string `json:"grounds,omitempty"`
	// Outcome of a settle: posted, retry, drop; of a todo: add, done, undone. Post names the outbox entry.
	Outcome string `json:"outcome,omitempty"`
	Post    string `json:"post,omitempty"`
	// Tries of a settle equals that of the parked entry, so that a settlement of one parking is
	// not applied to a later one.
	Tries int `json:"tries,omitempty"`

	// Nonce of a claim identifies the process that appended it. Only that process may post without
	// checking whether another has posted.
	Nonce string `json:"nonce,omitempty"`

	// The following fields are set in offers, so that tri-reply needs no thread.
	Target    *Target     `json:"target,omitempty"`
	Evidence  []draft.Ref `json:"evidence,omitempty"`
	Codebase  string      `json:"codebase,omitempty"` // its name in the configuration
	ExpiresAt string      `json:"expires_at,omitempty"`
	// Meta is copied into replies.ndjson.
	Meta *Meta `json:"meta,omitempty"`
	// Sources are the texts that a replacement draft may refer to (question, summary, notes), for
	// the safety checks of an edit.
	Sources []string `json:"sources,omitempty"`
}

// Target is where a post goes and which message it answers.
type Target struct {
	Platform       string `json:"platform"`
	ChatID         string `json:"chat_id"`
	ThreadID       string `json:"thread_id"`
	ReplyToID      string `json:"reply_to_message_id"`
	QuestionSHA256 string `json:"question_sha256"` // of the text of ReplyToID when the question was taken
}

// Meta is the part of replies.ndjson that describes how an answer was produced.
type Meta struct {
	InvestigatorTaskID string `json:"investigator_task_id"`
	// pass, bounce-then-pass, escalate-then-user-approved
	ValidatorVerdict   string  `json:"validator_verdict"`
	InvestigatorRounds int     `json:"investigator_rounds"`
	WasEscalated       bool    `json:"was_escalated"`
	TriageFile         *string `json:"triage_file"`
	Badge              string  `json:"badge,omitempty"` // of the draft's verdict
	// NotAnswered are the messages whose questions the draft leaves out, by id.
	NotAnswered []string `json:"not_answered,omitempty"`
}

// Name returns the id of what waits for a decision: 64 hex digits that permanently identify exactly this
// draft of this thread. post is "" except for a parked post.
func Name(key string, cycle int, draftSHA256, post string) string {
	return text.SHA256(fmt.Sprintf("%s\x00%d\x00%s\x00%s", key, cycle, draftSHA256, post))
}
