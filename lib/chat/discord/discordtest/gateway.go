package discordtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// kept is how many events of a session are kept for a resume.
const kept = 20000

// session outlives its connection, unless the client closes it with 1000 or 1001. Server.mu guards
// it.
type session struct {
	s      *Server
	id     string
	intent int
	seq    int64
	log    []M // the last events; the newest has the number seq
	held   *M  // held back until after the next event
	wrote  int64
	conn   *websocket.Conn
	wake   chan struct{}
}

// intents are the bits of which an event needs any.
var intents = map[string]int{
	"MESSAGE_CREATE": 1<<9 | 1<<12, "MESSAGE_UPDATE": 1<<9 | 1<<12, "MESSAGE_DELETE": 1<<9 | 1<<12,
	"MESSAGE_DELETE_BULK": 1 << 9,
	"TYPING_START":        1 << 11, "MESSAGE_REACTION_ADD": 1<<10 | 1<<13,
	"MESSAGE_REACTION_REMOVE": 1<<10 | 1<<13,
	"THREAD_CREATE":           1, "THREAD_UPDATE": 1, "CHANNEL_UPDATE": 1,
}

// tell queues an event for every session that subscribed to it. s.mu is held.
func (s *Server) tell(kind string, data M) {
	for _, k := range s.sessions {
		want := intents[kind]
		if strings.HasPrefix(kind, "MESSAGE_") && data["guild_id"] == nil {
			want &= 1<<12 | 1<<13 // private chat
		} else {
			want &^= 1<<12 | 1<<13
		}
		if intents[kind] != 0 && k.intent&want == 0 {
			continue
		}
		k.tell(kind, data)
	}
}

func (k *session) tell(kind string, data M) {
	e := M{"op": 0, "t": kind, "d": data}
	loud := kind == "READY" || kind == "GUILD_CREATE"
	if k.held == nil && !loud && k.s.roll(k.s.faults.Reorder) {
		k.held = &e
		time.AfterFunc(20*time.Millisecond, func() {
			k.s.mu.Lock()
			defer k.s.mu.Unlock()
			k.release()
		})
		return
	}
	k.queue(e, loud)
	if !loud && k.s.roll(k.s.faults.Duplicate) {
		k.queue(M{"op": 0, "t": kind, "d": data}, false)
	}
	k.release()
}

func (k *session) release() {
	if e := k.held; e != nil {
		k.held = nil
		k.queue(*e, false)
	}
}

func (k *session) queue(e M, loud bool) {
	k.seq++
	e["s"] = k.seq
	if !loud && k.s.roll(k.s.faults.Lose) {
		e = M{}
	}
	if k.log = append(k.log, e); len(k.log) > kept {
		k.log = append([]M(nil), k.log[len(k.log)-kept:]...)
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// connect handles the gateway.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has sent a response
	}
	defer func() { _ = conn.CloseNow() }()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	p := &peer{conn: conn}
	p.send(ctx, M{"op": 10, "d": M{"heartbeat_interval": s.Interval.Milliseconds()}})
	var k *session
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			if c := websocket.CloseStatus(err); k != nil && (c == 1000 || c == 1001) {
				s.mu.Lock()
				delete(s.sessions, k.id)
				s.mu.Unlock()
			}
			return
		}
		var f struct {
			Op   int             `json:"op"`
			Data json.RawMessage `json:"d"`
		}
		if json.Unmarshal(b, &f) != nil {
			_ = conn.Close(4002, "Error while decoding payload.")
			return
		}
		switch f.Op {
		case 1:
			s.mu.Lock()
			s.requests["heartbeat"]++
			mute := s.mute
			s.mu.Unlock()
			if !mute {
				p.send(ctx, M{"op": 11})
			}
		case 2, 6:
			if k != nil {
				_ = conn.Close(4005, "Already authenticated.")
				return
			}
			if k = s.admit(ctx, p, f.Op, f.Data); k != nil {
				go k.write(ctx, p)
			}
		}
	}
}

// peer is one connection.
type peer struct {
	conn *websocket.Conn
	mu   sync.Mutex
}

func (p *peer) send(ctx context.Context, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was parsed from JSON
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.conn.Write(ctx, websocket.MessageText, b) // the reader notices an error
}

// admit handles identify and resume. If it does not accept, it closes the connection or sends
// "invalid session", and returns nil.
func (s *Server) admit(ctx context.Context, p *peer, op int, data json.RawMessage) *session {
	var in struct {
		Token   string `json:"token"`
		Intents int    `json:"intents"`
		Session string `json:"session_id"`
		Seq     int64  `json:"seq"`
	}
	bad := json.Unmarshal(data, &in) != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case bad:
		go p.conn.Close(4002, "Error while decoding payload.")
		return nil
	case in.Token != Token || s.revoked:
		go p.conn.Close(4004, "Authentication failed.")
		return nil
	case s.close != 0:
		go p.conn.Close(websocket.StatusCode(s.close), "as told")
		return nil
	case op == 2 && in.Intents&(1<<15) != 0 && s.Flags&(1<<18|1<<19) == 0:
		go p.conn.Close(4014, "Disallowed intent(s).")
		return nil
	}
	if op == 2 {
		s.requests["identify"]++
		return s.identified(in.Intents, p)
	}
	s.requests["resume"]++
	k := s.sessions[in.Session]
	if k == nil || in.Seq > k.seq || in.Seq < k.seq-int64(len(k.log)) {
		go p.send(ctx, M{"op": 9, "d": false})
		return nil
	}
	if k.conn != nil {
		_ = k.conn.CloseNow()
	}
	k.conn, k.wrote = p.conn, in.Seq
	k.tell("RESUMED", M{})
	return k
}

func (s *Server) identified(intents int, p *peer) *session {
	k := &session{s: s, id: fmt.Sprintf("session%d", len(s.sessions)+s.requests["identify"]*1000),
		intent: intents, conn: p.conn, wake: make(chan struct{}, 1)}
	s.sessions[k.id] = k
	k.tell("READY", M{
		"v": 10, "user": self(), "guilds": []M{{"id": Guild, "unavailable": true}}, "session_id": k.id,
		"shard":              []int{0, 1},
		"resume_gateway_url": s.gateway(), "application": M{"id": Bot, "flags": s.Flags},
	})
	var channels, threads []M
	for _, id := range s.order {
		switch c := s.channels[id]; c["type"] {
		case 11:
			threads = append(threads, c)
		case 1:
		default:
			channels = append(channels, c)
		}
	}
	k.tell("GUILD_CREATE", M{
		"id": Guild, "name": "Fake", "owner_id": Person("ana")["id"], "roles": s.roles(), "emojis": []M{},
		"features": []string{}, "channels": channels, "threads": threads,
		"members": []M{{"user": self(), "roles": []string{BotRole}, "joined_at": "2020-01-01T00:00:00Z",
			"deaf": false, "mute": false, "flags": 0}},
		"presences": []M{}, "voice_states": []M{}, "member_count": 4, "stage_instances": []M{},
		"guild_scheduled_events": []M{}, "stickers": []M{},
		"joined_at": "2020-01-01T00:00:00Z", "large": false, "unavailable": false,
	})
	return k
}

func (s *Server) gateway() string {
	return "ws" + strings.TrimPrefix(s.http.URL, "http") + "/gateway"
}

// write sends the events that the session's connection has not received.
func (k *session) write(ctx context.Context, p *peer) {
	for {
		k.s.mu.Lock()
		if k.conn != p.conn {
			k.s.mu.Unlock()
			return
		}
		var next []byte
		first := k.seq - int64(len(k.log)) + 1
		mute := k.s.mute
		if k.wrote = max(k.wrote, first-1); !mute && k.wrote < k.seq {
			e := k.log[k.wrote-first+1]
			k.wrote++
			if e["t"] != nil {
				if e["t"] == "MESSAGE_CREATE" && k.s.roll(k.s.faults.Cut) {
					k.wrote--
					_ = p.conn.CloseNow()
					k.s.mu.Unlock()
					return
				}
				next, _ = json.Marshal(e)
			}
			k.s.mu.Unlock()
			if next != nil && p.conn.Write(ctx, websocket.MessageText, next) != nil {
				return
			}
			continue
		}
		k.s.mu.Unlock()
		select {
		case <-k.wake:
		case <-ctx.Done():
			return
		}
	}
}

// Cut breaks every connection; with forget no session can be resumed.
func (s *Server) Cut(forget bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.sessions {
		if k.conn != nil {
			_ = k.conn.CloseNow()
		}
		if forget {
			delete(s.sessions, id)
		}
	}
}

// Forget discards every session without closing its connection.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// Refuse closes connections on identify with a code; 0 ends that.
func (s *Server) Refuse(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close = code
}

// Mute keeps connections open but sends nothing.
func (s *Server) Mute(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = on
	for _, k := range s.sessions {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// Raw sends bytes to every connection.
func (s *Server) Raw(b []byte) {
	s.mu.Lock()
	var conns []*websocket.Conn
	for _, k := range s.sessions {
		if k.conn != nil {
			conns = append(conns, k.conn)
		}
	}
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.Write(context.Background(), websocket.MessageText, b)
	}
}

// Sessions returns how many sessions could be resumed.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}
