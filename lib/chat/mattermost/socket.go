package mattermost

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"tri/lib/base/httpapi"
	"tri/lib/chat/session"

	"github.com/coder/websocket"
)

// helloTime is how long the server may take to begin.
const helloTime = 15 * time.Second

// frame is a message of the socket: an event, or the reply to an action.
type frame struct {
	Event     string          `json:"event"`
	Data      json.RawMessage `json:"data"`
	Broadcast struct {
		ChannelID string `json:"channel_id"`
	} `json:"broadcast"`
	Seq int64 `json:"seq"` // sequence number of the connection's events, from 0
}

// socket is one connection to the server's WebSocket.
type socket struct {
	*session.Socket
	in    chan session.Delivery[frame]
	asked int64       // number of actions sent
	heard atomic.Bool // something was received since the last ping
}

// dial connects. With the id of an earlier connection, the server continues it if it still knows
// it: it repeats the events from seq on. If it cannot, it sends a hello with a new id.
func (c *Client) dial(ctx context.Context, connection string, seq int64) (*socket, error) {
	u := c.base.JoinPath("api/v4/websocket")
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	if connection != "" {
		u.RawQuery = url.Values{"connection_id": {connection},
			"sequence_number": {strconv.FormatInt(seq, 10)}}.Encode()
	}
	conn, resp, err := session.Dial(ctx, u.String(), c.o.HTTP,
		http.Header{"Authorization": {"Bearer " + c.o.Token}, "User-Agent": {"tri"}})
	switch {
	case err != nil && resp != nil && resp.StatusCode >= 300:
		return nil, fmt.Errorf("websocket: %w",
			&httpapi.Error{Status: resp.StatusCode, After: httpapi.RetryAfter(resp.Header)})
	case err != nil:
		return nil, err
	}
	return &socket{Socket: conn, in: make(chan session.Delivery[frame], session.Buffered)}, nil
}

// next reads one frame. When the socket is no longer read because too much is waiting, the server
// disconnects; then the gap is caught up later.
func (s *socket) next(ctx context.Context) (session.Delivery[frame], bool) {
	d := session.Delivery[frame]{Done: func(error) error { return nil }} // only a resume acknowledges
	_, b, err := s.Frame(ctx)
	if d.End = err; err == nil {
		if err := json.Unmarshal(b, &d.What); err != nil {
			d.End = fmt.Errorf("websocket: %w", err)
		}
	}
	s.heard.Store(true)
	return d, true
}

// watch closes a socket on which nothing arrives between two pulses.
func (s *socket) watch(ctx context.Context, pulse time.Duration) {
	s.heard.Store(true)
	s.Watch(ctx, pulse, func() bool { return (s.heard.Swap(false) || len(s.in) > 0) && s.ping() == nil })
}

// hello waits for the server's first event. Posts made before it may never be sent to this
// connection, so nothing can be assumed complete until it has arrived.
func (s *socket) hello(ctx context.Context) (f frame, err error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	for err == nil && f.Event != "hello" {
		var b []byte
		if _, b, err = s.Read(ctx); err == nil {
			f = frame{}
			err = json.Unmarshal(b, &f)
		}
	}
	if err != nil {
		return frame{}, fmt.Errorf("websocket: no hello: %w", err)
	}
	return f, nil
}

// connectionID returns the connection's id in a hello; "" on servers without reliable reconnect.
func (f *frame) connectionID() string {
	var data struct {
		ID string `json:"connection_id"`
	}
	if json.Unmarshal(f.Data, &data) != nil || !validID(data.ID) {
		return ""
	}
	return data.ID
}

// ping sends a ping as an action. WebSocket pings are not used because some servers and proxies
// close the connection in response (mattermost-server issue 17197).
func (s *socket) ping() error {
	s.asked++
	return s.Send(websocket.MessageText, fmt.Appendf(nil, `{"action":"ping","seq":%d}`, s.asked))
}
