package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/decision"
)

// PrintIDs writes the ids of the open tasks, one a line.
func (v *View) PrintIDs(w io.Writer) error {
	tasks, err := v.All(false)
	for _, t := range tasks {
		_, failed := io.WriteString(w, t.ID()+"\n")
		err = errors.Join(err, sysexit.With(sysexit.IO, failed))
	}
	return err
}

// maxSpec is how many characters of what the asker said a list shows at most.
const maxSpec = 160

// PrintList writes a line for each task, cut to the terminal: id, state, age, chat, asker, question, and what
// it does or waits for.
func PrintList(w io.Writer, tasks []*Task, now time.Time) error {
	var rows [][]string
	for _, t := range tasks {
		note := t.Why
		if t.State == Running && t.Doing != "" {
			note = t.Doing
		}
		mark := ""
		if t.Parent != nil {
			mark = "beside: "
		}
		rows = append(rows, []string{
			t.ID(), t.State, term.Age(text.ParseTime(t.StartedAt), now), text.Line(t.ChatName, 16),
			text.Line(t.Who, 16),
			text.Line(note, 40), mark + text.Line(t.Spec, maxSpec),
		})
	}
	width := 0
	if term.Is(w) {
		width = term.Width(w)
	}
	return sysexit.With(sysexit.IO, term.Columns(w, rows, width))
}

// Print writes a task as text.
func (t *Task) Print(w io.Writer, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", t.ID(), t.State)
	if t.Why != "" {
		fmt.Fprintf(&b, ": %s", text.Line(t.Why, 0))
	}
	fmt.Fprintf(&b, "\n%s asked in %s (%s), %s ago; %s\n", text.Line(t.Who, 0), text.Line(t.ChatName, 0),
		text.Line(t.Platform, 0),
		term.Age(text.ParseTime(t.StartedAt), now), text.Line(t.TaskID, 0))
	if t.Parent != nil {
		fmt.Fprintf(&b, "beside %s\n", text.Line(*t.Parent, 0))
	}
	b.WriteString(indented(t.Spec))
	for i, n := range slices.Concat(t.thread.Notes, t.thread.PendingNotes) {
		state := ""
		if i >= len(t.thread.Notes) {
			state = ", not answered yet"
		}
		fmt.Fprintf(&b, "%s%s: %s\n", text.Line(n.By, 0), state, text.Line(n.Text, 0))
	}
	if n := len(t.Waits); n > 0 {
		fmt.Fprintf(&b, "waiting for the next round: %s\n", text.Line(strings.Join(t.Waits, ", "), 0))
	}
	if t.CancellationToken != nil {
		fmt.Fprintf(&b, "run %s", *t.CancellationToken)
		if t.Doing != "" {
			fmt.Fprintf(&b, ": %s", text.Line(t.Doing, 0))
		}
		b.WriteByte('\n')
	}
	if t.CostUSD != nil {
		fmt.Fprintf(&b, "cost $%.2f\n", *t.CostUSD)
	}
	for _, p := range t.ProgressEvents {
		b.WriteString(p.line())
	}
	if t.Result != nil {
		b.WriteString("\n" + indented(*t.Result))
	}
	_, err := io.WriteString(w, b.String())
	return sysexit.With(sysexit.IO, err)
}

func indented(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text.Visible(s), "\n"), "\n", "\n    ") + "\n"
}

func (p *Progress) line() string {
	clock := "?"
	if at := text.ParseTime(p.At); !at.IsZero() {
		clock = at.UTC().Format("15:04:05")
	}
	return fmt.Sprintf("%s  %-9s  %s\n", clock, p.Kind, text.Line(p.Data, 200))
}

// Show returns the task that name identifies, with its progress.
func (v *View) Show(name string) (*Task, error) {
	t, err := v.Find(name)
	if err != nil {
		return nil, err
	}
	t.ProgressEvents, err = v.progress(t)
	return t, err
}

// Find returns the one task that name identifies: by its UUID, its key or the id of its
// draft in tri-approve, or a prefix of one of at least three characters, or by the id of one of its
// messages. Open tasks come before closed ones.
func (v *View) Find(name string) (*Task, error) {
	tasks, err := v.All(true)
	var found []*Task
	for _, closed := range []bool{false, true} {
		for _, t := range tasks {
			switch {
			case t.TaskID == name || t.UUID == name:
				return t, nil
			case (t.EndedAt != nil) == closed && t.named(name):
				found = append(found, t)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch {
	case len(found) == 1 && (err == nil || len(name) >= idLength):
		return found[0], nil // an unreadable item does not keep the others from being cancelled
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, sysexit.Hint(sysexit.With(sysexit.No, fmt.Errorf("there is no task %q", name)),
			"tri-task list --all lists all")
	}
	var names []string
	for _, t := range found[:min(len(found), 8)] {
		names = append(names, t.ID()+" ("+t.TaskID+")")
	}
	err = sysexit.With(sysexit.Usage, fmt.Errorf("%q names %d tasks: %s", name, len(found),
		strings.Join(names, ", ")))
	return nil, sysexit.Hint(err, "give more of one of them")
}

func (t *Task) named(name string) bool {
	if text.Names(name, t.UUID) || text.Names(name, t.TaskID) {
		return true
	}
	if th := t.thread; th.DraftPending != nil && text.Names(name,
		decision.Name(th.Key, th.Cycle, th.DraftSHA256, "")) {
		return true
	}
	for _, id := range t.MessageIDs {
		if id == name && !t.thread.ByOperator() { // that one's are of the task that it is beside
			return true
		}
	}
	return false
}

// poll is how often Tail looks for more.
const poll = 200 * time.Millisecond

// Tail passes the steps of a task to fn, those of its past and then each as it is observed, until no run of
// it is due, or once, or until ctx ends. Of the steps of a run one in five seconds is passed, the last.
func (v *View) Tail(ctx context.Context, name string, once bool, fn func(Progress) error) error {
	t, err := v.Find(name)
	if err != nil {
		return err
	}
	key, seen, at, id := t.TaskID, 0, int64(0), ""
	var s steps
	for {
		var all []Progress
		if now := t.run(); now != id {
			all, id, at = s.flush(all), now, 0
		}
		for _, c := range t.thread.StatusHistory[min(seen, len(t.thread.StatusHistory)):] {
			all = append(all, Progress{At: c.At, Kind: Milestone, Data: moved(c.From, c.To, c.Why)})
		}
		seen = len(t.thread.StatusHistory)
		if id != "" {
			if all, at, err = v.read(all, &s, id, at); err != nil {
				return err
			}
		}
		rests := t.State != Pending && t.State != Running
		if rests || once || s.held != nil && v.Now().After(s.until) {
			all = s.flush(all)
		}
		for _, p := range all {
			if err := fn(p); err != nil {
				return err
			}
		}
		if rests || once {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(poll):
		}
		if t, err = v.again(key); err != nil {
			return err
		}
	}
}

// PrintSteps returns a function for Tail that writes each step as a line of text, or of JSON.
func PrintSteps(w io.Writer, asJSON bool) func(Progress) error {
	return func(p Progress) error {
		if asJSON {
			return ndjson.Write(w, p)
		}
		_, err := io.WriteString(w, p.line())
		return sysexit.With(sysexit.IO, err)
	}
}
