package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/sysexit"
)

// Limits of a tool server.
const (
	maxTools  = 1000
	maxSchema = 64 << 10         // bytes of a tool's
	maxSaid   = 2 << 10          // bytes of its description
	maxBody   = 16 << 20         // bytes of one HTTP answer
	greetTime = 30 * time.Second // to connect and list
	callTime  = 2 * time.Minute  // for one call
)

// serve connects to the task's servers and gives their tools: those that the
// configuration allows and no others. A server that does not answer is told of and
// left out.
func (r *run) serve(ctx context.Context) (tools []tool, end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	for _, s := range r.task.Servers {
		peer, stop, err := r.connect(ctx, s)
		ends = append(ends, stop)
		if err == nil {
			var served []tool
			served, err = r.offer(ctx, s, peer)
			tools = append(tools, served...)
		}
		if ctx.Err() != nil {
			return nil, end, ctx.Err()
		}
		if err != nil {
			r.see(agent.Event{Kind: agent.Milestone, Text: fmt.Sprintf("tool server %s is left out: %v", s.Name, err)})
		}
	}
	return tools, end, nil
}

// connect starts or reaches a server. stop is to be called in any case.
func (r *run) connect(ctx context.Context, s agent.Server) (peer *mcp.ClientSession, stop func(), err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "tri", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	greet, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	if s.URL != "" {
		peer, err = client.Connect(greet, &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: httpClient(s), MaxRetries: -1, DisableStandaloneSSE: true,
		}, nil)
		return peer, closing(peer), err
	}
	p, err := r.start(ctx, s)
	if err != nil {
		return nil, func() {}, err
	}
	peer, err = client.Connect(greet, &mcp.IOTransport{Reader: p.out, Writer: p.in}, nil)
	bye := closing(peer)
	return peer, func() { bye(); p.stop() }, err
}

func closing(peer *mcp.ClientSession) func() {
	return func() {
		if peer != nil {
			_ = peer.Close() // what it was asked for, it has given
		}
	}
}

// httpClient puts the token on, follows nobody elsewhere, and bounds each answer.
func httpClient(s agent.Server) *http.Client {
	token := ""
	if s.TokenEnv != "" {
		token = os.Getenv(s.TokenEnv)
	}
	return &http.Client{
		Transport:     &bounded{token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type bounded struct{ token string }

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxBody), resp.Body}
	}
	return resp, err
}

// server is a tool server that is a program.
type server struct {
	out  io.ReadCloser
	in   io.WriteCloser
	stop func()
}

// start starts a server's program, inside the sandbox, with a folder of its own
// and nothing of the codebase.
func (r *run) start(ctx context.Context, s agent.Server) (*server, error) {
	home, err := os.MkdirTemp(r.task.Dir, "server-"+s.Name+"-")
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("make its home: %w", err))
	}
	ctx, cancel := context.WithCancel(ctx)
	read, write := io.Pipe()
	talk := make(chan io.WriteCloser, 1)
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		exit, err := proc.Run(ctx, proc.Spec{
			Argv: s.Command, Dir: home, Env: proc.Env(s.Env, home), Hold: r.task.Hold,
			Sandbox: r.c.sandbox, Write: true, Home: home, Reach: s.Reach, Read: r.c.cfg.Read,
			Talk: func(in io.WriteCloser) { talk <- in },
			Line: func(line []byte) bool {
				_, err := write.Write(append(slices.Clone(line), '\n'))
				return err != nil // nobody listens any more
			},
		})
		if failed = err; err == nil {
			failed = fmt.Errorf("%s ended with status %d: %q", filepath.Base(s.Command[0]), exit.Status, brief(exit.Stderr))
		}
		write.CloseWithError(failed)
	}()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			_ = read.Close() // always nil
			<-ended
			_ = os.RemoveAll(home) // a leftover in the run's folder
		})
	}
	select {
	case in := <-talk:
		return &server{read, in, stop}, nil
	case <-ended:
		stop()
		return nil, failed
	}
}

// offer makes tools of a server's.
func (r *run) offer(ctx context.Context, s agent.Server, peer *mcp.ClientSession) ([]tool, error) {
	greet, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	var tools []tool
	n, missing := 0, slices.Clone(s.Tools)
	for t, err := range peer.Tools(greet, nil) {
		if n++; err != nil || n > maxTools {
			return tools, errors.Join(err, limit(n > maxTools, "it has more than %d tools", maxTools))
		}
		if !slices.Contains(s.Tools, t.Name) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == t.Name })
		made, err := wrap(s, peer, t)
		if err != nil {
			r.see(agent.Event{Kind: agent.Milestone, Text: fmt.Sprintf("tool %s of server %s is left out: %v", brief(t.Name), s.Name, err)})
			continue
		}
		tools = append(tools, made)
	}
	return tools, limit(len(missing) > 0, "it has no tool %q", missing)
}

func limit(over bool, format string, args ...any) error {
	if !over {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// wrap makes a tool of a server's tool. One that says of itself that it destroys
// is refused, whatever the configuration says.
func wrap(s agent.Server, peer *mcp.ClientSession, t *mcp.Tool) (tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	name := "mcp__" + s.Name + "__" + strings.ReplaceAll(t.Name, ".", "_")
	a := t.Annotations
	switch {
	case err != nil:
		return tool{}, err
	case len(schema) > maxSchema:
		return tool{}, fmt.Errorf("its schema has more than %d bytes", maxSchema)
	case len(name) > 64:
		return tool{}, errors.New("its name is too long")
	case a != nil && !a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint:
		return tool{}, errors.New("it says of itself that it destroys")
	}
	if string(schema) == "null" {
		schema = []byte(`{"type":"object"}`)
	}
	said := t.Description
	if len(said) > maxSaid {
		said = strings.ToValidUTF8(said[:maxSaid], "")
	}
	return tool{name: name, description: said, schema: schema, call: func(ctx context.Context, input json.RawMessage) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		res, err := peer.CallTool(ctx, &mcp.CallToolParams{Name: t.Name, Arguments: input})
		if err != nil {
			return "", err
		}
		return content(res)
	}}, nil
}

// content is a result as text.
func content(res *mcp.CallToolResult) (string, error) {
	var parts []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		} else {
			parts = append(parts, "(something that is no text is left out)")
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		text, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(text))
	}
	text := strings.Join(parts, "\n")
	if res.IsError {
		return "", errors.New(brief(text))
	}
	return text, nil
}
