// Package wire carries a fake platform's events to its clients over WebSocket or webhook, with
// injected faults. The caller must guard it with its own lock.
package wire

import (
	"context"
	"slices"
	"sync"

	"github.com/coder/websocket"
)

// Faults are the probabilities of each fault, between 0 and 1.
type Faults struct {
	Cut       float64 // every connection ends before an event, which is not sent again
	Duplicate float64 // an event is sent twice
	Reorder   float64 // it is sent after the next one
	Lose      float64 // it is never sent
}

// Line is a platform's connection to its clients.
type Line struct {
	// Roll reports whether a fault of the given probability happens now.
	Roll func(likely float64) bool
	// Frames returns the frames of an event on a connection; nil: the event itself. n is the number of
	// events sent before.
	Frames func(event []byte, n int) [][]byte
	// Call posts an event to a webhook, for the try-th time, and reports whether it was accepted.
	Call func(url string, event []byte, try int) (taken bool)
	// Tries is how often an event is posted until it is accepted.
	Tries int

	conns []*Conn
	sent  int
	held  []byte // is sent after the next one
	hook  string
	calls chan call
	stop  chan struct{}
}

type call struct {
	url   string
	event []byte
}

// Open initializes the line.
func (l *Line) Open() {
	l.calls, l.stop = make(chan call, 1<<16), make(chan struct{})
	go l.post()
}

// Close closes the line and its connections.
func (l *Line) Close() {
	close(l.stop)
	l.Cut()
}

// Add adds a connection: events are sent to it from now on.
func (l *Line) Add(c *Conn) { l.conns = append(l.conns, c) }

// Remove removes a connection that has ended.
func (l *Line) Remove(c *Conn) {
	l.conns = slices.DeleteFunc(l.conns, func(o *Conn) bool { return o == c })
}

// Len returns the number of connections.
func (l *Line) Len() int { return len(l.conns) }

// Push sends data other than events to every connection.
func (l *Line) Push(b []byte) {
	for _, c := range l.conns {
		c.Push(b)
	}
}

// Cut ends every connection, like a network failure.
func (l *Line) Cut() {
	for _, c := range l.conns {
		c.Cut()
	}
	l.conns = nil
}

// Silence leaves every connection open but never uses it again, like a network that stops carrying
// data.
func (l *Line) Silence() {
	for _, c := range l.conns {
		c.silence()
	}
	l.conns = nil
}

// Hook sets an address to which events are posted instead. Hooked reports whether one is set.
func (l *Line) Hook(url string) { l.hook = url }
func (l *Line) Hooked() bool    { return l.hook != "" }

// Deliver sends an event, subject to the faults f.
func (l *Line) Deliver(event []byte, f Faults) {
	switch {
	case l.Roll(f.Lose):
		return
	case l.Roll(f.Cut):
		l.Cut()
		return
	case l.held == nil && l.Roll(f.Reorder):
		l.held = event
		return
	}
	l.send(event)
	if l.Roll(f.Duplicate) {
		l.send(event)
	}
	l.Release()
}

// Release sends an event that was held back until after the next one.
func (l *Line) Release() {
	if l.held != nil {
		l.send(l.held)
		l.held = nil
	}
}

// send sends an event to one connection. Real platforms choose any; here they take turns.
func (l *Line) send(event []byte) {
	if l.hook != "" {
		l.calls <- call{l.hook, event}
		return
	}
	if len(l.conns) == 0 {
		return
	}
	l.sent++
	frames := [][]byte{event}
	if l.Frames != nil {
		frames = l.Frames(event, l.sent)
	}
	for _, b := range frames {
		l.conns[l.sent%len(l.conns)].Push(b)
	}
}

// post makes the calls of the webhook one after the other. Real platforms wait minutes and hours
// between attempts.
func (l *Line) post() {
	for {
		select {
		case <-l.stop:
			return
		case c := <-l.calls:
			for try := range l.Tries {
				if l.Call(c.url, c.event, try) {
					break
				}
			}
		}
	}
}

// Conn is one connection. It has its own lock.
type Conn struct {
	ws   *websocket.Conn
	kind websocket.MessageType

	mu     sync.Mutex
	out    [][]byte
	more   chan struct{}
	gone   bool
	silent bool
}

// NewConn returns a connection for messages of one kind.
func NewConn(ws *websocket.Conn, kind websocket.MessageType) *Conn {
	return &Conn{ws: ws, kind: kind, more: make(chan struct{}, 1)}
}

// Push queues a message.
func (c *Conn) Push(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		return
	}
	c.out = append(c.out, b)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// Cut ends the connection like a network failure.
func (c *Conn) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.gone = true
		go func() { _ = c.ws.CloseNow() }()
	}
}

func (c *Conn) silence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

// Write sends queued messages until ctx ends.
func (c *Conn) Write(ctx context.Context) {
	for {
		c.mu.Lock()
		batch, gone := c.out, c.gone
		c.out = nil
		c.mu.Unlock()
		for _, b := range batch {
			if gone || c.ws.Write(ctx, c.kind, b) != nil {
				return
			}
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return
		}
	}
}
