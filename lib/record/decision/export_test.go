package decision

import "time"

// Resolve folds a whole log. An offer that expired without a decision is void.
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
