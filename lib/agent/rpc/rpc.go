// Package rpc writes to a program from a goroutine of its own, as lines or as JSON-RPC 2.0 messages:
// who reads the program's output must never wait for the program to read its input.
package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// wire is an outgoing JSON-RPC 2.0 message: a request, an answer or a notification.
type wire struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Fault          `json:"error,omitempty"`
}

// Message is an incoming message.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Fault          `json:"error"`
}

// Fault is a JSON-RPC error.
type Fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (f *Fault) Error() string {
	if len(f.Data) > 0 && string(f.Data) != "null" {
		return fmt.Sprintf("%s: %s", f.Message, f.Data)
	}
	return f.Message
}

// Codes of faults.
const (
	BadJSON       = -32700
	BadRequest    = -32600
	UnknownMethod = -32601
	BadParams     = -32602
	Internal      = -32603
)

// Lines writes lines to a program, in order, without waiting for it.
type Lines struct {
	mu    sync.Mutex
	queue chan []byte
	done  bool
}

// maxQueue bounds the lines that wait for a program that does not read.
const maxQueue = 1024

// errDeaf reports a program that does not read its input.
var errDeaf = errors.New("it does not read its input")

// NewLines returns a writer to in, which it closes.
func NewLines(in io.WriteCloser) *Lines {
	l := &Lines{queue: make(chan []byte, maxQueue)}
	go func() {
		for line := range l.queue {
			if _, err := in.Write(line); err != nil {
				break // it is dead, as its exit will report
			}
		}
		_ = in.Close() // the end of its input, if it still reads
		for range l.queue {
		}
	}()
	return l
}

// Close ends the program's input after the queued lines.
func (l *Lines) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done {
		l.done = true
		close(l.queue)
	}
}

// Write queues v as a line of JSON. After Close it does nothing.
func (l *Lines) Write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write to the program: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	select {
	case l.queue <- append(line, '\n'):
		return nil
	default:
		return errDeaf
	}
}

// Peer is the program at the other end. It is safe for concurrent use.
type Peer struct {
	*Lines
	last atomic.Int64
}

// NewPeer returns a peer that reads in, which is closed by Close.
func NewPeer(in io.WriteCloser) *Peer { return &Peer{Lines: NewLines(in)} }

func (p *Peer) send(w wire) error {
	w.Version = "2.0"
	return p.Write(w)
}

// Ask sends a request and returns its id.
func (p *Peer) Ask(method string, params any) (id int, err error) {
	id = int(p.last.Add(1))
	return id, p.send(wire{ID: json.RawMessage(fmt.Sprint(id)), Method: method, Params: params})
}

// Notify sends a notification.
func (p *Peer) Notify(method string, params any) error {
	return p.send(wire{Method: method, Params: params})
}

// Answer sends the result of a request, or its error.
func (p *Peer) Answer(id json.RawMessage, result any, err error) error {
	if err == nil {
		return p.send(wire{ID: id, Result: result})
	}
	f := new(Fault)
	if !errors.As(err, &f) {
		f = &Fault{Code: Internal, Message: err.Error()}
	}
	return p.send(wire{ID: id, Error: f})
}
