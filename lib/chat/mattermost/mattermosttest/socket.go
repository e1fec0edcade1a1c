package mattermosttest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

// kept is how many events of a connection the server keeps for a resume (platform.deadQueueSize).
const kept = 128

// socket is the server's state of a connection, which outlives the TCP connection. Server.mu guards
// it.
type socket struct {
	s     *Server
	id    string
	user  *User
	sent  []event // the last events sent, by number
	next  int64   // the next event's number
	held  *event  // held back until after the next event
	conn  *websocket.Conn
	wake  chan struct{}
	wrote int64 // the number of the next event for conn
}

type event struct {
	Event     string         `json:"event"`
	Data      map[string]any `json:"data"`
	Broadcast map[string]any `json:"broadcast"`
	Seq       int64          `json:"seq"`
}

// tell queues an event. s.mu is held.
func (k *socket) tell(kind string, data, broadcast map[string]any) {
	e := event{Event: kind, Data: data, Broadcast: broadcast}
	if k.held == nil && kind != "hello" && k.s.roll(k.s.faults.Reorder) {
		k.held = &e
		time.AfterFunc(20*time.Millisecond, func() {
			k.s.mu.Lock()
			defer k.s.mu.Unlock()
			k.release()
		})
		return
	}
	k.queue(e)
	if k.s.roll(k.s.faults.Duplicate) {
		k.queue(e)
	}
	k.release()
}

func (k *socket) release() {
	if e := k.held; e != nil {
		k.held = nil
		k.queue(*e)
	}
}

func (k *socket) queue(e event) {
	e.Seq = k.next
	k.next++
	if e.Event != "hello" && k.s.roll(k.s.faults.Lose) {
		return
	}
	k.sent = append(k.sent, e)
	if n := len(k.sent) - kept; n > 0 {
		k.sent = append([]event(nil), k.sent[n:]...)
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// connect handles the WebSocket. A known connection id continues at the client's position, if its
// events are still kept; otherwise a new connection begins with hello. Without a token nothing is
// ever sent.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has sent a response
	}
	defer func() { _ = conn.CloseNow() }()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	s.mu.Lock()
	s.requests["websocket"]++
	u := s.caller(r)
	if u == nil {
		s.mu.Unlock()
		return
	}
	k := s.resume(u, r.URL.Query().Get("connection_id"), r.URL.Query().Get("sequence_number"))
	if k.conn != nil {
		_ = k.conn.CloseNow()
	}
	k.conn = conn
	s.mu.Unlock()
	go k.read(ctx, cancel, conn)
	k.write(ctx, conn)
}

func (s *Server) resume(u *User, id, sequence string) *socket {
	seq, err := strconv.ParseInt(sequence, 10, 64)
	if k := s.sockets[id]; k != nil && k.user == u && err == nil && k.remembers(seq) {
		k.wrote = seq
		return k
	}
	k := &socket{s: s, id: s.id(), user: u, wake: make(chan struct{}, 1)}
	s.sockets[k.id] = k
	k.tell("hello", map[string]any{"connection_id": k.id, "server_version": "9.9.0.fake"},
		map[string]any{"user_id": u.ID})
	return k
}

func (k *socket) remembers(seq int64) bool {
	if seq == k.next {
		return true
	}
	for _, e := range k.sent {
		if e.Seq == seq {
			return true
		}
	}
	return false
}

// read answers pings, whose replies are not numbered.
func (k *socket) read(ctx context.Context, cancel func(), conn *websocket.Conn) {
	defer cancel()
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var asked struct {
			Action string `json:"action"`
			Seq    int64  `json:"seq"`
		}
		if json.Unmarshal(b, &asked) != nil || asked.Action != "ping" {
			continue
		}
		k.s.mu.Lock()
		k.s.requests["ping"]++
		mute := k.s.mute
		k.s.mu.Unlock()
		if !mute {
			k.send(ctx, conn, map[string]any{"status": "OK", "data": map[string]any{"text": "pong"},
				"seq_reply": asked.Seq})
		}
	}
}

// write sends queued events until the connection ends.
func (k *socket) write(ctx context.Context, conn *websocket.Conn) {
	for {
		e, ok, cut := k.take(conn)
		switch {
		case cut:
			return
		case ok:
			if !k.send(ctx, conn, e) {
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		}
	}
}

// take returns the next event for conn, and whether conn is to be cut instead.
func (k *socket) take(conn *websocket.Conn) (e event, ok, cut bool) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if k.conn != conn {
		return e, false, true // resumed by another connection
	}
	if k.s.mute {
		return e, false, false
	}
	for _, e := range k.sent {
		if e.Seq >= k.wrote {
			if e.Event != "hello" && k.s.roll(k.s.faults.Close) {
				return e, false, true
			}
			k.wrote = e.Seq + 1
			return e, true, false
		}
	}
	return e, false, false
}

func (k *socket) send(ctx context.Context, conn *websocket.Conn, v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	ctx, cancel := waitFor(ctx)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, b) == nil
}

// CutSockets breaks every connection. With forget the server discards their state, as a restart
// does.
func (s *Server) CutSockets(forget bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.sockets {
		if k.conn != nil {
			_ = k.conn.CloseNow()
		}
		if forget {
			delete(s.sockets, id)
		}
	}
}

// Mute keeps connections open but sends nothing on them, like a dead network.
func (s *Server) Mute(mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = mute
	for _, k := range s.sockets {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// Garble sends half a record, and then one of 9 MiB, to every connection.
func (s *Server) Garble() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		if k.conn == nil {
			continue
		}
		conn := k.conn
		go func() {
			ctx, cancel := waitFor(context.Background())
			defer cancel()
			for _, noise := range [][]byte{[]byte(`{"event":"posted","data":{"post":"{"`),
				make([]byte, 9<<20)} {
				if conn.Write(ctx, websocket.MessageText, noise) != nil {
					return
				}
			}
		}()
	}
}
