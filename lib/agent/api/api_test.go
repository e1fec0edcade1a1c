package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

func TestValues(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		for _, tt := range []struct {
			name   string
			script []say
			turns  int
		}{
			{"by the tool", []say{{tool: "answer", input: good}}, 1},
			{"in words", []say{{text: "Here {it} is:\n```json\n" + good + "\n```\nDone."}}, 1},
			{"by a tool, mended when told",
				[]say{{tool: "answer", input: bad}, {tool: "answer", input: good}}, 2},
			{"in words, mended when told", []say{{text: bad}, {text: good}}, 2},
			{"words first, then the tool",
				[]say{{text: "I would rather not."}, {tool: "answer", input: good}}, 2},
			{"after looking", []say{{tool: "grep", input: `{"pattern":"MaxRetries"}`},
				{tool: "read_file", input: `{"path":"retry.go"}`}, {tool: "answer", input: good}}, 3},
			{"after a slip", []say{{tool: "read", input: `{}`}, {tool: "grep", input: `{"patern":"x"}`},
				{tool: "answer", input: good}}, 3},
		} {
			t.Run(tt.name, func(t *testing.T) {
				b := newBench(t, api, tt.script...)
				res, err := b.run()
				if err != nil || string(res.Value) != good {
					t.Fatalf("%q, %v", res.Value, err)
				}
				n := int64(tt.turns)
				u := res.Usage
				want := map[string]float64{"anthropic": 0.0012 + 0.000003 + 0.005,
					"openai": 0.0012 + 0.000003 + 0.005}[api] * float64(n)
				if u.Turns != tt.turns || u.InputTokens != 123*n || u.OutputTokens != 50*n ||
					u.TokensUnknown || *u.CostUSD < want-1e-9 || *u.CostUSD > want+1e-9 {
					t.Errorf("usage %+v, cost %v, want %v", u, *u.CostUSD, want)
				}
				if res.Model != "stub-1" || res.SessionID != b.task.SessionID || len(b.heard) != tt.turns {
					t.Errorf("%q, %q, %d requests", res.Model, res.SessionID, len(b.heard))
				}
			})
		}
	})
}

func TestFailures(t *testing.T) {
	many := strings.Repeat("x", 400)
	for _, tt := range []struct {
		name   string
		script []say
		status int
		kind   string
		want   string
		asked  int
	}{
		{"wrong twice", []say{{text: bad}}, sysexit.Unavailable, agent.Abort, "twice", 2},
		{"wrong twice by the tool", []say{{tool: "answer", input: bad}}, sysexit.Unavailable,
			agent.Abort, "twice", 2},
		{"half an object", []say{{text: good[:9]}}, sysexit.Unavailable, agent.Abort, "half", 2},
		{"two objects", []say{{text: good + good}}, sysexit.Unavailable, agent.Abort, "more than one", 2},
		{"says nothing", []say{{}}, sysexit.Unavailable, agent.Abort, "no JSON object", 2},
		{"an answer that is not an object", []say{{tool: "answer", input: `[1]`}}, sysexit.Unavailable,
			agent.Abort, "not a JSON object", 2},
		{"bad key", []say{{status: 401, text: "no: " + key + many}}, sysexit.Config, agent.ToolError,
			"(the key)", 1},
		{"bad key in a long text", []say{{status: 401, text: many[:300-len(key)/2] + key}}, sysexit.Config,
			agent.ToolError, "401", 1},
		{"no such model", []say{{status: 404, text: "model: stub"}}, sysexit.Config, agent.ToolError,
			"model: stub", 1},
		{"bad request", []say{{status: 400, text: "too long"}}, sysexit.Unavailable, agent.ToolError,
			"too long", 1},
		{"overloaded for good", []say{{status: 529, text: "Overloaded"}}, sysexit.TempFail, agent.ToolError,
			"Overloaded", maxTries},
		{"asked to wait too long",
			[]say{{status: 429, text: "slow", header: map[string]string{"Retry-After": "280"}}},
			sysexit.TempFail, agent.ToolError, "slow", 1},
		{"no JSON", []say{{raw: "<html>"}}, sysexit.Unavailable, agent.ToolError, "read answer", 1},
		{"no content", []say{{raw: "{}"}}, sysexit.Unavailable, agent.ToolError, "read answer", 1},
		{"never ends", []say{{tool: "list", input: `{}`}}, sysexit.Unavailable, agent.Timeout,
			"after 60 turns", maxTurns},
	} {
		each(t, func(t *testing.T, api string) {
			t.Run(tt.name, func(t *testing.T) {
				b := newBench(t, api, tt.script...)
				res, err := b.run()
				if status, _ := sysexit.Of(err); status != tt.status || agent.FailureKind(err) != tt.kind ||
					err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("status %d, kind %s, %v; want %d, %s, %q", status, agent.FailureKind(err), err,
						tt.status, tt.kind, tt.want)
				}
				if len(b.heard) != tt.asked || res.Value != nil {
					t.Errorf("asked %d times, want %d; value %q", len(b.heard), tt.asked, res.Value)
				}
				if strings.Contains(fmt.Sprint(err, sysexit.Hints(err), b.events), key[:len(key)/2]) {
					t.Errorf("the key is told: %v %v", err, b.events)
				}
				if last := b.events[len(b.events)-1]; last.Kind != agent.Failed {
					t.Errorf("last event %+v", last)
				}
				if tt.kind == agent.Timeout && (res.Usage.Turns != maxTurns || *res.Usage.CostUSD == 0) {
					t.Errorf("what a failed run took: %+v", res.Usage)
				}
			})
		})
	}
}

func TestCutAndRefused(t *testing.T) {
	for _, tt := range []struct{ api, why, want string }{
		{"anthropic", "max_tokens", "cut off"}, {"anthropic", "refusal", "refused"},
		{"openai", "length", "cut off"}, {"openai", "content_filter", "refused"},
	} {
		b := newBench(t, tt.api, say{text: good, why: tt.why})
		if _, err := b.run(); agent.FailureKind(err) != agent.Abort ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
}

func TestAsksAgain(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{status: 529, text: "Overloaded"},
			say{status: 429, text: "slow", header: map[string]string{"Retry-After": "7"}}, say{status: 500},
			say{tool: "answer", input: good})
		res, err := b.run()
		if err != nil || string(res.Value) != good {
			t.Fatalf("%q, %v", res.Value, err)
		}
		if len(b.waits) != 3 || b.waits[1] < 7*time.Second || b.waits[0] > 2*time.Second {
			t.Errorf("waited %v", b.waits)
		}
		said := 0
		for _, e := range b.events {
			if e.Kind == agent.Milestone && strings.HasPrefix(e.Text, "asked again") {
				said++
			}
		}
		if said != 3 || res.Usage.Turns != 1 {
			t.Errorf("told %d times, %d turns", said, res.Usage.Turns)
		}
	})
}

// Usage that is not reported is unknown, never 0.
func TestUnknownUsage(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{tool: "list", input: `{}`}, say{tool: "answer", input: good, silent: true})
		if res, err := b.run(); err != nil || !res.Usage.TokensUnknown || res.Usage.CostUSD != nil {
			t.Errorf("%+v, %v", res.Usage, err)
		}
		b = newBench(t, api, say{tool: "answer", input: good})
		b.client.cfg.Prices = nil
		if res, err := b.run(); err != nil || res.Usage.TokensUnknown || res.Usage.CostUSD != nil ||
			b.client.Capabilities().Cost {
			t.Errorf("without prices: %+v, %v", res.Usage, err)
		}
	})
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		turns int
		usd   float64
		cfg   float64
		asked int
	}{{2, 0, 0, 2}, {0, 0.012, 0, 2}, {0, 0, 0.006, 1}, {5, 9, 0.012, 2}} {
		b := newBench(t, "anthropic", say{tool: "list", input: `{}`})
		b.task.MaxTurns, b.task.MaxCostUSD, b.client.cfg.MaxBudgetUSD = tt.turns, tt.usd, tt.cfg
		if _, err := b.run(); agent.FailureKind(err) != agent.Timeout || len(b.heard) != tt.asked {
			t.Errorf("%+v: asked %d times, %v", tt, len(b.heard), err)
		}
	}
}

func TestTimeIsUp(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{hang: true})
		b.asked = make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-b.asked; cancel() }()
		if _, err := b.client.Run(ctx, b.task); !errors.Is(err, context.Canceled) || len(b.heard) != 1 {
			t.Errorf("%v, asked %d times", err, len(b.heard))
		}
		if _, err := b.client.Run(ctx, b.task); !errors.Is(err, context.Canceled) || len(b.heard) != 1 {
			t.Errorf("a run whose time was up before it began: %v", err)
		}
	})
}

func TestWhatTheEndpointIsTold(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{tool: "list", input: `{}`},
			say{tool: "read_file", input: `{"path":".env"}`}, say{tool: "answer", input: good})
		if _, err := b.run(); err != nil {
			t.Fatal(err)
		}
		var names []string
		var first struct {
			Tools []struct {
				Name     string
				Function struct{ Name string }
			}
		}
		if err := json.Unmarshal([]byte(b.heard[0]), &first); err != nil {
			t.Fatal(err)
		}
		for _, tool := range first.Tools {
			names = append(names, tool.Name+tool.Function.Name)
		}
		if want := []string{"read_file", "git_log", "grep", "glob", "list", "answer"}; !slices.Equal(names, want) {
			t.Errorf("tools %q, want %q", names, want)
		}
		if strings.Contains(b.heard[0], "$schema") || strings.Contains(b.heard[0], "$id") ||
			!strings.Contains(b.heard[0], "what is the answer?") {
			t.Errorf("first request %s", b.heard[0])
		}
		last := b.heard[2]
		if !strings.Contains(last, "retry.go") || strings.Contains(last, ".agents") ||
			strings.Contains(last, "KEY=secret") || !strings.Contains(last, "not to be seen") {
			t.Errorf("last request %s", last)
		}
		if api == "anthropic" && !strings.Contains(last, `"signature":"c2ln"`) {
			t.Errorf("the model's own words are not given back as they were: %s", last)
		}
		h := b.headers[0]
		if got := h.Get("X-Api-Key") + h.Get("Authorization"); got != map[string]string{"anthropic": key,
			"openai": "Bearer " + key}[api] {
			t.Errorf("key %q", got)
		}
		kept, err := os.ReadFile(filepath.Join(b.task.Dir, "transcript.ndjson"))
		if err != nil || strings.Count(string(kept), "\n") < 6 || strings.Contains(string(kept), key) {
			t.Errorf("transcript %s, %v", kept, err)
		}
	})
}

func TestResumes(t *testing.T) {
	each(t, func(t *testing.T, api string) {
		b := newBench(t, api, say{tool: "list", input: `{}`}, say{tool: "answer", input: good},
			say{text: good})
		if _, err := b.run(); err != nil {
			t.Fatal(err)
		}
		b.task.Resume, b.task.Prompt = true, "and once more?"
		res, err := b.run()
		if err != nil || string(res.Value) != good || res.Usage.Turns != 1 {
			t.Fatalf("%q, %+v, %v", res.Value, res.Usage, err)
		}
		told := b.heard[2]
		if !strings.Contains(told, "what is the answer?") || !strings.Contains(told, "retry.go") ||
			!strings.Contains(told, "and once more?") || !strings.Contains(told, "taken") {
			t.Errorf("told %s", told)
		}
		b.task.SessionID = "11111111-2222-4333-8444-555555555555"
		if _, err := b.run(); !errors.Is(err, agent.ErrNoResume) {
			t.Errorf("another session: %v", err)
		}
		b.task.Dir = t.TempDir()
		if _, err := b.run(); !errors.Is(err, agent.ErrNoResume) {
			t.Errorf("no session: %v", err)
		}
	})
}

func TestEvents(t *testing.T) {
	b := newBench(t, "anthropic", say{text: "let me look", tool: "read_file", input: `{"path":"retry.go"}`},
		say{tool: "answer", input: good})
	if _, err := b.run(); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range b.events {
		kinds = append(kinds, strings.TrimSpace(e.Kind+" "+e.Tool+" "+e.Text))
	}
	want := []string{"started", "thought  let me look", "tool read_file retry.go", "milestone  turn 1",
		"result  let me look"}
	if !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
	if u := b.events[3].Usage; u == nil || u.InputTokens != 123 {
		t.Errorf("usage so far %+v", u)
	}
}

func TestRefusesWhatItCannot(t *testing.T) {
	b := newBench(t, "anthropic", say{tool: "answer", input: good})
	for _, change := range []func(*agent.Task){
		func(t *agent.Task) {
			t.Write = true
		}, func(t *agent.Task) {
			t.Tools = []string{"ReadFile"}
		}, func(t *agent.Task) { t.Schema = []byte("{") },
		func(t *agent.Task) { t.Codebase = "/nonexistent" },
	} {
		task := b.task
		change(&task)
		if _, err := b.client.Run(context.Background(), task); err == nil {
			t.Errorf("%+v was run", task)
		}
	}
	if len(b.heard) > 0 {
		t.Errorf("asked %d times", len(b.heard))
	}
	t.Setenv("TEST_KEY", "")
	for _, cfg := range []config.Agent{
		{Model: "m", BaseURL: "https://x", KeyEnv: "TEST_KEY"}, {BaseURL: "http://localhost"},
		{Model: "m", BaseURL: "://"},
		{Model: "m", BaseURL: "http://localhost", API: "gpt"},
		{Model: "m", BaseURL: "http://localhost", KeyFile: "/nonexistent"},
	} {
		if _, err := New(cfg, "off"); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	if _, err := New(config.Agent{Model: "m", BaseURL: "http://localhost:11434/v1", API: "openai"},
		"off"); err != nil {
		t.Errorf("a model on this machine needs no key: %v", err)
	}
}

// What an endpoint says must not panic, whatever it is.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"tool_use","input":null}],"usage":{}}`))
	f.Add([]byte(`{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{"}}]}}]}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, d := range []dialect{anthropic{}, openai{}} {
			rep, err := d.read(answer)
			if err != nil {
				continue
			}
			r := &run{c: &Client{}, task: agent.Task{Schema: []byte(`{}`)}}
			if _, err := json.Marshal(d.body(question{"m", 1, []message{rep.message, {Role: "user"}},
				nil})); err != nil {
				t.Errorf("what was read cannot be said: %v", err)
			}
			if len(rep.Calls) < maxCalls {
				_, _ = r.use(context.Background(), rep)
			}
		}
	})
}
