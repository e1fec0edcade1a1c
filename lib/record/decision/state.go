package decision

import (
	"fmt"
	"slices"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/draft"
)

// Policy says who may decide. An empty list allows no one: it fails closed.
type Policy struct {
	Approvers []string
	// Quorum is how many different people must approve the same text before it is posted. A value
	// below 2 means one.
	Quorum int
	// Auto makes the approvals of tri-dispatch count.
	Auto bool
}

// PolicyOf returns the policy of a configuration.
func PolicyOf(c *config.Config) Policy {
	return Policy{Approvers: c.Team.Approvers, Quorum: c.Gate.Quorum, Auto: c.AutoReply.Enabled}
}

// PolicyIn returns a function that reads the policy of a home's configuration, anew at each call.
func PolicyIn(home, file string) func() (Policy, error) {
	return func() (Policy, error) {
		c, err := config.ForHome(home, file)
		if err != nil {
			return Policy{}, err
		}
		return PolicyOf(c), nil
	}
}

// Allows reports whether a person may decide.
func (p Policy) Allows(by string) bool {
	return by != "" && slices.Contains(p.Approvers, by)
}

// Standing is the state of one thread in the log: its latest offer and the decision on it.
type Standing struct {
	Key   string
	Cycle int
	// Offer is nil if a person decided on a thread that had no draft (its investigation failed, or
	// the operator was asked first).
	Offer *Record
	// Decision is the first valid decision that was not undone. With a quorum it is the last of
	// the approvals.
	Decision *Record
	// Votes are the approvals so far, one for each person.
	Votes []*Record
	// Claimed is set by the claim: the draft is being posted, or has been.
	Claimed bool
	// Void says why the offer and its decision are no longer valid.
	Void string
	// VoidAt is when an offer was withdrawn.
	VoidAt string

	formBy []string // who approved the form of a notice

	// given are the approvals since the offer or the last undo, whoever gave them and however many
	// today's policy needs. A claim shows that its text was approved when it was claimed: a changed
	// policy stops posts that have not begun and leaves those that have.
	given []*Record
}

// Open reports whether the offer can be decided now.
func (s *Standing) Open(now time.Time) bool {
	return s.Offer != nil && s.Decision == nil && s.Void == "" && expired(s.Offer, now) == ""
}

// Expired reports whether the offer was withdrawn because it waited too long.
func (s *Standing) Expired() bool {
	return s.Offer != nil && s.Void == because("withdrawn", ExpiredNote)
}

// Approved reports whether the draft is to be posted and is not yet claimed.
func (s *Standing) Approved() bool {
	return s.Decision != nil && posts(s.Decision.Kind) && s.Void == "" && !s.Claimed
}

// Readers returns the people who approved the text of the decision, in their order. A
// policy is no person.
func (s *Standing) Readers() []string {
	if s.Decision.Kind == Notify {
		return s.formBy
	}
	var names []string
	for _, v := range s.Votes {
		if v.DraftSHA256 == s.Decision.DraftSHA256 {
			names = append(names, v.By)
		}
	}
	if names == nil && s.Decision.Kind != Auto {
		return []string{s.Decision.By} // approved when one approval was enough
	}
	return names
}

// Approval says who approved the text of a decision, for a person. It does not say that somebody has read
// it: a program cannot know that.
func (r *Record) Approval() string {
	switch {
	case r.Kind == Auto:
		return "approved by the policy, read by no person"
	case r.Kind == Notify:
		return fmt.Sprintf("a notice of the approved form %q", r.Form)
	case r.Kind == Edit && r.Badge != "":
		return fmt.Sprintf("%s; approved by %s", r.Badge, r.By)
	}
	return "approved by " + r.By
}

// Word reports whether the record says something to the work on a question.
func (r *Record) Word() bool { return r.Kind == Tell || r.Kind == Redirect }

func posts(kind string) bool {
	return kind == Approve || kind == Edit || kind == Auto || kind == Notify
}

// Posts reports whether the record is a decision to post.
func (r *Record) Posts() bool { return posts(r.Kind) }

// ID identifies a draft: the same text in another cycle is another draft.
func ID(key string, cycle int, sha256 string) string {
	return fmt.Sprintf("%s %d %s", key, cycle, sha256)
}

// ID returns the ID of the record's draft.
func (r *Record) ID() string { return ID(r.Key, r.Cycle, r.DraftSHA256) }

// State is the fold of the log, the only place that decides which records count. It is pure, so
// that every program that reads the same log computes the same state.
type State struct {
	approvers map[string]bool
	quorum    int
	auto      bool
	standing  map[string]*Standing // by key, the latest
	claims    map[string]*Standing // by ID of the posted text
	order     []*Standing          // the claims in order
	forms     forms
}

// NewState returns the state before the first record.
func NewState(p Policy) *State {
	s := &State{quorum: p.Quorum, auto: p.Auto, approvers: map[string]bool{},
		standing: map[string]*Standing{}, claims: map[string]*Standing{},
		forms: forms{known: map[string]*form{}, asked: map[string][]time.Time{},
			latest: map[string]time.Time{}}}
	for _, a := range p.Approvers {
		s.approvers[a] = a != ""
	}
	return s
}

// Standing returns the state of a thread, nil if there was neither an offer nor a decision.
func (s *State) Standing(key string) *Standing { return s.standing[key] }

// Keys calls fn with the standing of every thread, in unspecified order.
func (s *State) Keys(fn func(*Standing)) {
	for _, st := range s.standing {
		fn(st)
	}
}

// Claims returns the drafts that tri-reply has begun to post, in order of their claims. A later
// offer for the same thread does not stop them.
func (s *State) Claims() []*Standing { return s.order }

// Claim returns the claim of a draft, nil if there is none.
func (s *State) Claim(id string) *Standing { return s.claims[id] }

// Add applies the next record of the log. It reports whether the record counts and, if not, why. A
// record that does not count changes nothing.
func (s *State) Add(r Record) (counts bool, why string) {
	why = s.add(&r)
	return why == "", why
}

func (s *State) add(r *Record) string {
	if r.Key == "" {
		return "it names no thread"
	}
	switch r.Kind {
	case Offer:
		return s.offer(r)
	case Withdraw:
		return s.withdraw(r)
	case Claim:
		return s.claim(r)
	case Revoke:
		return s.revoke(r)
	case Notify:
		return s.notify(r)
	}
	s.give(r)
	if why := s.allowed(r); why != "" {
		s.refuse(r, why)
		return why
	}
	switch r.Kind {
	case Approve, Edit, Auto:
		return s.approve(r)
	case Dismiss, Redo, Answer, Escalate, Tell, Redirect, Cancel:
		return s.direct(r)
	case Branch:
		return branch(r)
	case Reopen:
		return s.reopen(r)
	case Undo:
		return s.undo(r)
	case Settle:
		return s.settle(r)
	case Notice:
		return s.approveForm(r, true)
	case Retract:
		return s.retract(r)
	case Todo:
		return todo(r)
	}
	return fmt.Sprintf("there is no kind %q", r.Kind)
}

// allowed returns why a record's author may not decide, "" if they may.
func (s *State) allowed(r *Record) string {
	switch {
	case r.Kind == Auto && s.auto, r.expires():
		return ""
	case r.Kind == Auto:
		return "automatic replies are off"
	case len(s.approvers) == 0:
		return "no person may decide: team.approvers is empty"
	case !s.approvers[r.By]:
		return fmt.Sprintf("%q is not in team.approvers", r.By)
	}
	return ""
}

// offer applies an offer.
func (s *State) offer(r *Record) string {
	st := s.standing[r.Key]
	switch {
	case r.Text == "" || Sum(r.Text) != r.DraftSHA256:
		return "its hash is not that of its text"
	case !cuttable(r):
		return "its cuts are not places in its text"
	case s.claims[r.ID()] != nil:
		return "this draft is being posted, or has been"
	case st != nil && st.Offer != nil && st.Void == "" && st.Offer.ID() == r.ID():
		return "this draft is offered already"
	}
	s.replace(r, &Standing{Key: r.Key, Cycle: r.Cycle, Offer: r})
	return ""
}

func cuttable(r *Record) bool {
	_, err := draft.Cut(r.Text, r.Cuts)
	return err == nil
}

// replace makes next the thread's standing. The previous one becomes void unless it is being
// posted.
func (s *State) replace(r *Record, next *Standing) {
	if old := s.standing[r.Key]; old != nil && old.Void == "" && !old.Claimed {
		old.Void = fmt.Sprintf("replaced in cycle %d", r.Cycle)
	}
	s.standing[r.Key] = next
}

func (s *State) withdraw(r *Record) string {
	st, why := s.unclaimed(r)
	switch {
	case why != "":
		return why
	case st.Offer == nil || st.Offer.ID() != r.ID():
		return "another draft is offered"
	}
	st.Void, st.VoidAt = because("withdrawn", r.Note), r.At
	return ""
}

// claim starts the posting: after it the decision cannot be undone.
func (s *State) claim(r *Record) string {
	st, why := s.unclaimed(r)
	if why != "" {
		return why
	}
	if s.claims[r.ID()] != nil {
		return "it is being posted already"
	}
	yes := st.approval(r.ID())
	switch {
	case yes == nil && !st.Approved():
		return "nobody has approved it"
	case yes == nil:
		return "another text was approved"
	case s.unfit(st, r.At) != "":
		return s.unfit(st, r.At)
	case late(yes, r.At):
		return "the automatic yes has lapsed"
	}
	st.trust(yes)
	st.Claimed = true
	s.claims[r.ID()] = st
	s.order = append(s.order, st)
	return ""
}

func (s *State) revoke(r *Record) string {
	st, why := s.unclaimed(r)
	switch {
	case why != "":
		return why
	case st.approval(r.ID()) == nil:
		return "no such approved draft"
	}
	st.Void = because("revoked", r.Note)
	return ""
}

// unclaimed returns the thread's standing if it can still change.
func (s *State) unclaimed(r *Record) (*Standing, string) {
	st := s.standing[r.Key]
	switch {
	case st == nil:
		return nil, "nothing was offered for this thread"
	case st.Void != "":
		return nil, "the draft is void: " + st.Void
	case st.Claimed:
		return nil, "too late: it is being posted, or has been"
	}
	return st, ""
}

// expired returns the reason if an offer had expired at the given time, else "". An unreadable
// expiry time counts as expired.
func expired(offer *Record, at time.Time) string {
	if offer.ExpiresAt == "" {
		return ""
	}
	end, err := time.Parse(time.RFC3339, offer.ExpiresAt)
	if err != nil || at.After(end) {
		return "expired at " + offer.ExpiresAt
	}
	return ""
}

func because(what, note string) string {
	if note == "" {
		return what
	}
	return what + ": " + note
}
