package todo

import (
	"cmp"
	"fmt"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/notify"
)

// Signal is the id of the signal that shows a reminder, another one each time.
func (e *Entry) Signal() string {
	if e.before == 0 {
		return "due-" + e.ID
	}
	return fmt.Sprintf("due-%s-%d", e.ID, e.before)
}

// grace is how long a card may take.
const grace = 2 * time.Minute

// Missed returns why the open reminders whose time has come were not shown, by entry; none of the last two
// minutes.
func (l *List) Missed(h *durable.Home, now time.Time) (map[string]string, error) {
	done := map[string]notify.Done{}
	if _, err := notify.Told(h, 0, func(d notify.Done) error {
		done[d.ID] = d
		return nil
	}); err != nil {
		return nil, err
	}
	missed := map[string]string{}
	for _, e := range l.Open("") {
		at, err := time.Parse(time.RFC3339, e.Due)
		d := done[e.Signal()]
		switch {
		case err != nil || at.After(now.Add(-grace)) || d.Outcome == notify.Shown:
		case d.Outcome != "":
			missed[e.ID] = cmp.Or(d.Why, d.Outcome)
		case e.Told:
			missed[e.ID] = "tri-reply has not answered"
		default:
			missed[e.ID] = "no gate.chat, or tri-dispatch does not run"
		}
	}
	return missed, nil
}
