package toolserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"tri/lib/agent/rpc"
	"tri/lib/base/config"
	"tri/lib/base/text"
)

// Limits of one connection.
const (
	maxLine   = 4 << 20 // bytes
	maxAsked  = 10_000  // messages
	maxAtOnce = 16      // calls; with more in progress the connection is not read
	maxID     = 256     // bytes
	maxText   = 1 << 20 // bytes of a result
)

// versions are protocol versions that do not differ in the parts used here. A client that names
// another gets the last.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// talk is one connection of the agent's program.
type talk struct {
	gate   *Gate
	server config.Server
	conn   net.Conn
	peer   *Peer

	writing sync.Mutex
	mu      sync.Mutex
	calls   map[string]context.CancelFunc // in progress, by id
}

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// fault returns a JSON-RPC error.
func fault(code int, format string, args ...any) error {
	return &rpc.Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// run reads requests until the program is done, and ends the server.
func (t *talk) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer func() {
		cancel()
		group.Wait()
		if t.peer != nil {
			t.peer.Close()
		}
	}()
	in := bufio.NewScanner(t.conn)
	in.Buffer(make([]byte, 64<<10), maxLine)
	slots := make(chan struct{}, maxAtOnce)
	for range maxAsked {
		if !in.Scan() {
			if err := in.Err(); err != nil {
				return fmt.Errorf("read a line of at most %d bytes from the program: %w", maxLine, err)
			}
			group.Wait() // the program may still read the answers
			return nil
		}
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 {
			continue
		}
		var r request
		if line[0] != '{' || json.Unmarshal(line, &r) != nil || r.Version != "2.0" {
			// Batches of requests were removed from the protocol.
			t.answer([]byte("null"), nil, fault(rpc.BadJSON, "want one JSON-RPC message in a line"))
			continue
		}
		if !t.heard(ctx, r) {
			continue
		}
		if r.Method != "tools/call" {
			result, err := t.serve(ctx, r)
			t.answer(r.ID, result, err)
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		peer := t.peer
		call, done := t.begin(ctx, r.ID)
		group.Go(func() {
			defer func() { done(); <-slots }()
			result, err := t.call(call, peer, r.Params)
			t.answer(r.ID, result, err)
		})
	}
	return fmt.Errorf("the program asked more than %d times", maxAsked)
}

// heard handles notifications, and reports whether r is a request to be answered.
func (t *talk) heard(ctx context.Context, r request) bool {
	if r.Method == "" {
		return false // an answer, though nothing was asked
	}
	if len(r.ID) == 0 {
		if r.Method == "notifications/cancelled" {
			var p struct {
				ID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(r.Params, &p) == nil {
				t.cancel(string(p.ID))
			}
		}
		return false
	}
	if c := r.ID[0]; len(r.ID) > maxID || c != '"' && c != '-' && (c < '0' || c > '9') {
		t.answer([]byte("null"), nil, fault(rpc.BadRequest, "an id is a number or a string"))
		return false
	}
	return true
}

// begin makes a call cancellable.
func (t *talk) begin(ctx context.Context, id []byte) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[string(id)] = cancel
	return ctx, func() {
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.calls, string(id))
	}
}

func (t *talk) cancel(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel, ok := t.calls[id]; ok {
		cancel()
	}
}

// serve answers requests other than calls.
func (t *talk) serve(ctx context.Context, r request) (any, error) {
	switch r.Method {
	case "initialize":
		return t.hello(ctx, r.Params)
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		if t.peer == nil {
			return nil, fault(rpc.BadRequest, "initialize comes first")
		}
		return map[string]any{"tools": append([]Tool{}, t.peer.Tools...)}, nil
	}
	return nil, fault(rpc.UnknownMethod, "there is no %s", text.CutBytes(r.Method, maxWords))
}

// hello connects to the server.
func (t *talk) hello(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(params, &p) != nil || !slices.Contains(versions, p.Version) {
		p.Version = versions[len(versions)-1]
	}
	if t.peer == nil {
		peer, err := Connect(ctx, t.gate.at, t.server)
		if err != nil {
			t.gate.log(t.server.Name, "", "left out: "+err.Error())
			return nil, fault(rpc.Internal, "server %s: %s", t.server.Name, text.CutBytes(err.Error(),
				maxWords))
		}
		for _, fault := range peer.Faults {
			t.gate.log(t.server.Name, "", fault.Error())
		}
		t.peer = peer
	}
	return map[string]any{
		"protocolVersion": p.Version, "capabilities": map[string]any{"tools": struct{}{}},
		"serverInfo": map[string]string{"name": t.server.Name, "version": "1"},
	}, nil
}

// call calls a listed tool.
func (t *talk) call(ctx context.Context, peer *Peer, params json.RawMessage) (any, error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fault(rpc.BadParams, "want the name of a tool, and arguments")
	}
	if !slices.Contains(t.server.Tools, p.Name) {
		t.gate.log(t.server.Name, p.Name, "it is not among the tools that the configuration allows")
		return nil, fault(rpc.BadParams, "no tool is called %q", text.CutBytes(p.Name, maxWords))
	}
	if peer == nil {
		return nil, fault(rpc.BadRequest, "initialize comes first")
	}
	if len(p.Arguments) == 0 || string(p.Arguments) == "null" {
		p.Arguments = []byte("{}")
	}
	if p.Arguments[0] != '{' {
		return nil, fault(rpc.BadParams, "arguments are an object")
	}
	body, failed, err := peer.Call(ctx, p.Name, p.Arguments)
	if no := new(refusal); errors.As(err, &no) {
		t.gate.log(t.server.Name, p.Name, no.Error())
		body, failed, err = no.Error(), true, nil // the model sees it, and can correct the value
	}
	if err != nil {
		return nil, fault(rpc.Internal, "%s", text.CutBytes(err.Error(), maxWords))
	}
	if len(body) > maxText {
		body = fmt.Sprintf("%s\n(cut here: %d bytes in all)", text.CutBytes(body, maxText), len(body))
	}
	return map[string]any{"content": []map[string]string{{"type": "text", "text": body}}, "isError": failed},
		nil
}

// answer writes an answer. If the program does not read, the write waits or the connection ends.
func (t *talk) answer(id json.RawMessage, result any, err error) {
	w := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *rpc.Fault      `json:"error,omitempty"`
	}{Version: "2.0", ID: id, Result: result}
	if err != nil {
		w.Result, w.Error = nil, &rpc.Fault{Code: rpc.Internal, Message: text.CutBytes(err.Error(), maxWords)}
		_ = errors.As(err, &w.Error)
	}
	line, err := json.Marshal(w)
	if err != nil {
		line = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"an answer that cannot be written"}}`)
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	_, _ = t.conn.Write(append(line, '\n')) // the reader notices a closed connection
}
