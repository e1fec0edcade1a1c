package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// wire is an outgoing JSON-RPC 2.0 message: a request, an answer or a notification.
type wire struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *fault          `json:"error,omitempty"`
}

// heard is an incoming message.
type heard struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *fault          `json:"error"`
}

// fault is a JSON-RPC error.
type fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (f *fault) Error() string {
	if len(f.Data) > 0 && string(f.Data) != "null" {
		return fmt.Sprintf("%s: %s", f.Message, f.Data)
	}
	return f.Message
}

// Codes of faults.
const (
	unknownMethod = -32601
	badParams     = -32602
	internal      = -32603
	needsLogin    = -32000
	notThere      = -32002
)

// peer writes to a program from its own goroutine: the goroutine that reads the program's output
// must never wait for the program to read its input.
type peer struct {
	mu    sync.Mutex
	queue chan []byte
	last  int
	done  bool
}

// maxQueue bounds the messages that wait for a program that does not read.
const maxQueue = 1024

var errDeaf = errors.New("it does not read what it is told")

func newPeer(in io.WriteCloser) *peer {
	p := &peer{queue: make(chan []byte, maxQueue)}
	go func() {
		for line := range p.queue {
			if _, err := in.Write(line); err != nil {
				break // it is dead, as its exit will report
			}
		}
		_ = in.Close() // the end of its input, if it still reads
		for range p.queue {
		}
	}()
	return p
}

// close ends the program's input after the queued messages.
func (p *peer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.done = true
		close(p.queue)
	}
}

func (p *peer) send(w wire) error {
	w.Version = "2.0"
	line, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("say %s: %w", w.Method, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return nil
	}
	select {
	case p.queue <- append(line, '\n'):
		return nil
	default:
		return errDeaf
	}
}

// ask sends a request and returns its id.
func (p *peer) ask(method string, params any) (id int, err error) {
	p.mu.Lock()
	p.last++
	id = p.last
	p.mu.Unlock()
	return id, p.send(wire{ID: json.RawMessage(fmt.Sprint(id)), Method: method, Params: params})
}

func (p *peer) notify(method string, params any) error {
	return p.send(wire{Method: method, Params: params})
}

// answer sends the result of a request, or its error.
func (p *peer) answer(id json.RawMessage, result any, err error) error {
	if err == nil {
		return p.send(wire{ID: id, Result: result})
	}
	f := new(fault)
	if !errors.As(err, &f) {
		f = &fault{Code: internal, Message: err.Error()}
	}
	return p.send(wire{ID: id, Error: f})
}
