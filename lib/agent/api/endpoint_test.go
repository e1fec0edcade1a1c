package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/httpapi"
)

const (
	key  = "sk-test-0123456789"
	good = `{"answer":42}`
	bad  = `{"answer":"many"}`
)

// say is one answer of the endpoint, in the words of both APIs.
type say struct {
	text   string
	tool   string // with input
	input  string
	status int // an error with text
	header map[string]string
	why    string // anthropic's stop_reason or openai's finish_reason
	raw    string // this, as it is
	silent bool   // no usage
	hang   bool
}

// endpoint is a model with scripted answers.
type endpoint struct {
	*testing.T
	api     string
	script  []say
	mu      sync.Mutex
	heard   []string // bodies
	headers []http.Header
	asked   chan struct{}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	e.mu.Lock()
	n := len(e.heard)
	e.heard, e.headers = append(e.heard, string(body)), append(e.headers, r.Header)
	e.mu.Unlock()
	if e.asked != nil {
		e.asked <- struct{}{}
	}
	if want := map[string]string{"anthropic": "/v1/messages",
		"openai": "/v1/chat/completions"}[e.api]; r.URL.Path != want {
		e.Errorf("path %q, want %q", r.URL.Path, want)
	}
	s := e.script[min(n, len(e.script)-1)]
	switch {
	case s.hang:
		<-r.Context().Done()
		return
	case s.raw != "":
		io.WriteString(w, s.raw)
		return
	case s.status != 0:
		for k, v := range s.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(s.status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"x","message":%q}}`, s.text)
		return
	}
	json.NewEncoder(w).Encode(map[string]func(say, int) any{"anthropic": sayAnthropic,
		"openai": sayOpenAI}[e.api](s, n))
}

type obj = map[string]any

func sayAnthropic(s say, n int) any {
	var blocks []obj
	if s.text != "" {
		blocks = append(blocks, obj{"type": "text", "text": s.text})
	}
	if s.tool != "" {
		blocks = append(blocks, obj{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
			obj{"type": "tool_use", "id": fmt.Sprint("t", n), "name": s.tool,
				"input": json.RawMessage(s.input)})
	}
	answer := obj{"model": "stub-1", "content": blocks, "stop_reason": s.why}
	if !s.silent {
		answer["usage"] = obj{"input_tokens": 100, "cache_creation_input_tokens": 20,
			"cache_read_input_tokens": 3, "output_tokens": 50}
	}
	return answer
}

func sayOpenAI(s say, n int) any {
	m := obj{"role": "assistant", "content": s.text}
	if s.tool != "" {
		m["tool_calls"] = []obj{{"id": fmt.Sprint("t", n), "type": "function",
			"function": obj{"name": s.tool, "arguments": s.input}}}
	}
	answer := obj{"model": "stub-1", "choices": []obj{{"message": m, "finish_reason": s.why}}}
	if !s.silent {
		answer["usage"] = obj{"prompt_tokens": 123, "completion_tokens": 50,
			"prompt_tokens_details": obj{"cached_tokens": 3}}
	}
	return answer
}

// bench is an agent, its endpoint, a codebase and a task.
type bench struct {
	*endpoint
	client *Client
	task   agent.Task
	events []agent.Event
	waits  []time.Duration
}

func newBench(t *testing.T, api string, script ...say) *bench {
	t.Helper()
	b := &bench{endpoint: &endpoint{T: t, api: api, script: script}}
	srv := httptest.NewServer(b.endpoint)
	t.Cleanup(srv.Close)
	t.Setenv("TEST_KEY", key)
	cfg := config.Agent{API: api, BaseURL: srv.URL, KeyEnv: "TEST_KEY", Model: "stub",
		Prices: &config.Prices{Input: 10, Output: 100, CacheRead: new(1.0)}}
	if api == "openai" {
		cfg.BaseURL += "/v1"
	}
	var err error
	b.client, err = newClient(cfg, "off",
		httpapi.Options{Sleep: func(_ context.Context, d time.Duration) error {
			b.waits = append(b.waits, d)
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "retry.go"),
		[]byte("const MaxRetries = 5\n"), 0o600),
		os.WriteFile(filepath.Join(dir, ".env"), []byte("KEY=secret\n"), 0o600),
		os.MkdirAll(filepath.Join(dir, ".agents/x"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	b.task = agent.Task{
		Prompt: "what is the answer?", Codebase: dir, Dir: t.TempDir(),
		SessionID: "0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10", Hidden: []string{".agents"},
		Schema: []byte(`{"$schema":"x","$id":"y","type":"object","properties":{"answer":{"type":"integer"}}}`), Tools: []string{"Read", "Grep", "Glob", "Bash"},
		Check: func(v []byte) error {
			var value struct{ Answer int }
			return json.Unmarshal(v, &value)
		},
		Watch: func(e agent.Event) { b.events = append(b.events, e) },
	}
	return b
}

func (b *bench) run() (agent.Result, error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return b.client.Run(ctx, b.task)
}

// each runs a test for both APIs.
func each(t *testing.T, f func(t *testing.T, api string)) {
	for _, api := range []string{"anthropic", "openai"} {
		t.Run(api, func(t *testing.T) { f(t, api) })
	}
}
