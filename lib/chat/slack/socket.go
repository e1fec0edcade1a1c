package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat/session"
)

// helloTime is how long Slack may take to begin.
const helloTime = 30 * time.Second

// socket is one connection of Socket Mode
// (https://docs.slack.dev/apis/events-api/using-socket-mode).
type socket struct {
	*session.Socket
	in  chan delivery
	say func(format string, args ...any)
}

// socketSession runs one connection to its end.
func (l *listening) socketSession(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	address, err := l.open(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := l.dial(ctx, address)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.hello(ctx); err != nil {
		return err
	}
	go session.Feed(ctx, s.in, s.next)
	go s.watch(ctx, l.o.Pulse)
	return l.receive(ctx, s.in)
}

// open requests the address of a connection; it is valid for one connection.
func (c *Client) open(ctx context.Context) (string, error) {
	var b []byte
	if err := c.app.Read(ctx, httpapi.Request{Method: http.MethodPost, Path: "apps.connections.open"},
		&b); err != nil {
		return "", c.explain(err)
	}
	address := gjson.GetBytes(b, "url").String()
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "wss" && u.Scheme != "ws" || u.Host == "" {
		return "", errors.New("apps.connections.open: no address")
	}
	return address, nil
}

func (l *listening) dial(ctx context.Context, address string) (*socket, error) {
	conn, _, err := session.Dial(ctx, address, l.o.HTTP, http.Header{"User-Agent": {"tri"}})
	if err != nil {
		// the address contains a ticket and must not be printed
		return nil, errors.New("websocket: cannot connect")
	}
	return &socket{Socket: conn, in: make(chan delivery, session.Buffered), say: l.Logf}, nil
}

// close sends a close frame. Without it the connection counts among the ten of an app, and receives
// a part of its events, until Slack notices. Slack may never answer the close frame.
func (s *socket) close() {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_ = s.Close(websocket.StatusNormalClosure, "")
	}()
	select {
	case <-said:
	case <-time.After(time.Second):
		_ = s.CloseNow()
	}
}

// hello waits for Slack's hello: from then on events are sent to this connection.
func (s *socket) hello(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	_, b, err := s.Read(ctx)
	switch r := gjson.ParseBytes(b); {
	case err != nil:
		return fmt.Errorf("websocket: no hello: %w", err)
	case str(r, "type") == "disconnect":
		return closeError(str(r, "reason"))
	case str(r, "type") != "hello":
		return errors.New("websocket: no hello")
	default:
		if n := r.Get("num_connections").Int(); n > 1 {
			s.say("slack: %d connections are open for this app; each is sent a part of the events, and the rest is read back", n)
		}
	}
	return nil
}

// closeError returns the error for Slack's reason to end a connection.
func closeError(reason string) error {
	switch reason {
	case "warning", "refresh_requested":
		return session.ErrReconnect
	case "link_disabled":
		return sysexit.Hint(sysexit.Errorf(sysexit.Config, "socket mode was switched off for the app"),
			"switch it on (Settings > Socket Mode), or use listen:")
	}
	return fmt.Errorf("slack ends the connection: %.60q", reason)
}

// next reads one frame; ok is false if it contains no event.
func (s *socket) next(ctx context.Context) (delivery, bool) {
	_, b, err := s.Frame(ctx)
	switch {
	case err != nil:
		return delivery{End: err}, true
	case !json.Valid(b):
		s.say("slack: a frame of %d bytes is not understood, left out", len(b))
		return delivery{}, false
	}
	r := gjson.ParseBytes(b)
	if str(r, "type") == "disconnect" {
		return delivery{End: closeError(str(r, "reason"))}, true
	}
	id := str(r, "envelope_id")
	if id == "" {
		return delivery{}, false
	}
	return delivery{What: envelope{str(r, "type"), r.Get("payload")}, Done: func(err error) error {
		return s.acknowledge(id, err)
	}}, true
}

// acknowledge tells Slack that an envelope's event is durable; without it Slack sends the event
// again.
func (s *socket) acknowledge(id string, err error) error {
	if err != nil {
		return nil
	}
	b, err := json.Marshal(map[string]string{"envelope_id": id})
	if err != nil {
		return err
	}
	return s.Send(websocket.MessageText, b)
}

// watch closes a socket that does not answer pings: Slack's often fall silent without being closed.
func (s *socket) watch(ctx context.Context, pulse time.Duration) {
	s.Watch(ctx, pulse, func() bool {
		wait, cancel := context.WithTimeout(ctx, pulse)
		defer cancel()
		return s.Ping(wait) == nil
	})
}
