// Package task is the view of all work: an item of tri-dispatch with its run as a task, with a state, steps,
// a result and what it cost. It is stored nowhere.
package task

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/report/history"
)

// States of a task.
const (
	Pending   = "pending"   // a run is due and has not begun, or its asker is asked first
	Running   = "running"   // a process works on it
	Paused    = "paused"    // it waits for budget
	Waiting   = "waiting"   // a person must decide
	Completed = "completed" // answered
	Failed    = "failed"    // nothing to post came of it
	Cancelled = "cancelled" // withdrawn by its asker, or ended by an operator
	Rejected  = "rejected"  // an operator wants nothing posted
)

// Task is an item as a task. Times are RFC 3339.
type Task struct {
	TaskID string `json:"task_id"` // the item's key
	// UUID identifies the item in a fixed length: RFC 9562, version 8, of the key's SHA-256.
	UUID     string  `json:"uuid"`
	State    string  `json:"state"`
	Why      string  `json:"why,omitempty"` // the last step's reason, or what is missing
	Platform string  `json:"platform"`
	ChatName string  `json:"chat_name"`
	Who      string  `json:"who"`
	Spec     string  `json:"spec"` // what the asker said, a message a line; untrusted
	Type     string  `json:"question_type"`
	Parent   *string `json:"parent"` // task_id of the asker's own item that it is beside

	MessageIDs       []string `json:"message_ids"`         // that it answers
	Waits            []string `json:"pending_message_ids"` // that came during the round
	UserContextSlice []string `json:"user_context_slice"`  // ids of the messages around them

	StartedAt string  `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
	// CancellationToken is the id of the run that a cancel ends, null if none is due. It is not a
	// secret: who may cancel is a matter of team.approvers.
	CancellationToken *string    `json:"cancellation_token"`
	Doing             string     `json:"doing,omitempty"` // the agent's last observed action; untrusted
	ProgressEvents    []Progress `json:"progress_events"`
	Result            *string    `json:"result"`   // the draft, or the posted text
	CostUSD           *float64   `json:"cost_usd"` // of the ended runs; null: not reported

	thread *thread.Thread
}

// View reads the tasks of a home.
type View struct {
	Home   *durable.Home
	Policy decision.Policy
	Now    func() time.Time
}

// idLength is how many characters of the UUID a list shows.
const idLength = 8

// ID returns the start of the task's UUID, as a list shows it.
func (t *Task) ID() string { return t.UUID[:idLength] }

// Thread returns the item.
func (t *Task) Thread() *thread.Thread { return t.thread }

// All returns the open tasks, with closed also the others, oldest first. An unreadable item does not hide the
// others: its error is joined to the result's.
func (v *View) All(closed bool) ([]*Task, error) {
	ledger, err := history.Read(v.Home, v.Policy, time.Time{}, v.Now())
	if err != nil {
		return nil, err
	}
	costs := costOf(ledger)
	var tasks []*Task
	var errs []error
	add := func(t *thread.Thread, err error) {
		if err == nil && t != nil {
			var task *Task
			if task, err = v.of(t, costs[t.Key]); err == nil {
				tasks = append(tasks, task)
			}
		}
		errs = append(errs, err)
	}
	for t, err := range thread.Open(v.Home) {
		add(t, err)
	}
	if closed {
		for file, err := range thread.Files(v.Home) {
			if errs = append(errs, err); err != nil || strings.HasPrefix(file, "open/") {
				continue
			}
			t, err := thread.LoadFile(v.Home, file)
			if t == nil || !slices.ContainsFunc(tasks, func(o *Task) bool { return o.TaskID == t.Key }) {
				add(t, err)
			}
		}
	}
	slices.SortStableFunc(tasks, func(a, b *Task) int {
		return cmp.Or(text.ParseTime(a.StartedAt).Compare(text.ParseTime(b.StartedAt)),
			strings.Compare(a.TaskID, b.TaskID))
	})
	return tasks, errors.Join(errs...)
}

// costOf sums the reported cost of the runs of each item.
func costOf(l *history.Ledger) map[string]*float64 {
	costs := map[string]*float64{}
	for _, r := range l.Runs {
		if r.CostUSD == nil {
			continue
		}
		if costs[r.Key] == nil {
			costs[r.Key] = new(float64)
		}
		*costs[r.Key] += *r.CostUSD
	}
	return costs
}

// of returns an item as a task.
func (v *View) of(t *thread.Thread, cost *float64) (*Task, error) {
	task := &Task{
		TaskID: t.Key, UUID: thread.UUID(t.Key), Platform: t.Platform, ChatName: t.ChatName,
		Type: t.QuestionType,
		Who:  cmp.Or(t.OriginalSenderName, t.OriginalSenderID), StartedAt: t.StartedAt, EndedAt: t.ClosedAt,
		CostUSD:    cost,
		MessageIDs: []string{}, Waits: append([]string{}, t.PendingMessageIDs...),
		UserContextSlice: []string{}, ProgressEvents: []Progress{},
		Result: t.DraftPending, thread: t,
	}
	if t.Parent != "" {
		task.Parent = &t.Parent
	}
	var said []string
	for _, m := range slices.Concat(t.Messages, t.Pending) {
		if t.ByOperator() && m.Before {
			continue // the parent's
		}
		said = append(said, m.Content)
	}
	task.Spec = strings.Join(said, "\n")
	for _, m := range t.Messages {
		if m.MessageID != "" {
			task.MessageIDs = append(task.MessageIDs, m.MessageID)
		}
	}
	for _, m := range t.Context {
		task.UserContextSlice = append(task.UserContextSlice, m.MessageID)
	}
	task.State, task.Why = state(t)
	if task.State != Pending {
		return task, nil
	}
	return task, v.running(task)
}

// state returns the state of an item as far as its record tells, and the reason. Whether the run that is due
// has begun is not in it.
func state(t *thread.Thread) (state, why string) {
	if n := len(t.StatusHistory); n > 1 || t.Parent != "" { // the first is: it was asked
		why = t.StatusHistory[n-1].Why
	}
	switch broke, _ := t.Broke(); {
	case t.Status == thread.Closed:
		return ended(t), t.CloseReason
	case t.Status != thread.PendingUser:
		return Pending, why
	case broke != "":
		return Paused, t.InvestigatorError
	case t.UserApprovedAt != nil:
		return Waiting, "approved; it is being posted"
	case t.Asked != "":
		return Waiting, "asks the operator: " + t.Asked
	case t.ClarifyQuestion != nil && (t.ClarifyMessageID == "" || t.AwaitsAsker()):
		return Pending, t.Badge
	case t.DraftPending == nil:
		return Failed, cmp.Or(t.InvestigatorError, why)
	}
	return Waiting, cmp.Or(t.Badge, why)
}

func ended(t *thread.Thread) string {
	switch {
	case t.PostedMessageID != nil || t.IsNoted():
		return Completed
	case t.Withdrawn():
		return Cancelled
	case t.Dismissed():
		return Rejected
	}
	return Failed
}

// running completes a task whose run is due by what the run's folder shows.
func (v *View) running(task *Task) error {
	t := task.thread
	id := t.InvestigatorTaskID
	if t.Status == thread.AwaitingValidation {
		id = t.ValidatorTaskID
	}
	if id == nil {
		return nil
	}
	task.CancellationToken = id
	dir := run.Folder(v.Home, *id)
	s, err := run.LoadState(v.Home.Path(dir))
	if errors.Is(err, fs.ErrNotExist) { // it has not begun, or its agent works in a box
		if v.Home.Exists(dir + "/lock") {
			held, err := run.Held(v.Home, *id)
			if held {
				task.State = Running
			}
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	if task.Doing = s.Doing; !s.Over() && s.Owner.Alive() {
		task.State = Running
	}
	return nil
}

// again reads a task anew, without its cost.
func (v *View) again(key string) (*Task, error) {
	t, err := thread.Load(v.Home, key)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, sysexit.With(sysexit.No, fmt.Errorf("task %q is gone", key))
	}
	return v.of(t, nil)
}
