package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"tri/lib/base/sysexit"
	"tri/lib/chat/session"
)

const (
	helloTime = 20 * time.Second
	maxFrame  = 16 << 20 // bytes: the description of a very large server
)

// Opcodes (topics/opcodes-and-status-codes#gateway).
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
	opNoise     = -1 // local: a frame that cannot be parsed
)

// closeKeep is the close code that the client sends. After 1000 or 1001 Discord discards the
// session.
const closeKeep websocket.StatusCode = 4000

// frame is a message of the gateway.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// end returns why f ends the connection, or nil if it does not.
func (f *frame) end() error {
	switch {
	case f.Op == opReconnect:
		return session.ErrReconnect
	case f.Op == opInvalid && string(f.Data) == "true":
		return errors.New("the session is not resumed now")
	case f.Op == opInvalid:
		return errStale
	}
	return nil
}

// resumeState is the session to resume: its address, and the last durable event.
type resumeState struct {
	ID  string `json:"session_id"`
	URL string `json:"resume_gateway_url"`
	Seq int64  `json:"seq"`
}

// errStale means that the session cannot be resumed.
var errStale = errors.New("the session is over")

// socket is one connection to the gateway.
type socket struct {
	*session.Socket
	in    chan session.Delivery[frame]
	every time.Duration // between two heartbeats
	heard atomic.Bool   // whether the last heartbeat was acknowledged
	beat  chan struct{}
}

// dial connects to the gateway and reads its hello.
func (c *Client) dial(ctx context.Context, address string) (*socket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "wss" && (u.Scheme != "ws" || !c.bare) || u.Host == "" {
		return nil, fmt.Errorf("gateway %q: no address of a WebSocket", address)
	}
	u.RawQuery = url.Values{"v": {"10"}, "encoding": {"json"}}.Encode()
	if u.Path == "" {
		u.Path = "/"
	}
	conn, _, err := session.Dial(ctx, u.String(), c.http, nil)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	s := &socket{Socket: conn, in: make(chan session.Delivery[frame], session.Buffered),
		beat: make(chan struct{}, 1)}
	helloCtx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	f, err := s.next(helloCtx)
	var hello struct {
		Interval float64 `json:"heartbeat_interval"` // milliseconds
	}
	if err == nil && (f.Op != opHello || json.Unmarshal(f.Data, &hello) != nil || hello.Interval < 1) {
		err = errors.New("no hello")
	}
	if err != nil {
		_ = conn.CloseNow()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	s.every = time.Duration(hello.Interval * float64(time.Millisecond))
	return s, nil
}

// next reads one frame.
func (s *socket) next(ctx context.Context) (f frame, err error) {
	_, b, err := s.Read(ctx)
	if err != nil {
		return f, closed(err)
	}
	if json.Unmarshal(b, &f) != nil {
		f = frame{Op: opNoise}
	}
	return f, nil
}

// send writes one frame.
func (s *socket) send(op int, data any) error {
	b, err := json.Marshal(map[string]any{"op": op, "d": data})
	if err != nil {
		return err
	}
	return s.Send(websocket.MessageText, b)
}

// identify starts a session (events/gateway#identifying).
func (s *socket) identify(token string, intents int) error {
	return s.send(opIdentify, map[string]any{
		"token": token, "intents": intents, "large_threshold": 50,
		"properties": map[string]any{"os": runtime.GOOS, "browser": "tri", "device": "tri"},
	})
}

func (s *socket) resume(token string, of resumeState) error {
	return s.send(opResume, map[string]any{"token": token, "session_id": of.ID, "seq": of.Seq})
}

// ready waits until a new session has begun, and returns where it begins. Messages made before may
// never be sent to this connection.
func (s *socket) ready(ctx context.Context) (*resumeState, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	for {
		f, err := s.next(ctx)
		if err == nil {
			err = f.end()
		}
		if err != nil {
			return nil, fmt.Errorf("gateway: no session: %w", err)
		}
		if f.Type != "READY" {
			continue
		}
		var at resumeState
		if err := json.Unmarshal(f.Data, &at); err != nil {
			return nil, fmt.Errorf("gateway: READY: %w: %w", errStale, err)
		}
		at.Seq = f.Seq
		return &at, nil
	}
}

// deliver reads one frame and answers what concerns the connection itself. When too much is waiting,
// Discord is slowed down or disconnects; then the session is resumed.
func (s *socket) deliver(ctx context.Context) (session.Delivery[frame], bool) {
	d := session.Delivery[frame]{Done: func(error) error { return nil }} // only a resume acknowledges
	f, err := s.next(ctx)
	if err != nil {
		d.End = fmt.Errorf("gateway: %w", err)
		return d, true
	}
	s.heard.Store(true)
	switch f.Op {
	case opAck:
		return d, false
	case opHeartbeat:
		select {
		case s.beat <- struct{}{}:
		default:
		}
		return d, false
	}
	d.What, d.End = f, f.end()
	return d, true
}

// pulse sends heartbeats with the number of the last durable event, the first after a random part
// of the interval. If one is not acknowledged before the next, the connection is dead.
func (s *socket) pulse(ctx context.Context, durable *atomic.Int64, chance float64) {
	t := time.NewTimer(time.Duration(chance * float64(s.every)))
	defer t.Stop()
	s.heard.Store(true)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.beat:
		case <-t.C:
			if !s.heard.Swap(false) && len(s.in) < session.Buffered {
				_ = s.CloseNow() // read reports it
				return
			}
			t.Reset(s.every)
		}
		var seq any
		if n := durable.Load(); n > 0 {
			seq = n
		}
		if s.send(opHeartbeat, seq) != nil {
			_ = s.CloseNow()
			return
		}
	}
}

// Close codes of the gateway (topics/opcodes-and-status-codes#gateway-gateway-close-event-codes).
const (
	closeAuth       = 4004
	closeBadSeq     = 4007
	closeTimedOut   = 4009
	closeShard      = 4010
	closeSharding   = 4011
	closeVersion    = 4012
	closeIntents    = 4013
	closeDisallowed = 4014
)

// closed adds a status and a hint to a close reason that waiting does not resolve.
func closed(err error) error {
	switch websocket.CloseStatus(err) {
	case closeAuth:
		return refusedToken(err)
	case closeDisallowed:
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"Developer Portal > Bot > Privileged Gateway Intents: switch on MESSAGE CONTENT INTENT")
	case closeSharding:
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"the bot is in more servers than one connection may have (2,500): use a bot of your own")
	case closeShard, closeVersion, closeIntents:
		return sysexit.With(sysexit.Config, err)
	case closeBadSeq, closeTimedOut:
		return fmt.Errorf("%w: %w", errStale, err)
	}
	if errors.Is(err, websocket.ErrMessageTooBig) { // the same frame would arrive again
		return fmt.Errorf("%w: %w", errStale, err)
	}
	return err
}
