package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// current returns the thread's standing if r is about its draft.
func (s *State) current(r *Record) (*Standing, string) {
	st, why := s.unclaimed(r)
	switch {
	case why != "":
		return nil, why
	case st.Offer == nil:
		return nil, "no draft is offered"
	case r.Cycle != st.Cycle:
		return nil, fmt.Sprintf("it is for cycle %d, and the current draft is of cycle %d",
			r.Cycle, st.Cycle)
	}
	return st, ""
}

// undecided returns the thread's standing if r can be its decision: the first one, or one that
// overrules it.
func (s *State) undecided(r *Record) (*Standing, string) {
	st, why := s.current(r)
	switch {
	case why != "":
		return nil, why
	case st.Decision != nil && !overrules(r, st.Decision):
		return nil, fmt.Sprintf("%q was first (%s)", st.Decision.By, st.Decision.Kind)
	}
	return st, st.tooLate(r)
}

// tooLate says why a decision on the offer came too late.
func (s *Standing) tooLate(r *Record) string {
	at, err := time.Parse(time.RFC3339, r.At)
	if err != nil {
		return "it has no time"
	}
	return expired(s.Offer, at)
}

// approve applies an approval of the draft, or of a person's own text in its place. It must name
// the draft by its hash: an approval of a draft that was replaced meanwhile does not count for the
// new one.
func (s *State) approve(r *Record) string {
	st, why := s.undecided(r)
	if why != "" {
		return why
	}
	if why := st.seen(r); why != "" {
		return why
	}
	if s.claims[r.ID()] != nil {
		return "this text is being posted, or has been"
	}
	st.vote(r, s.quorum)
	return ""
}

// give keeps a well-formed approval for a claim, whether or not it counts. A person's approval of
// another text overrules that of the policy.
func (s *State) give(r *Record) {
	if r.Kind != Approve && r.Kind != Edit && r.Kind != Auto {
		return
	}
	st, why := s.current(r)
	if why != "" || st.tooLate(r) != "" || st.seen(r) != "" || s.claims[r.ID()] != nil {
		return
	}
	other := func(v *Record) bool { return v.Kind == Auto && r.Kind != Auto && v.ID() != r.ID() }
	if st.Decision != nil && other(st.Decision) {
		st.Decision = nil
	}
	st.given = append(slices.DeleteFunc(st.given, other), r)
}

// approval returns the approval of a text on which a claim may rely, nil if there is none or the
// draft was decided otherwise.
func (s *Standing) approval(id string) *Record {
	if s.Decision != nil && !s.Decision.Posts() {
		return nil
	}
	if s.Decision != nil && s.Decision.ID() == id {
		return s.Decision
	}
	for _, r := range slices.Backward(s.given) {
		if r.ID() == id {
			return r
		}
	}
	return nil
}

// trust makes the approval on which a claim relies the decision.
func (s *Standing) trust(yes *Record) {
	if s.Decision == yes {
		return
	}
	s.Votes = nil
	for _, r := range s.given {
		if r.ID() == yes.ID() && r.Kind != Auto {
			s.unvote(r.By)
			s.Votes = append(s.Votes, r)
		}
	}
	s.Decision = yes
}

// refuse applies what remains of a decision whose author may not decide today. They were allowed to
// when they decided, or no program would have written it. So no later policy undoes a refusal: an
// undo takes back the approvals before it, and another one voids the draft.
func (s *State) refuse(r *Record, why string) {
	switch r.Kind {
	case Notice:
		s.approveForm(r, false)
	case Retract:
		s.retract(r)
	case Undo:
		s.undo(r)
	case Dismiss, Redo, Answer, Escalate, Tell, Redirect, Cancel:
		st, void := s.unclaimed(r)
		if void != "" || r.Cycle > st.Cycle && r.Word() || s.direct(r) != "" {
			return
		}
		s.standing[r.Key] = st
		st.Decision, st.Void = nil, fmt.Sprintf("%s: %s", r.Kind, why)
	}
}

// vote counts an approval. A person's later approval replaces their earlier one.
func (s *Standing) vote(r *Record, quorum int) {
	if r.Kind == Auto {
		s.Decision = r
		return
	}
	s.unvote(r.By)
	s.Votes = append(s.Votes, r)
	if s.Yeses(r.DraftSHA256) >= quorum {
		s.Decision = r
	}
}

// Yeses returns how many people have approved a text.
func (s *Standing) Yeses(draftSHA256 string) (n int) {
	for _, v := range s.Votes {
		if v.DraftSHA256 == draftSHA256 {
			n++
		}
	}
	return n
}

func (s *Standing) unvote(by string) (found bool) {
	n := len(s.Votes)
	s.Votes = slices.DeleteFunc(s.Votes, func(v *Record) bool { return v.By == by })
	return len(s.Votes) < n
}

// seen checks that an approval names the offered draft and carries the text that it names.
func (s *Standing) seen(r *Record) string {
	seen := r.DraftSHA256
	if r.Kind == Edit {
		seen = r.Original
	}
	switch {
	case seen != s.Offer.DraftSHA256:
		return "the current draft is not the one that was shown"
	case r.Text == "" || Sum(r.Text) != r.DraftSHA256:
		return "its hash is not that of its text"
	case r.DraftSHA256 == s.Offer.DraftSHA256 && !slices.Equal(r.Cuts, s.Offer.Cuts):
		return "it is cut into other messages than those that were shown"
	case !cuttable(r):
		return "its cuts are not in its text"
	}
	return ""
}

// direct applies decisions that post nothing. They also apply to a thread that waits without a
// draft, for the cycle that they name. Words on a thread without a draft decide nothing.
func (s *State) direct(r *Record) string {
	switch {
	case r.Note != "":
	case r.Kind == Answer:
		return "an answer needs a text"
	case r.Kind == Tell || r.Kind == Redirect:
		return "its text is empty"
	}
	if st := s.standing[r.Key]; st == nil || r.Cycle > st.Cycle {
		if r.DraftSHA256 != "" {
			return "no such draft is offered"
		}
		if _, err := time.Parse(time.RFC3339, r.At); err != nil {
			return "it has no time"
		}
		if r.Word() {
			return "" // more of them may follow
		}
		s.replace(r, &Standing{Key: r.Key, Cycle: r.Cycle, Decision: r})
		return ""
	}
	st, why := s.undecided(r)
	switch {
	case why != "":
		return why
	case r.DraftSHA256 != "" && r.DraftSHA256 != st.Offer.DraftSHA256:
		return "the current draft is not the one that was shown"
	}
	st.Decision = r
	return ""
}

// branch checks a decision that begins another item. It decides nothing on its own.
func branch(r *Record) string {
	if _, err := time.Parse(time.RFC3339, r.At); err != nil {
		return "it has no time"
	}
	switch {
	case r.Note == "":
		return "its text is empty"
	case r.DraftSHA256 != "":
		return "it names a draft"
	}
	return ""
}

// TodoKey returns the Key of the records that change an entry of people's lists.
func TodoKey(id string) string { return "todo." + id }

// todo applies a change of people's lists, which decides nothing of a thread.
func todo(r *Record) string {
	_, err := time.Parse(time.RFC3339, r.At)
	switch {
	case !strings.HasPrefix(r.Key, TodoKey("")):
		return "it names no entry"
	case !slices.Contains([]string{"add", "done", "undone"}, r.Outcome):
		return fmt.Sprintf("an entry cannot be %q", r.Outcome)
	case r.Outcome == "add" && r.Note == "":
		return "its text is empty"
	case err != nil:
		return "it has no time"
	}
	return ""
}

// Ended reports whether a person has ended the item without a post.
func (s *Standing) Ended() bool {
	return !s.Claimed && s.Decision != nil && (s.Decision.Kind == Dismiss || s.Decision.Kind == Cancel)
}

// reopen applies a decision to begin anew what was dismissed, was cancelled or has expired.
func (s *State) reopen(r *Record) string {
	st := s.standing[r.Key]
	switch {
	case st == nil || r.Cycle != st.Cycle || !st.Ended() && !st.Expired():
		return "it was not dismissed, nor cancelled, and has not expired"
	case r.DraftSHA256 != "":
		return "it names a draft"
	}
	if _, err := time.Parse(time.RFC3339, r.At); err != nil {
		return "it has no time"
	}
	s.replace(r, &Standing{Key: r.Key, Cycle: r.Cycle, Decision: r})
	return ""
}

// undo takes back an approval, or the expiry of an offer. The other decisions take effect at once
// and cannot be undone.
func (s *State) undo(r *Record) string {
	if st := s.standing[r.Key]; st != nil && st.Expired() && !st.Claimed && !r.expires() &&
		r.ID() == st.Offer.ID() {
		st.Void, st.VoidAt = "", "" // its waiting time starts again
		return ""
	}
	st, why := s.unclaimed(r)
	const none = "no such decision"
	switch {
	case why != "":
		return why
	case r.Cycle != st.Cycle:
		return none
	case st.Decision == nil && r.DraftSHA256 == "" && st.unvote(r.By):
		st.given = nil
		return ""
	}
	meant := st.Decision != nil && (r.DraftSHA256 == "" || r.DraftSHA256 == st.Decision.DraftSHA256)
	if r.expires() {
		st.given = slices.DeleteFunc(st.given, func(v *Record) bool { return v.Kind == Auto })
	}
	switch {
	case meant && !st.Decision.Posts():
		return fmt.Sprintf("a %s has been acted upon", st.Decision.Kind)
	case meant && r.expires() && st.Decision.Kind != Auto:
		return "a person has said so"
	case meant && r.expires():
		st.Decision = nil
		return ""
	case !meant && (r.expires() || r.DraftSHA256 != "" && st.approval(r.ID()) == nil):
		return none
	}
	if st.Decision, st.Votes, st.given = nil, nil, nil; !meant {
		return none // it was the decision if fewer approvals were needed then
	}
	return ""
}

// settle checks a decision on a post that has a claim. Whether the post is parked, and since which
// try, is known to the outbox.
func (s *State) settle(r *Record) string {
	switch {
	case s.claims[r.ID()] == nil:
		return "no such post is under way"
	case r.Outcome != SettlePosted && r.Outcome != SettleRetry && r.Outcome != SettleDrop:
		return fmt.Sprintf("there is no outcome %q", r.Outcome)
	case r.Post == "":
		return "it names no post"
	}
	return ""
}
