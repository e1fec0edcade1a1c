// Package outbox records the intent and the outcome of each post, durable before and
// after it, so that nothing is posted twice and nothing approved is lost.
//
// A draft that is being posted is in one of these states, and in no other. A
// crash at any instant leaves one of them, because each line is reached from the
// one that it names by a single durable step, or by a post:
//
//	     claim  entries              platform    line  reached from        what is next
//	S0   no     none                 nothing     no    an approval         recheck, then claim
//	S1   yes    none or some, new    nothing     no    S0, S1              write the missing intents
//	S2   yes    all; next part new   parts < it  no    S1, S4              count a try
//	S3   yes    next part tried      it or not   no    S2, S5, S3          post; after a crash or an unclear answer, look
//	S4   yes    that part posted     it          no    S3, S5              the next part (S2), or the line (S7)
//	S5   yes    that part parked     it or not   no    S3                  wait for a person: posted S4, retry S3, drop S6
//	S6   yes    that part refused    not it      no    S1, S3              the line (S7); later parts are never sent
//	            or dropped           (or left)         S5
//	S7   yes    as S4 or S6          settled     yes   S4, S6              move the entries to done
//	S8   yes    some or none left    settled     yes   S7, S8              move the rest; then nothing, ever
//
// new: state intent, tries 0: no post was begun. tried: state intent, tries > 0: a post may have
// been begun. A crash between the count of a try and its post, or between the post and its record,
// leaves S3. Only in S3 is the platform asked, by the post's key, and the post is repeated only if
// the platform can prove that it is absent. A second post is therefore impossible unless a person
// said "retry", on a platform whose proofs are true.
//
// A file records the progress of a post, and even that is not trusted. Text, parts, target and key
// are derived from the claim and its offer and compared. If another process wrote the claim, every
// part is looked up in done, in the log (settlements by people) and in the chat before it is tried
// or taken as settled. A part that cannot be decided this way is parked.
//
// Entries without a claim, and a line without a claim, are not legal states: they are reported and
// left unchanged.
package outbox

import (
	"fmt"

	"tri/lib/record/decision"
)

// States of an entry.
const (
	Intent  = "intent"  // it may or may not be on the platform
	Posted  = "posted"  // it is on the platform
	Parked  = "parked"  // unknown whether it is posted: a person settles it
	Refused = "refused" // the platform refuses it permanently; nothing was posted
	Dropped = "dropped" // not to be posted (again): settled by a person, or the question was edited
)

// Entry is one file of outbox/: one part of one approved draft of one thread.
type Entry struct {
	ID       string `json:"id"` // <thread key>.<cycle>.<first 12 of draft sha256>.<part>: the file's name
	Key      string `json:"key"`
	Cycle    int    `json:"cycle"`
	PostKey  string `json:"post_key"` // sent to the platform
	State    string `json:"state"`
	Platform string `json:"platform"`
	ChatID   string `json:"chat_id"`
	ThreadID string `json:"thread_id"`
	ReplyTo  string `json:"reply_to_message_id"`

	DraftSHA256 string `json:"draft_sha256"`
	Part        int    `json:"part"` // from 1
	Parts       int    `json:"parts"`
	Limit       int    `json:"limit,omitempty"` // of a part, in characters, when the text was cut
	Text        string `json:"text"`

	// Tries counts the posts that were begun and may have succeeded. A post that is known to have
	// failed (the platform said so) is subtracted again.
	Tries int `json:"tries"`
	// TriedAt is when the last try began; "" before the first.
	TriedAt         string `json:"tried_at,omitempty"`
	IntentAt        string `json:"intent_at"`
	PostedMessageID string `json:"posted_message_id,omitempty"`
	PostedAt        string `json:"posted_at,omitempty"`
	Why             string `json:"why,omitempty"` // of parked, refused, dropped

	// Sum is the SHA-256 of the entry without this field. It detects corruption and careless
	// edits. Every entry with a Limit has one.
	Sum string `json:"sum,omitempty"`
}

// UserEdited is the validator_verdict of a text that a person wrote in place of the draft: it was
// not validated.
const UserEdited = "user-edited"

// Notice is the validator_verdict of a notice: its form was approved, and nothing else of it was checked.
const Notice = "notice"

// Reply is one line of replies.ndjson, one for each draft posted or settled.
type Reply struct {
	Platform           string   `json:"platform"`
	ChatID             string   `json:"chat_id"`
	ReplyToMessageID   string   `json:"reply_to_message_id"`
	PostedMessageID    string   `json:"posted_message_id"`
	PostedMessageIDs   []string `json:"posted_message_ids,omitempty"` // all parts
	PostedAt           string   `json:"posted_at"`
	ReplyText          string   `json:"reply_text"`
	InvestigatorTaskID string   `json:"investigator_task_id"`
	ValidatorVerdict   string   `json:"validator_verdict"`
	InvestigatorRounds int      `json:"investigator_rounds"`
	WasEscalated       bool     `json:"was_escalated"`
	TriageFile         *string  `json:"triage_file"`

	Key         string `json:"key"` // thread
	Cycle       int    `json:"cycle"`
	DraftSHA256 string `json:"draft_sha256"`
	Outcome     string `json:"outcome"` // posted, refused, dropped
	ApprovedBy  string `json:"approved_by"`
	// ReadBy are the people who approved exactly this text; none for an automatic reply. EditedBy is
	// who wrote it in place of the draft.
	ReadBy   []string `json:"read_by,omitempty"`
	EditedBy string   `json:"edited_by,omitempty"`
	Badge    string   `json:"badge,omitempty"` // what was proved of this text
	Why      string   `json:"why,omitempty"`
}

// Approval says who approved the text, for a person.
func (r *Reply) Approval() string {
	switch {
	case r.ValidatorVerdict == Notice:
		return "a notice; its form was approved by " + r.ApprovedBy
	case r.ApprovedBy == "":
		return "no approver is in the log"
	case r.ApprovedBy == decision.Dispatcher:
		return "approved by the policy, read by no person"
	case r.Badge != "" && r.EditedBy != "":
		return fmt.Sprintf("%s; approved by %s", r.Badge, r.ApprovedBy)
	}
	return "approved by " + r.ApprovedBy
}
