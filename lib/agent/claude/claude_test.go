package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
	"tri/lib/agent/program"
	"tri/lib/base/sysexit"
)

var newClient = agenttest.Maker(New, func(c *program.Client) (linger, grace *time.Duration) {
	return &c.Linger, &c.Grace
})

func TestConformance(t *testing.T) {
	agenttest.Run(t, agenttest.Suite{
		Make:   agenttest.As(newClient),
		Tokens: true, Cost: true,
		Say: func(text string) string {
			// Keys in the order of 2.1.329, where the type is not the first.
			return `{"type":"system","subtype":"init","model":"stub"}` + "\n" +
				`{"duration_ms":3,"is_error":false,"num_turns":1,"result":` + agenttest.Quote(text) +
				`,"subtype":"success","type":"result","usage":{"input_tokens":5,"output_tokens":7},"total_cost_usd":0.5}` + "\n"
		},
		Act: func(thought, tool, file string) string {
			return `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":` +
				agenttest.Quote(thought) + `},{"type":"tool_use","name":` + agenttest.Quote(tool) +
				`,"input":{"file_path":` + agenttest.Quote(file) + `}}]}}` + "\n"
		},
		Refuse: func(status int) string {
			return fmt.Sprintf(`echo '{"subtype":"success","is_error":true,"api_error_status":%d,"result":"no","type":"result"}'; exit 1`, status)
		},
	})
}

// scripted makes a client whose program is a bash script with $D its folder.
func scripted(t *testing.T, script string) (*program.Client, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	if err := os.WriteFile(path, []byte("D='"+dir+"'\n"+script+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newClient(t, []string{"bash", path}, "off"), dir
}

func run(t *testing.T, c *program.Client, check func([]byte) error) (agent.Result, error) {
	t.Helper()
	return c.Run(context.Background(), agent.Task{
		Prompt: "where?", Codebase: t.TempDir(), Schema: []byte(`{"type":"object"}`), Check: check,
		Tools: []string{"Read", "Grep"}, Dir: t.TempDir(), SessionID: "11111111-2222-4333-8444-555555555555",
	})
}

func TestResultDecides(t *testing.T) {
	for _, tt := range []struct {
		name, line, exit string
		status           int
		hint             bool
	}{
		{"bad key", `{"subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key","type":"result"}`, "1", sysexit.Config, true},
		{"overloaded", `{"subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded","type":"result"}`, "1", sysexit.TempFail, false},
		{"bad request", `{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"no"}`, "1", sysexit.Unavailable, false},
		{"too dear", `{"type":"result","subtype":"error_max_budget_usd","is_error":true}`, "1",
			sysexit.Unavailable, true},
		{"too long", `{"type":"result","subtype":"error_max_turns","is_error":false}`, "1",
			sysexit.Unavailable, false},
		{"no result", `{"type":"assistant"}`, "0", sysexit.Unavailable, false},
		{"no such session", `not json`, "1", sysexit.Unavailable, false},
		{"status after a good result",
			`{"type":"result","subtype":"success","is_error":false,"structured_output":{"a":1}}`, "4",
			sysexit.Unavailable, false},
	} {
		c, _ := scripted(t, "cat <<'E'\n"+tt.line+"\nE\nexit "+tt.exit)
		_, err := run(t, c, nil)
		if status, _ := sysexit.Of(err); status != tt.status || (len(sysexit.Hints(err)) > 0) != tt.hint {
			t.Errorf("%s: status %d, hints %q: %v", tt.name, status, sysexit.Hints(err), err)
		}
	}
}

// TestNoValidValue: a value that the program could not make valid is not a limit that was reached.
func TestNoValidValue(t *testing.T) {
	c, _ := scripted(t, `echo '{"type":"result","subtype":"error_max_structured_output_retries","is_error":true}'; exit 1`)
	if _, err := run(t, c, nil); agent.FailureKind(err) != agent.Abort {
		t.Errorf("%s: %v", agent.FailureKind(err), err)
	}
}

// TestModelUsage: tokens of side models count.
func TestModelUsage(t *testing.T) {
	c, _ := scripted(t, `echo '{"type":"result","subtype":"success","is_error":false,"structured_output":{"a":1},"usage":{"input_tokens":10,"output_tokens":3},`+
		`"modelUsage":{"big":{"inputTokens":10,"outputTokens":3},"small":{"inputTokens":2,"cacheReadInputTokens":4,"outputTokens":1}}}'`)
	res, err := run(t, c, nil)
	if err != nil || res.Usage.InputTokens != 16 || res.Usage.OutputTokens != 4 {
		t.Errorf("%+v, %v", res.Usage, err)
	}
}

// The process has been seen to hang after its result, and its helpers to keep
// the output open: the result is the end.
func TestResultIsTheEnd(t *testing.T) {
	c, _ := scripted(t, `echo '{"type":"result","subtype":"success","is_error":false,"structured_output":{"a":1},"result":"{}"}'; sleep 900`)
	start := time.Now()
	res, err := run(t, c, nil)
	if err != nil || string(res.Value) != `{"a":1}` || time.Since(start) > time.Minute {
		t.Errorf("after %v: %q, %v", time.Since(start), res.Value, err)
	}
}

func TestSendsBackOnceInTheSameSession(t *testing.T) {
	c, dir := scripted(t, `printf '%s\n' "$@" >$D/args$(ls $D | wc -l); cat >>$D/told
test -e $D/second && v='{"a":2}' cost=0.75 || v='{"a":1}' cost=0.5; touch $D/second
echo '{"type":"system","subtype":"init","model":"stub-1"}'
echo '{"type":"result","subtype":"success","is_error":false,"structured_output":'$v',"num_turns":2,"total_cost_usd":'$cost',"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":3}}'`)
	res, err := run(t, c, func(v []byte) error {
		if string(v) != `{"a":2}` {
			return errors.New("a: want 2")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	u := res.Usage
	if string(res.Value) != `{"a":2}` || res.Model != "stub-1" || u.InputTokens != 30 ||
		u.OutputTokens != 6 || u.Turns != 4 || *u.CostUSD != 0.75 {
		t.Errorf("%q %q %+v cost %v", res.Value, res.Model, u, *u.CostUSD)
	}
	told, _ := os.ReadFile(filepath.Join(dir, "told"))
	if !strings.HasPrefix(string(told), "where?") || !strings.Contains(string(told), "a: want 2") {
		t.Errorf("told %q", told)
	}
	first, _ := os.ReadFile(filepath.Join(dir, "args1"))
	args, err := filepath.Glob(filepath.Join(dir, "args*"))
	if err != nil || len(args) != 2 {
		t.Fatalf("%q, %v", args, err)
	}
	again, _ := os.ReadFile(args[1])
	for _, want := range []string{"-p", "--verbose", "--restricted", "--strict-mcp-config", "Read,Grep",
		"--session-id\n11111111-"} {
		if !strings.Contains(string(first), want) {
			t.Errorf("%q is not among the arguments %q", want, first)
		}
	}
	if !strings.Contains(string(again), "--resume\n11111111-") ||
		strings.Contains(string(again), "--session-id") {
		t.Errorf("second run: %q", again)
	}
}

func TestRefusesUnknownTools(t *testing.T) {
	c := newClient(t, []string{"true"}, "off")
	if _, err := c.Run(context.Background(), agent.Task{Tools: []string{"ReadFile"}}); err == nil {
		t.Error("a tool that the program would drop in silence was taken")
	}
}
