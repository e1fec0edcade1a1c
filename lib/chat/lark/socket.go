package lark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat/session"
)

// socket is one long connection: the server's frames are events, or the answers to pings, and each
// event is acknowledged by returning its frame.
type socket struct {
	*session.Socket
	service uint64
	pulse   time.Duration
	in      chan delivery
	say     func(format string, args ...any)
	parts   joiner
	heard   atomic.Bool // something was received since the last ping

	mu sync.Mutex // one writer at a time, which keeps the order of acknowledgements
}

// socketSession runs one connection to its end.
func (l *listening) socketSession(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	address, pulse, err := l.endpoint(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := l.dial(ctx, address)
	if err != nil {
		return err
	}
	defer s.Close(websocket.StatusNormalClosure, "")
	s.pulse = pulse
	go session.Feed(ctx, s.in, s.next)
	go s.watch(ctx)
	return l.receive(ctx, s.in)
}

// endpoint requests the address of a connection; it is valid for one connection.
func (c *Client) endpoint(ctx context.Context) (address *url.URL, pulse time.Duration, err error) {
	in := map[string]string{"AppID": c.o.ID, "AppSecret": c.o.Secret}
	r, err := c.repeat(ctx, func() (gjson.Result, error) {
		return c.send(ctx, httpapi.Request{Method: http.MethodPost, Path: "callback/ws/endpoint", JSON: in})
	})
	if err != nil {
		return nil, 0, c.explain(err)
	}
	address, err = url.Parse(str(r, "data.URL"))
	plain := strings.HasPrefix(c.o.URL, "http://") // on this machine, in a test
	if err != nil || address.Scheme != "wss" && (address.Scheme != "ws" || !plain) || address.Host == "" {
		return nil, 0, errors.New("callback/ws/endpoint: no address")
	}
	pulse = c.o.Pulse
	if pulse == 0 {
		pulse = time.Duration(min(max(r.Get("data.ClientConfig.PingInterval").Int(), 10), 300)) * time.Second
	}
	return address, pulse, nil
}

func (l *listening) dial(ctx context.Context, address *url.URL) (*socket, error) {
	conn, resp, err := session.Dial(ctx, address.String(), l.o.HTTP, http.Header{"User-Agent": {"tri"}})
	if err != nil {
		return nil, refusal(resp) // the address contains a ticket and must not be printed
	}
	service, err := strconv.ParseUint(address.Query().Get("service_id"), 10, 31)
	if err != nil {
		service = 0
	}
	return &socket{Socket: conn, service: service, in: make(chan delivery, session.Buffered),
		say: l.Logf}, nil
}

// refusal returns why the server rejected the connection; the reason is in headers of its own.
func refusal(resp *http.Response) error {
	if resp == nil {
		return errors.New("websocket: cannot connect")
	}
	code := resp.Header.Get("Handshake-Status")
	err := fmt.Errorf("websocket: refused: %.20q %.100q", code, resp.Header.Get("Handshake-Msg"))
	switch {
	case resp.Header.Get("Handshake-Autherrcode") == "1000040350":
		return fmt.Errorf("websocket: the app has as many connections as it may: %w", err)
	case code == "403" || code == "514":
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"Events & Callbacks > Mode of event subscription: long connection; and publish a version")
	}
	return err
}

// next reads one frame; ok is false if it contains no event, or only a part of one.
func (s *socket) next(ctx context.Context) (delivery, bool) {
	kind, b, err := s.Frame(ctx)
	if err != nil {
		return delivery{End: err}, true
	}
	s.heard.Store(true)
	f, err := parseFrame(b)
	if kind != websocket.MessageBinary || err != nil {
		s.say("lark: a frame of %d bytes is not understood, left out", len(b))
		return delivery{}, false
	}
	if f.Method != methodData {
		return delivery{}, false // a pong
	}
	payload, whole := s.parts.join(&f)
	if !whole {
		return delivery{}, false
	}
	if kind := f.get("type"); kind != "event" && kind != "card" || !json.Valid(payload) {
		s.say("lark: a payload of %d bytes is not understood, left out", len(payload))
		payload = nil
	}
	begun := time.Now()
	return delivery{What: gjson.ParseBytes(bytes.Clone(payload)), Done: func(err error) error {
		return s.answer(f, begun, err)
	}}, true
}

// answer tells the server that an event is durable, or that it must be sent again.
func (s *socket) answer(f frame, begun time.Time, problem error) error {
	code := http.StatusOK
	if problem != nil {
		code = http.StatusInternalServerError
	}
	var err error
	if f.Payload, err = json.Marshal(map[string]int{"code": code}); err != nil {
		return err
	}
	f.Headers = append(f.Headers, header{"biz_rt", strconv.FormatInt(time.Since(begun).Milliseconds(), 10)})
	return s.write(&f)
}

func (s *socket) write(f *frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Send(websocket.MessageBinary, f.bytes())
}

// watch sends pings, and closes a socket that does not answer them. The pings are frames of the
// protocol, not of WebSocket.
func (s *socket) watch(ctx context.Context) {
	silent := 0
	ping := func() bool {
		if s.heard.Swap(false) {
			silent = 0
		}
		silent++
		return silent <= 2 && s.write(&frame{Service: s.service, Method: methodControl,
			Headers: []header{{"type", "ping"}}}) == nil
	}
	_ = ping() // what fails is seen at the next
	s.Watch(ctx, s.pulse, ping)
}
