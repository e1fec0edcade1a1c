package decision

import "time"

// AutoLasts is how long an automatic approval is valid unless it is claimed. A late automatic
// reply is unwelcome: one that could not be posted in this time waits for a person. It is longer
// than any grace time.
const AutoLasts = 10 * time.Minute

// Dispatcher is the author of an automatic approval, via ViaPolicy.
const (
	Dispatcher = "tri-dispatch"
	ViaPolicy  = "policy"
)

// expires reports whether the policy undoes its own approval, which is always allowed.
func (r *Record) expires() bool { return r.Kind == Undo && r.By == Dispatcher && r.Via == ViaPolicy }

// overrules reports whether r replaces an existing decision: a person's decision replaces one of
// the policy, and a refusal an approval.
func overrules(r, standing *Record) bool {
	return standing.Kind == Auto && r.Kind != Auto || standing.Posts() && !r.Posts()
}

// Automatic reports whether the decision in force is the policy's.
func (s *Standing) Automatic() bool {
	return s.Decision != nil && s.Decision.Kind == Auto && s.Void == ""
}

// Lapsed reports whether the policy's approval is no longer valid.
func (s *Standing) Lapsed(now time.Time) bool {
	if !s.Automatic() || s.Claimed {
		return false
	}
	at, err := time.Parse(time.RFC3339, s.Decision.At)
	return err != nil || now.Sub(at) > AutoLasts
}

// late reports whether an approval has lapsed at the time of a record.
func late(yes *Record, at string) bool {
	t, err := time.Parse(time.RFC3339, at)
	st := Standing{Decision: yes}
	return yes.Kind == Auto && (err != nil || st.Lapsed(t))
}
