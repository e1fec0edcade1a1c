package thread

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
)

// Input is one event that can move a thread. lib/record/journal records inputs in the order in
// which tri-dispatch takes them, before any thread moves: every thread is a fold of Apply over its
// inputs. Exactly one of the pointers is set.
type Input struct {
	At  string `json:"at"` // RFC 3339
	Key string `json:"key"`

	Event *event.Classified `json:"event,omitempty"`
	// Facts are what the configured rules said when the event arrived, so that the same journal
	// yields the same threads under another configuration.
	Facts *Facts `json:"facts,omitempty"`
	// Before are the earlier messages of the same turn, with an Event that opens a thread.
	Before []Message `json:"before,omitempty"`

	Run      *run.Result      `json:"run,omitempty"`
	Decision *decision.Record `json:"decision,omitempty"` // one that counts
	Reply    *outbox.Reply    `json:"reply,omitempty"`
	// Escalate says, with Run, that a longer investigation may follow: one was requested or the
	// run's time was up, and the configuration permits it.
	Escalate bool `json:"escalate,omitempty"`
	// Resumes says, with Run, that the next cycle continues the run's session.
	Resumes bool `json:"resumes,omitempty"`
	// Stale says that messages have come which the draft does not answer: with Run that it is not
	// validated, with Event that its validation ends. Earlier versions validated it.
	Stale bool `json:"stale,omitempty"`
	// Shed says, with Event, that an edit takes a waiting message back, or begins a cycle without the
	// messages that were deleted since the last. Earlier versions asked both.
	Shed bool `json:"shed,omitempty"`
	// Told says, with Decision, that its words count in a later cycle as well, and wait for the run in
	// progress. Earlier versions began a cycle, and only in the one that the decision names.
	Told bool `json:"told,omitempty"`
	// Ends are, with Run, signs in the text of a draft that it is no answer: lib/judge/intent has them.
	Ends []string `json:"ends,omitempty"`
	// LastRound says, with Run, that no round follows a bounce.
	LastRound bool `json:"last_round,omitempty"`
	// NotAnswered are the messages whose questions a text leaves out, by id: with Run the draft that was
	// validated, with Reply the text that was posted, if it answers others.
	NotAnswered []string    `json:"not_answered,omitempty"`
	Beside      *Beside     `json:"beside,omitempty"`
	Escalated   *Escalation `json:"escalated,omitempty"`
	Spent       *Spent      `json:"spent,omitempty"`
	Resumed     *Resumed    `json:"resumed,omitempty"`
	Noted       *Noted      `json:"noted,omitempty"`
	Rejected    *Rejected   `json:"rejected,omitempty"`
	Expired     *Expired    `json:"expired,omitempty"`
	// Thread is the whole thread as an earlier version of the state machine left it, or as an operator's
	// decision begins it (Thread.Branch).
	Thread *Thread `json:"thread,omitempty"`
	// Threads counts all threads, including the one that this input opens.
	Threads *Count `json:"threads,omitempty"`

	// Source is the byte offset of a decision's or a reply's line in its log.
	Source *int64 `json:"-"`
}

// Count is a checksum of a set of threads, to detect missing ones.
type Count struct {
	N   int    `json:"n"`
	XOR uint64 `json:"xor"` // of the first six bytes of the keys' SHA-256
}

// Add adds a thread's key.
func (c *Count) Add(key string) {
	sum := sha256.Sum256([]byte(key))
	c.N, c.XOR = c.N+1, c.XOR^binary.BigEndian.Uint64(sum[:8])>>16
}

// Facts are the rules' results for an event.
type Facts struct {
	QuestionType string  `json:"question_type"`
	TypeReason   string  `json:"type_reason,omitempty"` // the rule that matched: "status:is-it-down"
	Rubric       string  `json:"rubric"`
	Ask          string  `json:"ask,omitempty"` // to be asked of the operator first
	Codebase     string  `json:"codebase"`
	ExpectedMin  float64 `json:"expected_min"`
	// ExpectedBecause lists the parts of ExpectedMin: "technical 5", "intermittent +4".
	ExpectedBecause []string `json:"expected_because,omitempty"`
	Tier            int      `json:"tier"` // 1 in a run, 2 long
	NeverMind       bool     `json:"never_mind,omitempty"`
	// Relation is what the message does to the open items of its sender, and Of the key of the item that
	// it concerns; of a branch, the one that it is beside. "" if the sender has none, or the rules of an
	// earlier version did not say.
	Relation        string   `json:"relation,omitempty"`
	RelationReasons []string `json:"relation_reasons,omitempty"`
	Of              string   `json:"of,omitempty"`
	// Unclear says why a withdrawal has no effect.
	Unclear string `json:"unclear,omitempty"`
	Own     bool   `json:"own,omitempty"` // written by the bot
	// Refuse says why an actionable message may not open a thread: it is too old.
	Refuse string `json:"refuse,omitempty"`
	// Opens says that a message of an inbox only greets. It opens nothing, and is not in the journal.
	Opens bool `json:"-"`
	Want
}

// Values of Facts.Relation that the state machine distinguishes; lib/judge/relation has them all.
const (
	RelationStatus   = "status"
	RelationRedirect = "redirect"
	RelationAnswer   = "answer"
	RelationBranch   = "branch"
)

// Escalation says where a long run can be watched.
type Escalation struct {
	RunID          string  `json:"run_id"`
	TmuxSession    *string `json:"tmux_session"` // null: it has a terminal of its own
	TranscriptPath string  `json:"transcript_path"`
}

// Spent says that there was no budget left for a run.
type Spent struct {
	RunID string `json:"run_id"`
	Why   string `json:"why"`
	Day   string `json:"day,omitempty"` // UTC, 2006-01-02: the budget is renewed on another day
}

// Resumed says that there is budget again for a waiting run.
type Resumed struct {
	RunID string `json:"run_id"`
}

// Expired says that a draft waited too long.
type Expired struct {
	DraftSHA256 string `json:"draft_sha256"`
}

// Stales reports whether in, if t takes it, finds or makes its draft stale.
func (t *Thread) Stales(in Input) bool {
	switch {
	case in.Run != nil:
		return t.unheard(in.Run) && in.Run.Status == run.Done && t.inRound() &&
			in.Run.RunID == *t.InvestigatorTaskID
	case in.Event != nil:
		return t.Status == AwaitingValidation && !in.Event.Deleted
	}
	return false
}

// Sheds reports whether in is an edit that withdraws a waiting message, or of an item of which a message was
// deleted after its end.
func (t *Thread) Sheds(in Input) bool {
	e, f := in.Event, in.Facts
	if e == nil || e.Deleted || e.EditedAt == "" && e.EditID == "" {
		return false
	}
	return f != nil && f.NeverMind && find(t.Pending, e.MessageID) >= 0 ||
		slices.ContainsFunc(t.Messages, func(m Message) bool { return m.Deleted })
}

// Tells reports whether in is an operator's words on t, of this cycle or an earlier one.
func (t *Thread) Tells(in Input) bool {
	return in.Decision != nil && in.Decision.Word() && in.Decision.Cycle <= t.Cycle && t.Status != Closed
}

// Identity distinguishes the inputs of one thread: an input read twice counts once.
func (in *Input) Identity() string {
	id := ""
	switch {
	case in.Event != nil:
		id = "event " + in.Event.Identity()
	case in.Run != nil:
		id = "run " + in.Run.RunID
	case in.Decision != nil:
		id = fmt.Sprint("decision ", in.Decision.N)
	case in.Reply != nil:
		id = fmt.Sprint("reply ", in.Reply.Cycle, in.Reply.DraftSHA256)
	case in.Beside != nil:
		id = "beside " + in.Beside.Key
	case in.Escalated != nil:
		id = "escalated " + in.Escalated.RunID
	case in.Spent != nil:
		if id = "spent " + in.Spent.RunID; in.Spent.Day != "" {
			id += " " + in.At // it may be refused again
		}
	case in.Noted != nil:
		id = "noted " + in.Noted.RunID
	case in.Rejected != nil:
		id = "rejected " + in.Rejected.ID
	case in.Resumed != nil:
		id = "resumed " + in.At + " " + in.Resumed.RunID
	case in.Expired != nil:
		id = "expired " + in.At + " " + in.Expired.DraftSHA256 // the same text may expire in each cycle
	}
	return text.SHA256(id)[:16]
}

// Knows reports whether an input has been applied.
func (t *Thread) Knows(in Input) bool {
	if in.Decision != nil && in.Decision.N > 0 && in.Decision.N <= t.AppliedDecision {
		return true
	}
	if in.Reply != nil && in.Reply.Cycle <= t.AppliedReply {
		return true
	}
	id := in.Identity()
	known := func(applied string) bool { return applied[:min(len(id), len(applied))] == id }
	if slices.ContainsFunc(t.Applied, known) {
		return true
	}
	// An event that was dropped from the list is older, by offset and by time, than those in it.
	// If the log is another one, only one of the two can be compared.
	return in.Event != nil && t.AppliedAt != nil && happened(in.Event) <= *t.AppliedAt &&
		(in.Event.Seq == nil || t.AppliedSeq == nil || *in.Event.Seq <= *t.AppliedSeq)
}

// know records that an input is applied.
func (t *Thread) know(in Input) {
	if in.Decision != nil {
		t.AppliedDecision = max(t.AppliedDecision, in.Decision.N)
	}
	if in.Reply != nil {
		t.AppliedReply = max(t.AppliedReply, in.Reply.Cycle)
	}
	id := in.Identity()
	if e := in.Event; e != nil {
		id += "." + strconv.FormatInt(seq(e), 36) + "." + strconv.FormatInt(happened(e), 36)
	}
	t.Applied = append(t.Applied, id)
	if len(t.Applied) <= maxApplied {
		return
	}
	parts := strings.SplitN(t.Applied[0], ".", 3)
	t.Applied = t.Applied[1:]
	if len(parts) < 3 {
		return
	}
	for i, to := range []**int64{&t.AppliedSeq, &t.AppliedAt} {
		if n, err := strconv.ParseInt(parts[i+1], 36, 64); err == nil && n >= 0 && (*to == nil || n > **to) {
			*to = &n
		}
	}
}

func seq(e *event.Classified) int64 {
	if e.Seq == nil {
		return -1
	}
	return *e.Seq
}

// happened returns when an event took place, in Unix seconds.
func happened(e *event.Classified) int64 { return max(0, e.ChangedAt().Unix()) }
