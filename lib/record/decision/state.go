package decision

import (
	"fmt"
	"slices"
	"time"

	"tri/lib/base/config"
)

// Policy says who may decide. An empty list means nobody: it fails closed.
type Policy struct {
	Approvers []string
	// Quorum is how many different people must say yes to the same text before it
	// is posted; below 2, one.
	Quorum int
	// Auto lets the yes of tri-dispatch count (triage §7).
	Auto bool
}

// PolicyOf is what a configuration says.
func PolicyOf(c *config.Config) Policy {
	return Policy{Approvers: c.Team.Approvers, Quorum: c.Gate.Quorum, Auto: c.AutoReply.Enabled}
}

// PolicyIn asks the configuration of a home, read again each time, who may decide.
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
	for _, a := range p.Approvers {
		if a == by && a != "" {
			return true
		}
	}
	return false
}

// Standing is where one thread stands in the log: its latest offer and what was
// decided of it.
type Standing struct {
	Key   string
	Cycle int
	// Offer is nil where a thread waited without a draft (its investigation
	// failed, or the operator was asked first) and a person decided that.
	Offer *Record
	// Decision is the first valid one that nobody took back. Of several people who
	// had to say yes it is the word of the last.
	Decision *Record
	// Votes are the yeses so far, one for each person.
	Votes []*Record
	// Claimed is set from the claim on: it is being posted, or has been.
	Claimed bool
	// Void says why the offer and what was decided of it no longer hold.
	Void string
	// VoidAt is when an offer was withdrawn.
	VoidAt string

	// doubted are yeses of people whom today's policy does not allow. A claim shows
	// that one of them counted when it was given: taking somebody off the list
	// stops what has not begun, and orphans nothing that has.
	doubted []*Record
}

// Open reports whether the offer can be decided now.
func (s *Standing) Open(now time.Time) bool {
	return s.Offer != nil && s.Decision == nil && s.Void == "" && expired(s.Offer, now) == ""
}

// Expired reports whether the offer was withdrawn because it had waited for too long.
func (s *Standing) Expired() bool {
	return s.Offer != nil && s.Void == because("withdrawn", ExpiredNote)
}

// Approved reports whether the draft is to be posted and nobody has begun to.
func (s *Standing) Approved() bool {
	return s.Decision != nil && posts(s.Decision.Kind) && s.Void == "" && !s.Claimed
}

func posts(kind string) bool { return kind == Approve || kind == Edit || kind == Auto }

// Posts reports whether a decision is one to post.
func (r *Record) Posts() bool { return posts(r.Kind) }

// ID tells drafts apart: the same text in another cycle is another draft.
func ID(key string, cycle int, sha256 string) string {
	return fmt.Sprintf("%s %d %s", key, cycle, sha256)
}

// ID is that of the draft that the record speaks of.
func (r *Record) ID() string { return ID(r.Key, r.Cycle, r.DraftSHA256) }

// State is the fold of the log: the one place that says which records count. It
// is pure, so that every program that reads the same log sees the same.
type State struct {
	approvers map[string]bool
	quorum    int
	auto      bool
	standing  map[string]*Standing // by key, the latest
	claims    map[string]*Standing // by ID of what is posted
	order     []*Standing          // the claims as they came
}

// NewState returns the state before the first record.
func NewState(p Policy) *State {
	s := &State{quorum: p.Quorum, auto: p.Auto, approvers: map[string]bool{}, standing: map[string]*Standing{}, claims: map[string]*Standing{}}
	for _, a := range p.Approvers {
		s.approvers[a] = a != ""
	}
	return s
}

// Resolve folds a whole log. What nobody decided before its time ran out is void.
func Resolve(rs []Record, p Policy, now time.Time) map[string]*Standing {
	s := NewState(p)
	for _, r := range rs {
		s.Add(r)
	}
	for _, st := range s.standing {
		if st.Offer != nil && st.Decision == nil && st.Void == "" {
			st.Void = expired(st.Offer, now)
		}
	}
	return s.standing
}

// Standing is where a thread stands, nil where nothing was offered or decided.
func (s *State) Standing(key string) *Standing { return s.standing[key] }

// Keys calls fn with every thread's standing, in no order.
func (s *State) Keys(fn func(*Standing)) {
	for _, st := range s.standing {
		fn(st)
	}
}

// Claims are the drafts that tri-reply has begun to post, in that order. They go
// on whatever is offered for the same thread later.
func (s *State) Claims() []*Standing { return s.order }

// Claim is the one of a draft, nil where there is none.
func (s *State) Claim(id string) *Standing { return s.claims[id] }

// Add takes the log's next record in and says whether it counts, and why not.
// A record that does not count changes nothing.
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
	}
	if why := s.allowed(r); why != "" {
		s.doubt(r)
		return why
	}
	switch r.Kind {
	case Approve, Edit, Auto:
		return s.approve(r)
	case Dismiss, Redo, Answer, Escalate:
		return s.direct(r)
	case Undo:
		return s.undo(r)
	case Settle:
		return s.settle(r)
	}
	return fmt.Sprintf("there is no kind %q", r.Kind)
}

// allowed says why a record's author may not decide.
func (s *State) allowed(r *Record) string {
	switch {
	case r.Kind == Auto && s.auto, r.lapse():
		return ""
	case r.Kind == Auto:
		return "automatic replies are off"
	case len(s.approvers) == 0:
		return "nobody may decide: team.approvers is empty"
	case !s.approvers[r.By]:
		return fmt.Sprintf("%q is not in team.approvers", r.By)
	}
	return ""
}

// offer puts a new draft before the people.
func (s *State) offer(r *Record) string {
	st := s.standing[r.Key]
	switch {
	case r.Text == "" || Sum(r.Text) != r.DraftSHA256:
		return "its hash is not that of its text"
	case s.claims[r.ID()] != nil:
		return "this draft is being posted, or has been"
	case st != nil && st.Offer != nil && st.Void == "" && st.Offer.ID() == r.ID():
		return "this draft stands already"
	}
	s.replace(r, &Standing{Key: r.Key, Cycle: r.Cycle, Offer: r})
	return ""
}

// replace makes next the thread's standing; the one before is void, unless it is
// being posted.
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
		return "another draft stands"
	}
	st.Void, st.VoidAt = because("withdrawn", r.Note), r.At
	return ""
}

// claim begins the posting: from here on nothing takes the decision back.
func (s *State) claim(r *Record) string {
	st, why := s.unclaimed(r)
	if why != "" {
		return why
	}
	if s.claims[r.ID()] != nil {
		return "it is being posted already"
	}
	st.trust(r)
	switch {
	case !st.Approved():
		return "nobody has approved it"
	case st.Decision.ID() != r.ID():
		return "another text was approved"
	case st.late(r.At):
		return "the automatic yes has lapsed"
	}
	st.Claimed = true
	s.claims[r.ID()] = st
	s.order = append(s.order, st)
	return ""
}

// doubt keeps a yes that would count if its author were allowed.
func (s *State) doubt(r *Record) {
	if st, why := s.undecided(r); why == "" && posts(r.Kind) && st.seen(r) == "" {
		st.doubted = append(st.doubted, r)
	}
}

// trust makes the doubted yes that a claim names the decision, and so a yes that
// today would need another beside it.
func (s *Standing) trust(claim *Record) {
	for _, r := range slices.Concat(s.doubted, s.Votes) {
		if s.Decision == nil && r.ID() == claim.ID() {
			s.Decision = r
		}
	}
}

func (s *State) revoke(r *Record) string {
	st, why := s.unclaimed(r)
	switch {
	case why != "":
		return why
	case !st.Approved() || st.Decision.ID() != r.ID():
		return "no such approved draft stands"
	}
	st.Void = because("revoked", r.Note)
	return ""
}

// unclaimed is the thread's standing as long as it can still change.
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

// expired says that an offer's time had run out, "" while it had not. A time that
// cannot be read has run out.
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
