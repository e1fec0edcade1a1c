package mattermost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

// Times and sizes of the socket.
const (
	dialTime  = 15 * time.Second
	helloTime = 15 * time.Second
	maxFrame  = 8 << 20 // bytes: a post of 16,383 characters, escaped twice, with its properties
	buffered  = 1024    // frames read ahead while earlier ones are made durable
)

// frame is what comes over the socket: an event, or the reply to an action.
type frame struct {
	Event     string          `json:"event"`
	Data      json.RawMessage `json:"data"`
	Broadcast struct {
		ChannelID string `json:"channel_id"`
	} `json:"broadcast"`
	Seq int64 `json:"seq"` // counts the events of one connection, from 0

	err error // the socket's end; nothing follows
}

// socket is one connection to the server's WebSocket.
type socket struct {
	conn   *websocket.Conn
	frames chan frame
	asked  int64 // actions sent
}

// dial connects. With the id of an earlier connection the server goes on with
// it, if it still knows it: it repeats the events from seq on, and says hello
// under a new id if it cannot.
func (c *Client) dial(ctx context.Context, connection string, seq int64) (*socket, error) {
	u := c.base.JoinPath("api/v4/websocket")
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	if connection != "" {
		u.RawQuery = url.Values{"connection_id": {connection}, "sequence_number": {strconv.FormatInt(seq, 10)}}.Encode()
	}
	dialCtx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, resp, err := websocket.Dial(dialCtx, u.String(), &websocket.DialOptions{
		HTTPClient: c.http,
		HTTPHeader: http.Header{"Authorization": {"Bearer " + c.token}, "User-Agent": {"tri"}},
	})
	if resp != nil {
		c.seeClock(resp.Header.Get("Date"))
	}
	switch {
	case err != nil && resp != nil && resp.StatusCode >= 400:
		return nil, fmt.Errorf("websocket: %w", refusal(resp, nil))
	case err != nil:
		return nil, err
	}
	conn.SetReadLimit(maxFrame)
	return &socket{conn: conn, frames: make(chan frame, buffered)}, nil
}

// read fills frames until the socket or ctx ends. When frames is full it waits,
// and TCP makes the server wait, or give up on us: then we catch up later.
func (s *socket) read(ctx context.Context) {
	defer close(s.frames)
	for {
		f := frame{}
		_, b, err := s.conn.Read(ctx)
		if err == nil {
			err = json.Unmarshal(b, &f)
		}
		f.err = err
		select {
		case s.frames <- f:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// hello waits for the server's first event. What is posted before it may never
// be sent to us, so nothing can be taken for complete until it is here.
func (s *socket) hello(ctx context.Context) (frame, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	for {
		select {
		case f, ok := <-s.frames:
			if !ok || f.err != nil {
				return f, fmt.Errorf("websocket: no hello: %w", f.err)
			}
			if f.Event == "hello" {
				return f, nil
			}
		case <-ctx.Done():
			return frame{}, fmt.Errorf("websocket: no hello: %w", ctx.Err())
		}
	}
}

// connectionID is what a hello names this connection; "" on servers without
// reliable reconnect.
func (f *frame) connectionID() string {
	var data struct {
		ID string `json:"connection_id"`
	}
	if json.Unmarshal(f.Data, &data) != nil || !validID(data.ID) {
		return ""
	}
	return data.ID
}

// ping asks for a sign of life. It is an action and no WebSocket ping, which
// some servers and proxies answer by closing (mattermost-server issue 17197).
func (s *socket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	s.asked++
	return s.conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"action":"ping","seq":%d}`, s.asked))
}

// tooBig reports whether the socket ended because of a frame over the limit,
// which would come again if the connection were resumed.
func tooBig(err error) bool {
	return errors.Is(err, websocket.ErrMessageTooBig)
}
