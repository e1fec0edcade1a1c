package decision

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tri/lib/base/text"
	"tri/lib/record/notice"
)

// formKey is the key of a form's records, which are about no thread.
const formKey = "notice."

// FormKey returns the Key of the records that approve or retract a form.
func FormKey(form string) string { return formKey + form }

// NoticeKey returns the Key of one notice: that of its item, the form, and the record that asks for it.
func NoticeKey(of, form, by string) string {
	return formKey + form + "." + Sum(of + "\x00" + form + "\x00" + by)[:32]
}

// form is the approval of a form's exact text.
type form struct {
	text string
	by   map[string]bool // who has approved it; false: today's policy does not let them
}

// forms are the approved forms and the notices made of them: part of State.
type forms struct {
	known  map[string]*form
	asked  map[string][]time.Time // notices, by item
	latest map[string]time.Time   // notice, by chat
}

// Form returns the text of a form that is approved, and by whom; "" if it is not.
func (s *State) Form(name string) (text string, by []string) {
	f := s.forms.known[name]
	if f == nil {
		return "", nil
	}
	for person, allowed := range f.by {
		if allowed {
			by = append(by, person)
		}
	}
	if len(by) < max(1, s.quorum) {
		return "", nil
	}
	slices.Sort(by)
	return f.text, by
}

// mayCover is Covers under every policy of the past.
func (s *State) mayCover(r *Record) bool {
	f := s.forms.known[r.Form]
	return f != nil && renders(f.text, r)
}

// FormNames returns the names of the forms that people have approved, in order.
func (s *State) FormNames() []string { return slices.Sorted(maps.Keys(s.forms.known)) }

// Covers reports whether the text of a notice is one that its form gives now, byte for byte.
func (s *State) Covers(r *Record) bool {
	text, _ := s.Form(r.Form)
	return text != "" && renders(text, r)
}

func renders(form string, r *Record) bool {
	if r.Holes == nil {
		return false
	}
	text, err := notice.Render(form, *r.Holes)
	return err == nil && text == r.Text && Sum(r.Text) == r.DraftSHA256
}

// approveForm applies a person's approval of a form. allowed says whether today's policy lets them.
func (s *State) approveForm(r *Record, allowed bool) string {
	switch err := notice.Check(r.Form, r.Text); {
	case err != nil:
		return err.Error()
	case r.Key != FormKey(r.Form):
		return "it is of another form"
	case Sum(r.Text) != r.DraftSHA256:
		return "its hash is not that of its text"
	}
	f := s.forms.known[r.Form]
	if f == nil || f.text != r.Text {
		f = &form{text: r.Text, by: map[string]bool{}}
		s.forms.known[r.Form] = f
	}
	f.by[r.By] = allowed
	return ""
}

func (s *State) retract(r *Record) string {
	if r.Key != FormKey(r.Form) || s.forms.known[r.Form] == nil {
		return "no such form is approved"
	}
	delete(s.forms.known, r.Form)
	return ""
}

// notify applies a request to post a notice. What its form covers is decided, without a further person.
func (s *State) notify(r *Record) string {
	at, err := time.Parse(time.RFC3339, r.At)
	sure := s.Covers(r)
	switch {
	case r.By != Dispatcher || r.Via != "code":
		return "only tri-dispatch asks for a notice"
	case !s.mayCover(r):
		return "no approved form gives this text"
	case r.Target == nil || r.Of == "" || err != nil:
		return "it has no place, item or time"
	case s.standing[r.Key] != nil:
		return "it was asked for before"
	}
	if s.TooMany(r.Of, r.Target, at) {
		return "too many notices"
	}
	s.forms.asked[r.Of] = append(s.forms.asked[r.Of], at)
	s.forms.latest[r.Target.Platform+" "+r.Target.ChatID] = at
	st := &Standing{Key: r.Key, Cycle: r.Cycle, Offer: r}
	if sure {
		_, st.formBy = s.Form(r.Form)
		st.Decision = r
	} else {
		st.given = []*Record{r} // a claim shows that its form was approved when it was claimed
	}
	s.standing[r.Key] = st
	return ""
}

// TooMany reports whether a further notice for an item would exceed the limits.
func (s *State) TooMany(of string, in *Target, at time.Time) bool {
	recent := 0
	for _, t := range s.forms.asked[of] {
		if at.Sub(t) < notice.PerSpan {
			recent++
		}
	}
	last, ok := s.forms.latest[in.Platform+" "+in.ChatID]
	return recent >= notice.PerItem || ok && at.Sub(last) < notice.ChatRest
}

// unfit says why a notice is not to be claimed at a time.
func (s *State) unfit(st *Standing, at string) string {
	r := st.Offer
	if r == nil || r.Kind != Notify {
		return ""
	}
	asked, _ := time.Parse(time.RFC3339, r.At) // checked when it was added
	now, err := time.Parse(time.RFC3339, at)
	switch of := s.standing[r.Of]; {
	case !s.mayCover(r):
		return fmt.Sprintf("the form %q was taken back", r.Form)
	case err != nil || now.Sub(asked) > notice.Lifetime:
		return "the notice is too old"
	case of != nil && of.Claimed && of.Cycle >= r.Cycle:
		return "the answer is being posted, or has been"
	}
	return ""
}

// Unfit says why a notice is not to be posted, "" if it may be.
func (s *State) Unfit(st *Standing, now time.Time) string {
	if why := s.unfit(st, text.Timestamp(now)); why != "" {
		return why
	}
	if st.Offer != nil && st.Offer.Kind == Notify && !s.Covers(st.Offer) {
		return fmt.Sprintf("the form %q is not approved", st.Offer.Form)
	}
	return ""
}
