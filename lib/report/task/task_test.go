package task

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func view(t *testing.T) *View {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return &View{Home: h, Now: func() time.Time { return noon }}
}

func (v *View) put(t *testing.T, th thread.Thread) {
	t.Helper()
	if err := th.Save(v.Home); err != nil {
		t.Fatal(err)
	}
}

// TestStates: each state of an item, as the state of a task.
func TestStates(t *testing.T) {
	id, at, text := "i-1", "2026-01-02T11:00:00Z", "five"
	for _, tt := range []struct {
		name  string
		t     thread.Thread
		state string
	}{
		{"its run has not begun", thread.Thread{Status: thread.Investigating, InvestigatorTaskID: &id},
			Pending},
		{"bounced", thread.Thread{Status: thread.BouncedRound1, InvestigatorTaskID: &id}, Pending},
		{"a draft waits", thread.Thread{Status: thread.PendingUser, DraftPending: &text,
			Badge: "quotes checked"}, Waiting},
		{"approved", thread.Thread{Status: thread.PendingUser, DraftPending: &text, UserApprovedAt: &at},
			Waiting},
		{"asks the operator", thread.Thread{Status: thread.PendingUser, Asked: "which?"}, Waiting},
		{"nothing found", thread.Thread{Status: thread.PendingUser, Badge: "nothing found"}, Failed},
		{"no budget", thread.Thread{Status: thread.PendingUser, Badge: "budget spent",
			InvestigatorTaskID: &id}, Paused},
		{"answered", thread.Thread{Status: thread.Closed, PostedMessageID: &id, CloseReason: "answered"},
			Completed},
		{"withdrawn", thread.Thread{Status: thread.Closed, CloseReason: "the asker withdrew the question"},
			Cancelled},
		{"deleted", thread.Thread{Status: thread.Closed, CloseReason: thread.Gone}, Cancelled},
		{"dismissed", thread.Thread{Status: thread.Closed, CloseReason: "dismissed: no"}, Rejected},
		{"expired", thread.Thread{Status: thread.Closed, CloseReason: decision.ExpiredNote}, Failed},
	} {
		v := view(t)
		tt.t.Key = "local.dev.1"
		v.put(t, tt.t)
		tasks, err := v.All(true)
		if err != nil || len(tasks) != 1 || tasks[0].State != tt.state {
			t.Errorf("%s: %v, %+v, want %s", tt.name, err, tasks, tt.state)
		}
	}
}

// stream writes a run that works now, with a tool call every 100 ms.
func (v *View) stream(t *testing.T, id string, calls int) {
	t.Helper()
	dir := v.Home.Path(run.Folder(v.Home, id))
	if err := os.MkdirAll(filepath.Join(dir, "raw"), 0o700); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range calls {
		fmt.Fprintf(&lines, `{"at":%q,"kind":"tool","tool":"Read","text":"file%d.go"}`+"\n",
			noon.Add(time.Duration(i)*100*time.Millisecond).Format(time.RFC3339Nano), i)
	}
	if err := os.WriteFile(filepath.Join(dir, run.StreamName), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run.Update(dir, func(s *run.State) {
		s.Status, s.Owner, s.Doing = run.Active, run.ProcessOf(os.Getpid()), "Read x"
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestProgress: of 100 tool calls in 10 s, two steps are shown, the last one current.
func TestProgress(t *testing.T) {
	v, id := view(t), "i-1"
	v.stream(t, id, 100)
	v.put(t, thread.Thread{
		Key: "local.dev.1", Status: thread.Investigating, InvestigatorTaskID: &id,
		StatusHistory: []thread.Change{{At: noon.Add(-time.Second).Format(time.RFC3339),
			To: thread.Investigating, Why: "asked"}},
	})
	task, err := v.Show("local.dev.1")
	if err != nil || task.State != Running || task.Doing != "Read x" {
		t.Fatalf("%v, %+v", err, task)
	}
	var got []string
	for _, p := range task.ProgressEvents {
		got = append(got, p.Kind+" "+p.Data)
	}
	if want := "milestone investigating: asked; tool_call Read file49.go; tool_call Read file99.go"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
	got = nil
	if err := v.Tail(context.Background(), "local.dev.1", true, func(p Progress) error {
		got = append(got, p.Data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "investigating: asked; Read file49.go; Read file99.go"; strings.Join(got, "; ") != want {
		t.Errorf("tail: %s, want %s", strings.Join(got, "; "), want)
	}
}

// TestClockSetBack: steps are shown as before after the clock was set back by an hour.
func TestClockSetBack(t *testing.T) {
	var s steps
	var got []string
	for i, at := range []time.Duration{0, time.Second, 6 * time.Second, 6*time.Second - time.Hour,
		12*time.Second - time.Hour, 30*time.Second - time.Hour} {
		p := Progress{At: noon.Add(at).Format(time.RFC3339Nano), Data: fmt.Sprint(i)}
		for _, p := range s.add(nil, p) {
			got = append(got, p.Data)
		}
	}
	if want := "1 2 3 4"; strings.Join(got, " ") != want {
		t.Errorf("shown %q, want %s", got, want)
	}
}

// TestHeld: a run whose agent works elsewhere, as a fix does, is running while its lock is held.
func TestHeld(t *testing.T) {
	v, id := view(t), "i-1"
	v.put(t, thread.Thread{Key: "local.dev.1", Status: thread.Investigating, InvestigatorTaskID: &id})
	own, err := run.Begin(v.Home, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{Running, Pending} {
		if task, err := v.Find("local.dev.1"); err != nil || task.State != want {
			t.Errorf("%v, %+v, want %s", err, task, want)
		}
		if err := own.End(); err != nil && want == Running {
			t.Fatal(err)
		}
	}
}

// TestDead: a run whose process is gone is not shown as running.
func TestDead(t *testing.T) {
	v, id := view(t), "i-1"
	v.stream(t, id, 1)
	if err := run.Update(v.Home.Path(run.Folder(v.Home, id)), func(s *run.State) {
		s.Owner = run.Process{PID: 1 << 30, Start: 1}
	}); err != nil {
		t.Fatal(err)
	}
	v.put(t, thread.Thread{Key: "local.dev.1", Status: thread.Investigating, InvestigatorTaskID: &id})
	if task, err := v.Find("local.dev.1"); err != nil || task.State != Pending {
		t.Errorf("%v, %+v", err, task)
	}
}

func TestFind(t *testing.T) {
	v := view(t)
	for i, status := range []string{thread.PendingUser, thread.PendingUser, thread.Closed} {
		th := thread.Thread{Key: fmt.Sprintf("local.dev.%d", i), Status: status,
			Messages: []thread.Message{{MessageID: fmt.Sprintf("m%d", i), Content: "x\x1b[31m\u202e"}}}
		if status == thread.Closed {
			th.ClosedAt = new("2026-01-02T11:00:00Z")
		}
		v.put(t, th)
	}
	for name, want := range map[string]string{
		"local.dev.1": "local.dev.1", "m2": "local.dev.2", thread.UUID("local.dev.0"): "local.dev.0",
		thread.UUID("local.dev.2")[:3]: "local.dev.2",
		thread.UUID("local.dev.2")[:2]: "there is no task",
		"local":                        "names 2 tasks", "": "there is no task", "zz": "there is no task",
	} {
		task, err := v.Find(name)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && task.TaskID != want {
			t.Errorf("%q: %+v, %v, want %s", name, task, err, want)
		}
	}
	var b strings.Builder
	tasks, err := v.All(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := PrintList(&b, tasks, noon); err != nil || strings.ContainsAny(b.String(), "\x1b\u202e") ||
		strings.Count(b.String(), "\n") != 3 {
		t.Errorf("%v %q", err, b.String())
	}
	for _, task := range tasks {
		b.Reset()
		if err := task.Print(&b, noon); err != nil || strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%v %q", err, b.String())
		}
		if _, err := json.Marshal(task); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreadable: an item that cannot be read does not hide the others, nor keep them from being cancelled.
func TestUnreadable(t *testing.T) {
	v := view(t)
	v.put(t, thread.Thread{Key: "local.dev.1", Status: thread.PendingUser})
	if err := v.Home.Replace("open/local.dev.2.json", []byte("{")); err != nil {
		t.Fatal(err)
	}
	tasks, err := v.All(true)
	if err == nil || len(tasks) != 1 {
		t.Fatalf("%v, %d tasks", err, len(tasks))
	}
	for name, found := range map[string]bool{"local.dev.1": true, "local.dev.2": false,
		tasks[0].ID(): true, tasks[0].UUID[:3]: false} {
		if task, err := v.Find(name); (err == nil) != found || found && task.TaskID != "local.dev.1" {
			t.Errorf("%q: %+v, %v", name, task, err)
		}
	}
}
