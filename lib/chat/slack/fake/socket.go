package fake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// conn is one connection of Socket Mode.
type conn struct {
	ws *websocket.Conn

	mu   sync.Mutex
	out  [][]byte
	more chan struct{}
	gone bool
}

func (c *conn) push(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, b)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// cut ends the connection as a network does.
func (c *conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.gone = true
		go func() { _ = c.ws.CloseNow() }()
	}
}

func (c *conn) write(ctx context.Context) {
	for {
		c.mu.Lock()
		batch := c.out
		c.out = nil
		gone := c.gone
		c.mu.Unlock()
		for _, b := range batch {
			if gone || c.ws.Write(ctx, websocket.MessageText, b) != nil {
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

// connect is a client of Socket Mode, whose ticket was given out by
// apps.connections.open.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // clients name an origin of their own
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &conn{ws: ws, more: make(chan struct{}, 1)}
	s.mu.Lock()
	if len(s.conns) >= 10 { // the most that an app may have
		s.mu.Unlock()
		_ = ws.Write(ctx, websocket.MessageText, []byte(`{"type":"disconnect","reason":"too_many_websockets","debug_info":{"host":"fake"}}`))
		_ = ws.CloseNow()
		return
	}
	hello, _ := json.Marshal(M{"type": "hello", "num_connections": len(s.conns) + 1, "debug_info": M{"host": "fake", "approximate_connection_time": 18060}, "connection_info": M{"app_id": App}})
	c.push(hello)
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	go c.write(ctx)
	for {
		_, b, err := ws.Read(ctx)
		if err != nil {
			break
		}
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if json.Unmarshal(b, &ack) == nil && ack.ID != "" {
			s.mu.Lock()
			s.acks[ack.ID] = true
			s.mu.Unlock()
		}
	}
	c.cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
}

// Acked is how many envelopes were acknowledged, of how many.
func (s *Server) Acked() (n, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acks), s.events
}

// Disconnect has Slack ask every client for a new connection, or tell it why
// there will be none: warning, refresh_requested, link_disabled.
func (s *Server) Disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offline = reason == "link_disabled"
	for _, c := range s.conns {
		c.push(fmt.Appendf(nil, `{"type":"disconnect","reason":%q,"debug_info":{"host":"fake"}}`, reason))
	}
}

// Silence leaves every connection open and never uses it again, as a network
// that fell away does.
func (s *Server) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = nil
}

// Garble sends what no client understands.
func (s *Server) Garble() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.push([]byte(`{"type":"events_api","envelope_id":`))
		c.push([]byte(`{"type":"events_api","envelope_id":"g1","payload":{"event":{"type":"message","channel":7,"ts":{},"text":[]}}}`))
		c.push([]byte(`{"type":"events_api","envelope_id":"g2","payload":"no object"}`))
		c.push([]byte(`{"type":"hello"}`))
		c.push([]byte(`{"type":"events_api","padding":"` + strings.Repeat("x", 9<<20) + `"}`))
	}
}

// deliver sends an event to one of the connections, or to the webhook.
func (s *Server) deliver(inner M) {
	s.events++
	payload := M{
		"token": "verification", "team_id": Team, "api_app_id": App, "type": "event_callback", "event": inner,
		"event_id": fmt.Sprintf("Ev%08d", s.events), "event_time": time.Now().Unix(),
		"authorizations": []M{{"team_id": Team, "user_id": BotUser, "is_bot": true}},
	}
	s.dispatch("events_api", payload)
}

func (s *Server) interact(payload M) {
	s.events++
	s.dispatch("interactive", payload)
}

func (s *Server) dispatch(kind string, payload M) {
	var b []byte
	if s.hook == "" {
		b, _ = json.Marshal(M{"type": kind, "envelope_id": fmt.Sprintf("env-%d", s.events), "payload": payload, "accepts_response_payload": false, "retry_attempt": 0, "retry_reason": ""})
	} else if b, _ = json.Marshal(payload); kind == "interactive" {
		b = []byte(url.Values{"payload": {string(b)}}.Encode())
	}
	switch {
	case s.roll(s.faults.Lose):
		return
	case s.roll(s.faults.Cut):
		for _, c := range s.conns {
			c.cut()
		}
		s.conns = nil
		return
	case s.held == nil && s.roll(s.faults.Reorder):
		s.held = b
		return
	}
	s.send(b)
	if s.roll(s.faults.Duplicate) {
		s.send(b)
	}
	if s.held != nil {
		s.send(s.held)
		s.held = nil
	}
}

// send is a delivery to one connection, each in its turn: Slack says that it may
// be any.
func (s *Server) send(b []byte) {
	if s.hook != "" {
		s.calls <- call{s.hook, b}
		return
	}
	if len(s.conns) > 0 {
		s.turn++
		s.conns[s.turn%len(s.conns)].push(b)
	}
}

type call struct {
	url  string
	body []byte
}

// Hook has events be posted to an address, instead of over Socket Mode.
func (s *Server) Hook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = url
}

// post makes the calls of the webhook, one after the other, each up to four
// times. Slack waits a minute and five between the last ones.
func (s *Server) post() {
	for {
		select {
		case <-s.stop:
			return
		case c := <-s.calls:
			for try := range 4 {
				if s.Call(c.url, c.body, try) == http.StatusOK {
					break
				}
			}
		}
	}
}

// Call makes one signed call and says how it was answered; 0: not at all.
func (s *Server) Call(to string, body []byte, retry int) int {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	if bytes.HasPrefix(body, []byte("payload=")) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("X-Slack-Request-Timestamp", at)
	r.Header.Set("X-Slack-Signature", Sign(s.Secret, at, body))
	if retry > 0 {
		r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(retry))
		r.Header.Set("X-Slack-Retry-Reason", "http_timeout")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Sign is a request's signature, version v0.
func Sign(secret, at string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(m, "v0:%s:%s", at, body)
	return "v0=" + hex.EncodeToString(m.Sum(nil))
}
