package investigate

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// sessions is an agent whose sessions are the files of its HOME.
type sessions struct {
	fake
	can   bool
	tasks []agent.Task
}

func (s *sessions) Capabilities() agent.Capabilities { return agent.Capabilities{Resumes: s.can} }

func (s *sessions) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	s.tasks = append(s.tasks, t)
	name := filepath.Join(t.Dir, "home", t.SessionID)
	if _, err := os.Stat(name); t.Resume && err != nil {
		return agent.Result{}, agent.ErrNoResume
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return agent.Result{}, err
	}
	if err := os.WriteFile(name, []byte(t.Prompt), 0o600); err != nil {
		return agent.Result{}, err
	}
	return s.fake.Run(ctx, t)
}

// TestContinues: the next cycle continues in the session of the run before. If the agent cannot, or the
// session is gone, a new one is told the earlier answer and the lines that it cited, if they are unchanged.
func TestContinues(t *testing.T) {
	for _, tt := range []struct {
		name            string
		can, gone, edit bool
		want            string // resume and new sessions, in order
		told, notTold   string
	}{
		{"in the session", true, false, false, "R", "more to it", "an earlier answer"},
		{"an agent without sessions", false, false, false, "N", "lines that were read for it", ""},
		{"a session that is gone", true, true, false, "RN", "MaxRetries is 5.", ""},
		{"and lines that have changed", false, false, true, "N", "MaxRetries is 5.",
			"lines that were read for it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := durable.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			code, a := codebase(t), &sessions{fake: fake{value: forged}, can: tt.can}
			i, th := newInvestigator(t, a), question("how many retries?")
			th.Cycle, th.InvestigatorRound = 1, 1
			one := investigateOnce(t, h, i, th, code)
			th.Resume = &thread.Resume{RunID: one, SessionID: "s1", Cycle: 1}
			if tt.gone {
				if err := os.RemoveAll(h.Path("runs/" + one + "/home")); err != nil {
					t.Fatal(err)
				}
			}
			if tt.edit {
				if err := os.WriteFile(filepath.Join(code, "retry.go"),
					[]byte("package pay\n\nconst MaxRetries = 6\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			th.Cycle, th.Messages = 2, append(th.Messages,
				thread.Message{MessageID: "2", SenderID: "ana", Content: "and on staging?"})
			a.tasks = nil
			investigateOnce(t, h, i, th, code)
			got := ""
			for _, task := range a.tasks {
				if got += map[bool]string{true: "R",
					false: "N"}[task.Resume]; task.Resume != (task.SessionID == "s1") {
					t.Errorf("session %q, resumed %v", task.SessionID, task.Resume)
				}
			}
			last := a.tasks[len(a.tasks)-1].Prompt
			if got != tt.want || !strings.Contains(last, tt.told) ||
				tt.notTold != "" && strings.Contains(last, tt.notTold) ||
				!strings.Contains(last, "and on staging?") || !strings.Contains(last, "how many retries?") {
				t.Errorf("%s, want %s; prompt:\n%s", got, tt.want, last)
			}
		})
	}
}

// investigateOnce does a thread's round and publishes its result. It returns the run's id.
func investigateOnce(t *testing.T, h *durable.Home, i *Investigator, th *thread.Thread, code string) string {
	t.Helper()
	id := run.ID(run.Investigate, th.Key, th.Cycle, 1)
	r, err := run.Begin(h, id)
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := Continues(h, th)
	if err != nil {
		t.Fatal(err)
	}
	ret, err := i.Run(context.Background(), Request{
		Thread: th, Codebase: code, RunDir: r.Dir(), SessionID: map[int]string{1: "s1", 2: "s2"}[th.Cycle],
		Earlier: earlier,
	})
	if err != nil {
		t.Fatal(err)
	}
	value, err := json.Marshal(ret)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Publish(run.Result{RunID: id, Status: run.Done, Value: value}); err != nil {
		t.Fatal(err)
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return id
}
