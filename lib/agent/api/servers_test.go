package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"tri/lib/base/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain lets the test binary be a tool server.
func TestMain(m *testing.M) {
	if os.Getenv("API_TEST_SERVER") != "" {
		fmt.Fprintln(os.Stderr, "a server talks")
		_ = toolServer().Run(context.Background(), &mcp.StdioTransport{}) // its end is that of its input
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// toolServer has read-only tools, one that writes and one that destructive.
func toolServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "logs", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)
	add := func(name string, a *mcp.ToolAnnotations, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "says " + name, InputSchema: schema, Annotations: a}, h)
	}
	add("search.logs", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "found: " + string(r.Params.Arguments) + " token=" +
				os.Getenv("TEST_KEY") + os.Getenv("LOGS_TOKEN")},
			&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"},
		}}, nil
	})
	add("fails", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: "no such index"}}}, nil
	})
	add("floods", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x",
			2<<20)}}}, nil
	})
	add("wipe", &mcp.ToolAnnotations{DestructiveHint: new(true)}, nil)
	add("create_issue", nil, nil)
	return s
}

// Only the allowed tools are offered and run; their results are returned.
func TestServers(t *testing.T) {
	var authorized []string
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		authorized = append(authorized, r.Header.Get("Authorization"))
		return toolServer()
	}, nil)
	far := httptest.NewServer(handler)
	defer far.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]config.Server{
		"a program":  {Command: []string{self}, Env: []string{"API_TEST_SERVER", "LOGS_TOKEN"}},
		"an address": {URL: far.URL, TokenEnv: "LOGS_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("API_TEST_SERVER", "1")
			t.Setenv("LOGS_TOKEN", "logs-token")
			s.Name, s.Tools = "logs", []string{"search.logs", "fails", "floods", "wipe", "not_there"}
			b := newBench(t, "anthropic",
				say{tool: "mcp__logs__search_logs", input: `{"query":"timeout"}`},
				say{tool: "mcp__logs__fails", input: `{}`},
				say{tool: "mcp__logs__create_issue", input: `{}`},
				say{tool: "mcp__logs__floods", input: `{}`},
				say{tool: "answer", input: good})
			b.task.Servers = []config.Server{s}
			if res, err := b.run(); err != nil || string(res.Value) != good {
				t.Fatalf("%q, %v", res.Value, err)
			}
			for _, tool := range []string{"wipe", "create_issue", "not_there"} {
				if strings.Contains(b.heard[0], tool) {
					t.Errorf("%s is offered", tool)
				}
			}
			if !strings.Contains(b.heard[0], `"mcp__logs__search_logs"`) ||
				!strings.Contains(b.heard[0], "says search.logs") {
				t.Errorf("offered %s", b.heard[0])
			}
			for i, want := range []string{`found: {\"query\":\"timeout\"}`, "no such index",
				`no tool is called \"mcp__logs__create_issue\"`, "(cut here"} {
				if !strings.Contains(b.heard[i+1], want) {
					t.Errorf("request %d lacks %q: %.2000s", i+1, want, b.heard[i+1])
				}
			}
			if s.URL == "" && strings.Contains(b.heard[1], key) {
				t.Error("the server saw the model's key")
			}
			said := fmt.Sprint(b.events)
			if !strings.Contains(said, "destructive") || !strings.Contains(said, "not_there") {
				t.Errorf("events %v", said)
			}
		})
	}
	for _, got := range authorized {
		if got != "Bearer logs-token" {
			t.Errorf("token %q", got)
		}
	}
}

// A configured command is a tool like that of a server.
func TestCommandAsTool(t *testing.T) {
	b := newBench(t, "anthropic", say{tool: "mcp__splunk__search", input: `{"query":"$(id) -x"}`},
		say{tool: "mcp__splunk__search", input: `{"query":"-x"}`}, say{tool: "answer", input: good})
	b.task.Servers = []config.Server{{Name: "splunk", Tools: []string{"search"}, Commands: []config.Command{
		{Name: "search", Description: "Search the logs.", Argv: []string{"printf", "found %s", "{query}"},
			Holes: []config.Hole{{Name: "query"}}}}}}
	if res, err := b.run(); err != nil || string(res.Value) != good {
		t.Fatalf("%q, %v", res.Value, err)
	}
	for i, want := range []string{"Search the logs.", "found $(id) -x", "begins with"} {
		if !strings.Contains(b.heard[i], want) {
			t.Errorf("request %d lacks %q: %.3000s", i, want, b.heard[i])
		}
	}
}

// A server that does not answer costs its tools, not the run.
func TestServersThatFail(t *testing.T) {
	astray := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
	defer astray.Close()
	for _, s := range []config.Server{
		{Command: []string{"/nonexistent/server"}}, {Command: []string{"false"}},
		{Command: []string{"bash", "-c", "echo hello; echo oops >&2"}},
		{URL: "http://127.0.0.1:1/"}, {URL: astray.URL},
	} {
		s.Name, s.Tools = "logs", []string{"search"}
		b := newBench(t, "anthropic", say{tool: "answer", input: good})
		b.task.Servers = []config.Server{s}
		res, err := b.run()
		if err != nil || string(res.Value) != good ||
			!strings.Contains(fmt.Sprint(b.events), "logs is left out") {
			t.Errorf("%q %s: %q, %v, events %v", s.Command, s.URL, res.Value, err, b.events)
		}
	}
}
