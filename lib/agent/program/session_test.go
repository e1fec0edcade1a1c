package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/base/config"
	"tri/lib/base/sandbox"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// fake is a program whose process is a function.
func fake(run func(s proc.Spec) proc.Exit) *Program {
	return &Program{
		Name: "fake", Argv: []string{"fake"}, Sandbox: "off",
		run: func(_ context.Context, s proc.Spec) (proc.Exit, error) {
			s.Started(7)
			return run(s), nil
		},
	}
}

// says prints lines and ends well.
func says(lines ...string) func(proc.Spec) proc.Exit {
	return func(s proc.Spec) proc.Exit {
		for _, line := range lines {
			s.Line([]byte(line))
		}
		return proc.Exit{}
	}
}

func messages(Turn) (Call, error) {
	m := &Messages{Variables: "A_KEY"}
	return Call{Line: m.Line}, nil
}

func TestKinds(t *testing.T) {
	const api = `{"type":"result","subtype":"success","is_error":true,"api_error_status":500,"result":"no"}`
	const fine = `{"type":"result","subtype":"success","is_error":false,"result":"fine"}`
	for _, tt := range []struct {
		name, line string
		exit       proc.Exit
		want       string // "" is not a failure
	}{
		{"the kernel took its memory", "", proc.Exit{Status: 137, OOM: true}, agent.OOM},
		{"the kernel took a child's", "", proc.Exit{Status: 1, OOM: true}, agent.OOM},
		{"and what it says of that", api, proc.Exit{Status: 1, OOM: true}, agent.OOM},
		{"but it came to a result", fine, proc.Exit{OOM: true}, ""},
		{"its own memory was full", "", proc.Exit{Status: 134,
			Stderr: "FATAL ERROR: JavaScript heap out of memory"}, agent.OOM},
		{"it aborted", "", proc.Exit{Status: 134, Stderr: "assertion"}, agent.ToolError},
		{"killed", "", proc.Exit{Status: 137}, agent.Killed},
		{"terminated by somebody else", "", proc.Exit{Status: 143}, agent.Killed},
		{"crashed", "", proc.Exit{Status: 139}, agent.ToolError},
		{"said what went wrong", api, proc.Exit{Status: 1}, agent.ToolError},
		{"its turns were up", `{"type":"result","subtype":"error_max_turns"}`, proc.Exit{Status: 1},
			agent.Timeout},
		{"its money was up", `{"type":"result","subtype":"error_max_budget_usd"}`, proc.Exit{Status: 1},
			agent.Timeout},
		{"said too much", "", proc.Exit{Status: 143, Flooded: true, Stopped: true}, agent.ToolError},
		{"gave up", "", proc.Exit{}, agent.Abort},
		{"only said what is too long", "", proc.Exit{Skipped: 1}, agent.Abort},
		{"was ended by us after its result", fine, proc.Exit{Status: 137, Stopped: true}, ""},
		{"failed after its result", fine, proc.Exit{Status: 2}, agent.ToolError},
	} {
		p := fake(func(s proc.Spec) proc.Exit {
			if tt.line != "" {
				s.Line([]byte(tt.line))
			}
			return tt.exit
		})
		_, err := p.Run(context.Background(), agent.Task{}, messages)
		if kind := agent.FailureKind(err); (err == nil) != (tt.want == "") || err != nil && kind != tt.want {
			t.Errorf("%s: kind %q, want %q: %v", tt.name, kind, tt.want, err)
		}
		if status, ok := sysexit.Of(err); err != nil && (!ok || status == sysexit.Software) {
			t.Errorf("%s: status %d", tt.name, status)
		}
	}
	if _, err := fake(nil).Run(context.Background(), agent.Task{Resume: true, SessionID: "x"},
		func(Turn) (Call, error) {
			return Call{}, context.DeadlineExceeded
		}); agent.FailureKind(err) != agent.Timeout {
		t.Errorf("kind %q of a deadline", agent.FailureKind(err))
	}
}

// What a program calls its session becomes an argument: it must look like a name.
func TestSessionNames(t *testing.T) {
	for _, hostile := range []string{"--resume", "-x", "../../etc", "a/b", "a b", "x\ny", "\x1b[2J",
		strings.Repeat("a", 200), "a..b", ".hidden"} {
		if ValidID(hostile) {
			t.Errorf("%q is taken for the name of a session", hostile)
		}
	}
	p := fake(says(`{"type":"system","subtype":"init","session_id":"--dangerous"}`,
		`{"type":"result","subtype":"success","result":"x"}`))
	p.AssignsSessionID = true
	res, err := p.Run(context.Background(), agent.Task{SessionID: "ours"}, messages)
	if err != nil || res.SessionID != "" {
		t.Errorf("session %q, %v", res.SessionID, err)
	}
	p = fake(says(`{"type":"system","subtype":"init","session_id":"ses_1"}`,
		`{"type":"result","subtype":"success","result":"{}"}`))
	p.AssignsSessionID = true
	var told []string
	res, err = p.Run(context.Background(), agent.Task{SessionID: "ours", Watch: func(e agent.Event) {
		if e.Kind == agent.Started {
			told = append(told, e.SessionID)
		}
		if e.Kind == agent.Started && e.PID != 7 {
			t.Errorf("process %d", e.PID)
		}
	}}, messages)
	if err != nil || res.SessionID != "ses_1" || !slices.Equal(told, []string{"", "ses_1"}) {
		t.Errorf("session %q, told %q, %v", res.SessionID, told, err)
	}
}

// Session totals are counted once, also across runs.
func TestUsageOfTheSession(t *testing.T) {
	in, cost := int64(0), 0.0
	p := fake(nil)
	p.run = func(_ context.Context, s proc.Spec) (proc.Exit, error) {
		in, cost = in+100, cost+0.5
		s.Line(nil)
		return proc.Exit{}, nil
	}
	p.Since = func(before, turn draft.Usage) draft.Usage {
		return CostSince(before, TokensSince(before, turn))
	}
	call := func(Turn) (Call, error) {
		return Call{Line: func(_ []byte, s *Seen) {
			usd := cost
			s.Usage, s.Told = draft.Usage{InputTokens: in, OutputTokens: in / 10, CostUSD: &usd}, true
			s.Say(`{"a":1}`)
			s.End()
		}}, nil
	}
	faults := 1
	task := agent.Task{Dir: t.TempDir(), SessionID: "s", Schema: []byte("{}"), Check: func([]byte) error {
		if faults--; faults >= 0 {
			return errors.New("no")
		}
		return nil
	}}
	for i, want := range []struct {
		tokens int64
		cost   float64
		turns  int
	}{{200, 1, 2}, {100, 0.5, 1}, {100, 0.5, 1}} {
		res, err := p.Run(context.Background(), task, call)
		if u := res.Usage; err != nil || u.InputTokens != want.tokens || *u.CostUSD != want.cost ||
			u.Turns != want.turns {
			t.Errorf("run %d: %+v, cost %v, %v", i, u, *u.CostUSD, err)
		}
		task.Resume = true
	}
	if err := os.WriteFile(filepath.Join(task.Dir, ledger), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), task, call); err == nil {
		t.Error("a torn ledger was taken for nothing spent")
	}
}

// The usage of an answer with several blocks is reported on each of its lines.
func TestUsageSoFar(t *testing.T) {
	const line = `{"type":"assistant","message":{"id":"%","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}}}`
	p := fake(func(s proc.Spec) proc.Exit {
		for _, id := range []string{"1", "1", "2"} {
			s.Line([]byte(strings.Replace(line, "%", id, 1)))
		}
		return proc.Exit{Status: 137}
	})
	var last agent.Event
	res, err := p.Run(context.Background(), agent.Task{Watch: func(e agent.Event) { last = e }}, messages)
	if u := res.Usage; err == nil || u.InputTokens != 30 || u.OutputTokens != 4 || u.TokensUnknown ||
		u.CostUSD != nil || u.Turns != 2 {
		t.Errorf("%+v, %v", u, err)
	}
	if last.Kind != agent.Failed || last.Usage.InputTokens != 30 {
		t.Errorf("last event %+v", last)
	}
}

// A login is where the program looks for it, and not in the run's folder.
func TestLogin(t *testing.T) {
	login := filepath.Join(t.TempDir(), "auth.json")
	if err := os.WriteFile(login, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := New(config.Agent{Read: []string{"/etc/other", login}}, "off", "fake", func(*Client) {})
	if err != nil {
		t.Fatal(err)
	}
	var spec proc.Spec
	p.LoginAt, p.run = ".x/auth.json", func(_ context.Context, s proc.Spec) (proc.Exit, error) {
		spec = s
		return proc.Exit{}, nil
	}
	task := agent.Task{Dir: t.TempDir(), Hidden: []string{".agents"}, Write: true, SessionID: "s"}
	for range 2 {
		// gives up
		_, _ = p.Program.Run(context.Background(), task, func(Turn) (Call, error) {
			return Call{Hidden: []string{".x"}, Reach: []string{"h:1"}}, nil
		})
		at := filepath.Join(task.Dir, "home", ".x/auth.json")
		if to, err := os.Readlink(at); err != nil || to != login {
			t.Errorf("login leads to %q, %v", to, err)
		}
	}
	if !slices.Contains(spec.Read, login) || !slices.Equal(spec.Hidden, []string{".agents", ".x"}) ||
		!spec.Write || !slices.Equal(spec.Reach, []string{"h:1"}) {
		t.Errorf("%+v", spec)
	}
}

func FuzzMessages(f *testing.F) {
	for _, line := range []string{
		`{"type":"system","subtype":"init","model":"m","session_id":"s"}`,
		`{"type":"assistant","message":{"content":"words"}}`,
		`{"type":"assistant","message":{"id":"1","content":[{"type":"tool_use","name":"Read","input":{"path":"x"}}],"usage":{"input_tokens":-1}}}`,
		`{"type":"result","subtype":"success","structured_output":{"a":1},"total_cost_usd":1e400}`,
		`{"type":"result","is_error":true,"errors":["x"]}`, "{", "null",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return // proc gives no empty line
		}
		p := fake(func(s proc.Spec) proc.Exit { s.Line(line); s.Line(line); return proc.Exit{} })
		res, err := p.Run(context.Background(), agent.Task{Watch: func(e agent.Event) {
			if len(e.Text) > 4*maxEvent || e.SessionID != "" && !ValidID(e.SessionID) {
				t.Errorf("event %+v", e)
			}
		}}, messages)
		if err == nil && res.Value != nil {
			t.Errorf("a value of %q", line)
		}
	})
}

// TestRefusedHint: a program that cannot connect says nothing of the sandbox, so the failure names the log
// of what was refused, if there is any.
func TestRefusedHint(t *testing.T) {
	for _, refused := range []string{"", "{\"refused\":\"evil.example:443\"}\n"} {
		task := agent.Task{Dir: t.TempDir()}
		p := fake(func(s proc.Spec) proc.Exit {
			log := filepath.Join(s.RunDir, proc.RefusedLog)
			if err := os.WriteFile(log, []byte(refused), 0o600); err != nil {
				t.Fatal(err)
			}
			return proc.Exit{Status: 1, Stderr: "Unable to connect to API (EACCES)"}
		})
		_, err := p.Run(context.Background(), task, messages)
		hints := strings.Join(sysexit.Hints(err), "\n")
		if err == nil || strings.Contains(hints, proc.RefusedLog) != (refused != "") {
			t.Errorf("refused %q: %v, hints %q", refused, err, hints)
		}
	}
}

// TestLimitsAreSaid: a run without a control group says that its limits are those of each process.
func TestLimitsAreSaid(t *testing.T) {
	for limits, want := range map[string]bool{sandbox.Rlimits: true, sandbox.CgroupV2: false, "": false} {
		said := false
		task := agent.Task{Dir: t.TempDir(), Watch: func(e agent.Event) {
			said = said || strings.Contains(e.Text, "control group")
		}}
		p := fake(func(proc.Spec) proc.Exit { return proc.Exit{Status: 1, Limits: limits} })
		if _, err := p.Run(context.Background(), task, messages); err == nil || said != want {
			t.Errorf("limits %q: said %t, %v", limits, said, err)
		}
	}
}
