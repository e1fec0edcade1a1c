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
// new: state intent, tries 0, so that no post of it was ever begun. tried: state
// intent, tries > 0: a post may have been begun. Between the count of a try and
// its post, and between the post and its record, a crash leaves S3; only there is
// the platform asked by the post's key, and only if it can prove that the post is
// absent is it made again. A second post is therefore possible in no state in
// which nobody said "retry", on a platform whose proofs are true.
//
// A file tells how far a post has come, and is not believed even in that: text,
// parts, target and key are derived from the claim and its offer and compared, and
// of a claim that another process wrote every part is looked for in done, in the log
// (what people settled) and in the chat before it is tried or taken for settled.
// What none of them can tell is parked.
//
// Entries with no claim, or a line with no claim, are no legal state: they are
// named and left alone.
package outbox

// States of an entry.
const (
	Intent  = "intent"  // it may or may not stand on the platform
	Posted  = "posted"  // it stands there
	Parked  = "parked"  // nobody can prove whether it does: a person settles it
	Refused = "refused" // the platform will never take it; nothing was posted
	Dropped = "dropped" // not to be posted (again): a person settled it, or the question was edited
)

// Entry is one file of outbox/: one part of one approved draft of one thread.
type Entry struct {
	ID       string `json:"id"` // <thread key>.<cycle>.<first 12 of draft sha256>.<part>: the file's name
	Key      string `json:"key"`
	Cycle    int    `json:"cycle"`
	PostKey  string `json:"post_key"` // what the platform is given
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

	// Tries counts the posts that were begun and may have been made. One that is
	// known not to have been (the platform said so) is taken off again.
	Tries int `json:"tries"`
	// TriedAt is when the last try began; "" before the first.
	TriedAt         string `json:"tried_at,omitempty"`
	IntentAt        string `json:"intent_at"`
	PostedMessageID string `json:"posted_message_id,omitempty"`
	PostedAt        string `json:"posted_at,omitempty"`
	Why             string `json:"why,omitempty"` // of parked, refused, dropped

	// Sum is the SHA-256 of the entry without it, by which decay and careless edits are
	// seen. An entry with a Limit has one.
	Sum string `json:"sum,omitempty"`
}

// UserEdited is the validator_verdict of a text that a person wrote in the place of
// the draft: no validator has read it.
const UserEdited = "user-edited"

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
