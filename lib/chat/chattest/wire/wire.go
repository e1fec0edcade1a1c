// Package wire carries a fake platform's events to its clients over WebSocket or
// webhook, with injected faults. The platform's own lock guards it.
package wire

import (
	"context"
	"slices"
	"sync"

	"github.com/coder/websocket"
)

// Faults are how often, between 0 and 1, things go wrong.
type Faults struct {
	Cut       float64 // every connection ends before an event, which is not sent again
	Duplicate float64 // an event comes twice
	Reorder   float64 // it comes after the next one
	Lose      float64 // it never comes
}

// Line is a platform's way to its clients.
type Line struct {
	// Roll says whether what is as likely as that happens now.
	Roll func(likely float64) bool
	// Frames are an event as it goes over a connection; nil: as it is. n counts the
	// events that were sent.
	Frames func(event []byte, n int) [][]byte
	// Call posts an event to a webhook, for the try-th time, and says whether it was
	// taken.
	Call func(url string, event []byte, try int) (taken bool)
	// Tries is how often an event is posted that is not taken.
	Tries int

	conns []*Conn
	sent  int
	held  []byte // comes after the next one
	hook  string
	calls chan call
	stop  chan struct{}
}

type call struct {
	url   string
	event []byte
}

// Open makes the line ready.
func (l *Line) Open() {
	l.calls, l.stop = make(chan call, 1<<16), make(chan struct{})
	go l.post()
}

// Close ends it and its connections.
func (l *Line) Close() {
	close(l.stop)
	l.Cut()
}

// Add takes a connection in: it is sent events from now on.
func (l *Line) Add(c *Conn) { l.conns = append(l.conns, c) }

// Remove takes a connection out that has ended.
func (l *Line) Remove(c *Conn) {
	l.conns = slices.DeleteFunc(l.conns, func(o *Conn) bool { return o == c })
}

// Len is how many connections there are.
func (l *Line) Len() int { return len(l.conns) }

// Push sends something to every connection that is no event.
func (l *Line) Push(b []byte) {
	for _, c := range l.conns {
		c.Push(b)
	}
}

// Cut ends every connection, as a network does.
func (l *Line) Cut() {
	for _, c := range l.conns {
		c.Cut()
	}
	l.conns = nil
}

// Silence leaves every connection open and never uses it again, as a network that
// fell away does.
func (l *Line) Silence() {
	for _, c := range l.conns {
		c.silence()
	}
	l.conns = nil
}

// Hook has events be posted to an address instead. Hooked says whether they are.
func (l *Line) Hook(url string) { l.hook = url }
func (l *Line) Hooked() bool    { return l.hook != "" }

// Deliver sends an event, if nothing goes wrong.
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

// Release sends what was to come after the next event.
func (l *Line) Release() {
	if l.held != nil {
		l.send(l.held)
		l.held = nil
	}
}

// send gives an event to one connection. Platforms say that it may be any; here it
// is each in its turn.
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

// post makes the calls of the webhook, one after the other. Platforms wait minutes
// and hours before they try again.
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

// Conn is one connection. It has a lock of its own.
type Conn struct {
	ws   *websocket.Conn
	kind websocket.MessageType

	mu     sync.Mutex
	out    [][]byte
	more   chan struct{}
	gone   bool
	silent bool
}

// NewConn is a connection whose messages are of a kind.
func NewConn(ws *websocket.Conn, kind websocket.MessageType) *Conn {
	return &Conn{ws: ws, kind: kind, more: make(chan struct{}, 1)}
}

// Push has a message be sent.
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

// Cut ends the connection as a network does.
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

// Write sends what is pushed until ctx ends.
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
