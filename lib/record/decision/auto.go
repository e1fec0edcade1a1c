package decision

import "time"

// AutoLasts is how long an automatic yes holds until it is claimed. A late
// automatic reply is unwelcome: what nobody could post in this time waits for a
// person. It is longer than any grace time.
const AutoLasts = 10 * time.Minute

// Dispatcher is who says an automatic yes, via Policy.
const (
	Dispatcher = "tri-dispatch"
	ViaPolicy  = "policy"
)

// lapse reports whether the policy takes its own yes back, which it always may.
func (r *Record) lapse() bool { return r.Kind == Undo && r.By == Dispatcher && r.Via == ViaPolicy }

// overrules reports whether a word counts although another stands: a person's does
// where the policy alone has spoken.
func overrules(r, standing *Record) bool { return standing.Kind == Auto && r.Kind != Auto }

// Automatic reports whether the policy's yes stands, and no person's.
func (s *Standing) Automatic() bool {
	return s.Decision != nil && s.Decision.Kind == Auto && s.Void == ""
}

// Lapsed reports whether the policy's yes holds no more.
func (s *Standing) Lapsed(now time.Time) bool {
	if !s.Automatic() || s.Claimed {
		return false
	}
	at, err := time.Parse(time.RFC3339, s.Decision.At)
	return err != nil || now.Sub(at) > AutoLasts
}

// late is Lapsed at the time of a record.
func (s *Standing) late(at string) bool {
	t, err := time.Parse(time.RFC3339, at)
	return s.Automatic() && (err != nil || s.Lapsed(t))
}
