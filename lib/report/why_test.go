package report

import (
	"testing"

	"tri/lib/record/event"
)

// TestDeliveredAgain: the latest version of a message is the one that was made last, not the one that came
// last.
func TestDeliveredAgain(t *testing.T) {
	first := event.Event{MessageID: "1", Content: "why?", CreateTime: at(0)}
	edit, gone := first, first
	edit.Content, edit.EditedAt = "why not?", at(1)
	gone.Content, gone.EditedAt, gone.EditID, gone.Deleted = "", at(2), "deleted", true
	for _, tt := range []struct {
		came          []event.Event
		content, what string
	}{
		{[]event.Event{first, edit, gone}, "why not?", "deleted"},
		{[]event.Event{edit, first}, "why not?", "edited"},
		{[]event.Event{gone, first, edit}, "why not?", "deleted"},
	} {
		f, s := new(found), new(Story)
		for _, e := range tt.came {
			f.events = append(f.events, event.Classified{Event: e})
		}
		s.seen(f, same)
		if last := s.Events[len(s.Events)-1]; s.Content != tt.content || last.What != tt.what {
			t.Errorf("%+v: %q, %s; want %q, %s", tt.came, s.Content, last.What, tt.content, tt.what)
		}
	}
}
