package slacktest

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
	"strconv"
	"strings"
	"time"

	"tri/lib/chat/chattest/wire"

	"github.com/coder/websocket"
)

// connect handles a client of Socket Mode with a ticket issued by apps.connections.open.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	// clients differ in origin
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := wire.NewConn(ws, websocket.MessageText)
	s.mu.Lock()
	if s.line.Len() >= 10 { // the maximum of an app
		s.mu.Unlock()
		_ = ws.Write(ctx, websocket.MessageText,
			[]byte(`{"type":"disconnect","reason":"too_many_websockets","debug_info":{"host":"fake"}}`))
		_ = ws.CloseNow()
		return
	}
	hello, _ := json.Marshal(M{"type": "hello", "num_connections": s.line.Len() + 1,
		"debug_info":      M{"host": "fake", "approximate_connection_time": 18060},
		"connection_info": M{"app_id": App}})
	c.Push(hello)
	s.line.Add(c)
	s.mu.Unlock()
	go c.Write(ctx)
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
	c.Cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Remove(c)
}

// Acked returns how many envelopes were acknowledged, and how many were sent.
func (s *Server) Acked() (n, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acks), s.events
}

// Disconnect makes Slack ask every client for a new connection, or announce why there will be none:
// warning, refresh_requested, link_disabled.
func (s *Server) Disconnect(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offline = reason == "link_disabled"
	s.line.Push(fmt.Appendf(nil, `{"type":"disconnect","reason":%q,"debug_info":{"host":"fake"}}`, reason))
}

// Silence leaves every connection open but never uses it again, like a network that stops carrying
// data.
func (s *Server) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Silence()
}

// Garble sends data that no client can parse.
func (s *Server) Garble() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Push([]byte(`{"type":"events_api","envelope_id":`))
	s.line.Push([]byte(`{"type":"events_api","envelope_id":"g1","payload":{"event":{"type":"message","channel":7,"ts":{},"text":[]}}}`))
	s.line.Push([]byte(`{"type":"events_api","envelope_id":"g2","payload":"no object"}`))
	s.line.Push([]byte(`{"type":"hello"}`))
	s.line.Push([]byte(`{"type":"events_api","padding":"` + strings.Repeat("x", 9<<20) + `"}`))
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
	if !s.line.Hooked() {
		b, _ = json.Marshal(M{"type": kind, "envelope_id": fmt.Sprintf("env-%d", s.events),
			"payload": payload, "accepts_response_payload": false, "retry_attempt": 0, "retry_reason": ""})
	} else if b, _ = json.Marshal(payload); kind == "interactive" {
		b = []byte(url.Values{"payload": {string(b)}}.Encode())
	}
	s.line.Deliver(b, wire.Faults{Cut: s.faults.Cut, Duplicate: s.faults.Duplicate, Reorder: s.faults.Reorder,
		Lose: s.faults.Lose})
}

// Hook sets an address to which events are posted, instead of Socket Mode.
func (s *Server) Hook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Hook(url)
}

// Call makes one signed call and returns the status; 0: no response.
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

// Sign returns a request's signature, version v0.
func Sign(secret, at string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(m, "v0:%s:%s", at, body)
	return "v0=" + hex.EncodeToString(m.Sum(nil))
}
