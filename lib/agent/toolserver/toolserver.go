// Package toolserver is a proxy between agents and configured tool servers (Model
// Context Protocol) that passes only the tools the configuration allows.
//
// Nothing that a server sends is passed on unchanged. A Peer is our own session with the server:
// it requests the tools once, keeps those on the list, by their exact names and with their
// descriptions at that time, and takes known fields from each answer. A Gate speaks the protocol
// to the agent's program in the server's place. A server runs in a sandbox of its own: the agent
// sees neither its keys nor its network.
package toolserver

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

	"tri/lib/agent/proc"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Limits on a server.
const (
	maxTools  = 1000     // in its list
	maxSchema = 64 << 10 // bytes of a tool's schema
	maxSaid   = 2 << 10  // bytes of a tool's description
	maxBody   = 16 << 20 // bytes of one HTTP answer
	maxWords  = 300      // bytes of its text in one of our messages
	greetTime = 30 * time.Second
	callTime  = 2 * time.Minute
)

// Place says where server programs run.
type Place struct {
	Dir     string   // the run's folder; "" if none
	Sandbox string   // the configuration's setting
	Read    []string // further readable files and folders
	Hold    *os.File // inherited by them, as proc.Spec.Hold
}

// Tool is an allowed tool.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"inputSchema"`
	ReadOnly    bool            `json:"-"` // as declared by the server
}

// Peer is a connected server. Its methods are safe for concurrent use.
type Peer struct {
	Tools []Tool // those on the list, in the server's order
	// Faults say which tools of the list are not in Tools, and why.
	Faults  []error
	session *mcp.ClientSession
	stop    func()
	lent    *lent // in place of a session
}

// Connect starts or reaches a server and requests its tools. The session ends with Close or ctx.
func Connect(ctx context.Context, at Place, s config.Server) (*Peer, error) {
	p := &Peer{stop: func() {}}
	if len(s.Commands) > 0 {
		p.lend(at, s)
		return p, nil
	}
	err := p.connect(ctx, at, s)
	if err == nil {
		err = p.list(ctx, s)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the session, and the server if it is a program.
func (p *Peer) Close() {
	if p.session != nil {
		_ = p.session.Close() // all requests have been answered
	}
	p.stop()
}

func (p *Peer) connect(ctx context.Context, at Place, s config.Server) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "tri", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	greet, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	if s.URL != "" {
		p.session, err = client.Connect(greet, &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: httpClient(s), MaxRetries: -1, DisableStandaloneSSE: true,
		}, nil)
		return err
	}
	program, err := start(ctx, at, s)
	if err != nil {
		return err
	}
	p.stop = program.stop
	p.session, err = client.Connect(greet, &mcp.IOTransport{Reader: program.out, Writer: program.in}, nil)
	return err
}

// list keeps the tools that are on the list.
func (p *Peer) list(ctx context.Context, s config.Server) error {
	greet, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	n, missing := 0, slices.Clone(s.Tools)
	for t, err := range p.session.Tools(greet, nil) {
		if err != nil {
			return err
		}
		if n++; n > maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
		i := slices.Index(missing, t.Name)
		if i < 0 {
			continue // not on the list, or a duplicate
		}
		missing = slices.Delete(missing, i, i+1)
		made, err := tool(t, slices.Contains(s.Destructive, t.Name))
		if err != nil {
			p.Faults = append(p.Faults, fmt.Errorf("tool %s of server %s is left out: %w", t.Name,
				s.Name, err))
			continue
		}
		p.Tools = append(p.Tools, made)
	}
	if len(missing) > 0 {
		p.Faults = append(p.Faults, fmt.Errorf("server %s has no tool %q", s.Name, missing))
	}
	return nil
}

// tool converts a server's tool. A tool that declares itself destructive is refused, unless the
// configuration accepts that.
func tool(t *mcp.Tool, accepted bool) (Tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	a := t.Annotations
	switch {
	case err != nil:
		return Tool{}, err
	case len(schema) > maxSchema:
		return Tool{}, fmt.Errorf("its schema has more than %d bytes", maxSchema)
	case !accepted && a != nil && !a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint:
		return Tool{}, errors.New("it is marked as destructive")
	}
	if string(schema) == "null" {
		schema = []byte(`{"type":"object"}`)
	}
	return Tool{t.Name, text.CutBytes(t.Description, maxSaid), schema, a != nil && a.ReadOnlyHint}, nil
}

// Call calls a tool and returns its result as text; failed is the tool's own report of an error.
// input is a JSON object.
func (p *Peer) Call(ctx context.Context, name string,
	input json.RawMessage) (body string, failed bool, err error) {
	if !slices.ContainsFunc(p.Tools, func(t Tool) bool { return t.Name == name }) {
		return "", false, fmt.Errorf("no tool is called %q", text.CutBytes(name, maxWords))
	}
	if p.lent != nil {
		return p.lent.call(ctx, name, input)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: input})
	if err != nil {
		return "", false, err
	}
	body, err = content(res)
	return body, res.IsError, err
}

// content returns a result as text.
func content(res *mcp.CallToolResult) (string, error) {
	var parts []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, c.Resource.Text)
				continue
			}
			parts = append(parts, leftOut)
		default:
			parts = append(parts, leftOut)
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		text, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "\n"), nil
}

const leftOut = "(content other than text is left out)"

// httpClient adds the token, follows no redirects, and bounds each answer.
func httpClient(s config.Server) *http.Client {
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

// program is a running server.
type program struct {
	out  io.ReadCloser
	in   io.WriteCloser
	stop func()
}

// start starts a server's program in the sandbox, with a folder of its own and without access to
// the codebase.
func start(ctx context.Context, at Place, s config.Server) (*program, error) {
	home, err := os.MkdirTemp(at.Dir, "server-"+s.Name+"-")
	if err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "make its home: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	read, write := io.Pipe()
	talk := make(chan io.WriteCloser, 1)
	ended := make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		exit, err := proc.Run(ctx, proc.Spec{
			Argv: s.Command, Dir: home, Env: proc.Env(s.Env, home), Hold: at.Hold,
			Sandbox: at.Sandbox, Write: true, Home: home, Reach: s.Network, Read: at.Read,
			Talk: func(in io.WriteCloser) { talk <- in },
			Line: func(line []byte) bool {
				_, err := write.Write(append(slices.Clone(line), '\n'))
				return err != nil // the reader is gone
			},
		})
		if failed = err; err == nil {
			failed = fmt.Errorf("%s ended with status %d: %q", filepath.Base(s.Command[0]), exit.Status,
				text.CutBytes(exit.Stderr, maxWords))
		}
		write.CloseWithError(failed)
	}()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			_ = read.Close() // always nil
			<-ended
			_ = os.RemoveAll(home) // at worst it stays in the run's folder
		})
	}
	select {
	case in := <-talk:
		return &program{read, in, stop}, nil
	case <-ended:
		stop()
		return nil, failed
	}
}
