package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Timeouts and sizes of a Socket.
const (
	dialTime  = 15 * time.Second
	writeTime = 10 * time.Second
	maxFrame  = 8 << 20 // bytes
	Buffered  = 1024    // frames read ahead while earlier ones are made durable
)

// Socket is a WebSocket whose end is explained.
type Socket struct {
	*websocket.Conn
	silent atomic.Bool // it was closed because nothing came
}

// Dial connects. resp, if not nil, is the answer to a request that failed. err contains the address.
func Dial(ctx context.Context, address string, client *http.Client,
	header http.Header) (s *Socket, resp *http.Response, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, address,
		&websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(maxFrame)
	return &Socket{Conn: conn}, nil, nil
}

// Frame reads one frame.
func (s *Socket) Frame(ctx context.Context) (websocket.MessageType, []byte, error) {
	kind, b, err := s.Read(ctx)
	switch {
	case err != nil && s.silent.Load():
		err = errors.New("websocket: no answer in time")
	case err != nil:
		err = fmt.Errorf("websocket: %w", err)
	}
	return kind, b, err
}

// Send writes one frame. It does not depend on a context of the session, which may have ended.
func (s *Socket) Send(kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if err := s.Write(ctx, kind, b); err != nil {
		return fmt.Errorf("websocket: %w", err)
	}
	return nil
}

// Watch calls alive at each pulse, and closes the socket when it returns false.
func (s *Socket) Watch(ctx context.Context, pulse time.Duration, alive func() bool) {
	t := time.NewTicker(pulse)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if !alive() && ctx.Err() == nil {
			s.silent.Store(true)
			_ = s.CloseNow()
			return
		}
	}
}
