package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/chat/session"
)

// Times and sizes of the socket.
const (
	dialTime  = 15 * time.Second
	helloTime = 30 * time.Second
	maxFrame  = 8 << 20 // bytes
	buffered  = 1024    // frames read ahead while earlier ones are made durable
)

// socket is one connection of Socket Mode
// (https://docs.slack.dev/apis/events-api/using-socket-mode). slack-go would connect
// again by itself; here that ends the socket, since what was missed is to be read back
// first. It acknowledges nothing by itself.
type socket struct {
	*socketmode.Client
	in    chan delivery
	logf  func(format string, args ...any)
	heard atomic.Int64 // when a byte last came, in Unix ns
	pulse time.Duration
}

// socketSession is one connection, to its end.
func (l *listening) socketSession(ctx context.Context) error {
	if _, err := l.me(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &socket{in: make(chan delivery, buffered), logf: l.Logf, pulse: l.o.Pulse}
	dialer := &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialTime, NetDialContext: s.dial, WriteBufferSize: 32 << 10}
	s.Client = socketmode.New(l.library(), socketmode.OptionDialer(dialer), socketmode.OptionReadLimit(maxFrame),
		socketmode.OptionPingInterval(l.o.Pulse), socketmode.OptionLog(log.New(nothing{}, "", 0)))
	ended := make(chan error, 1)
	go func() { ended <- s.RunContext(ctx) }()
	hello := time.NewTimer(helloTime)
	defer hello.Stop()
	for {
		select {
		case err := <-ended:
			return l.refused(err)
		case <-hello.C:
			return errors.New("websocket: no hello")
		case e := <-s.Events:
			if err := l.ends(s, e); err != nil {
				return err
			}
			if e.Type != socketmode.EventTypeHello {
				continue
			}
			if n := e.Request.NumConnections; n > 1 {
				l.Logf("slack: %d connections are open for this app; each is sent a part of the events, and the rest is read back", n)
			}
			go l.forward(ctx, s, ended)
			return l.receive(ctx, s.in)
		}
	}
}

type nothing struct{}

func (nothing) Write(b []byte) (int, error) { return len(b), nil }

// library is slack-go's client of the Web API, for what Socket Mode asks.
func (c *Client) library() *slack.Client {
	plain := http.Client{Timeout: httpapi.RequestTime}
	if c.o.HTTP != nil {
		plain.Transport = c.o.HTTP.Transport
	}
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return slack.New(c.o.Token, slack.OptionAppLevelToken(c.o.AppToken), slack.OptionAPIURL(c.o.URL), slack.OptionHTTPClient(&plain))
}

// dial notes when bytes come: Slack pings every few seconds.
func (s *socket) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return noting{conn, &s.heard}, err
}

type noting struct {
	net.Conn
	at *atomic.Int64
}

func (n noting) Read(b []byte) (int, error) {
	k, err := n.Conn.Read(b)
	if k > 0 {
		n.at.Store(time.Now().UnixNano())
	}
	return k, err
}

// forward fills in until the socket or ctx ends. When it is full it waits.
func (l *listening) forward(ctx context.Context, s *socket, ended <-chan error) {
	for {
		d, ok := delivery{}, true
		select {
		case <-ctx.Done():
			return
		case err := <-ended:
			if d.End = l.refused(err); d.End == nil {
				d.End = session.ErrReconnect
			}
		case e := <-s.Events:
			if d.End = l.ends(s, e); d.End == nil {
				d, ok = s.delivery(ctx, e)
			}
		}
		if !ok {
			continue
		}
		select {
		case s.in <- d:
		case <-ctx.Done():
			return
		}
		if d.End != nil {
			return
		}
	}
}

// ends is why e ends the connection, nil where it does not. slack-go does not say
// whether Slack asked for another connection, or this one broke.
func (l *listening) ends(s *socket, e socketmode.Event) error {
	switch d := e.Data.(type) {
	case *slack.ConnectingEvent:
		switch quiet := time.Since(time.Unix(0, s.heard.Load())); {
		case d.ConnectionCount == 0:
			return nil
		case quiet > s.pulse:
			return fmt.Errorf("websocket: no sign of life for %v", quiet.Round(time.Second))
		}
		return session.ErrReconnect
	case *slack.ConnectionErrorEvent:
		return l.refused(d.ErrorObj)
	case *slack.IncomingEventError:
		if e := (*json.SyntaxError)(nil); !errors.As(d.ErrorObj, &e) {
			return fmt.Errorf("websocket: %w", d.ErrorObj)
		}
		s.logf("slack: a frame is not understood, left out")
	}
	return nil
}

// delivery is what Slack has sent; false for what holds nothing. The library's own
// reading of an event is not used, and where it fails the frame is read all the same.
func (s *socket) delivery(ctx context.Context, e socketmode.Event) (delivery, bool) {
	var kind, id string
	var payload gjson.Result
	if bad, ok := e.Data.(*socketmode.ErrorBadMessage); ok {
		r := gjson.ParseBytes(bad.Message)
		kind, id, payload = str(r, "type"), str(r, "envelope_id"), r.Get("payload")
	} else if e.Request != nil {
		kind, id, payload = e.Request.Type, e.Request.EnvelopeID, gjson.ParseBytes(e.Request.Payload)
	}
	done := func(err error) error {
		if err != nil {
			return nil // what is not acknowledged comes again
		}
		return s.AckCtx(ctx, id, nil)
	}
	return delivery{What: envelope{kind, payload}, Done: done}, id != ""
}

// refused gives an error of connecting the meaning that those of the Web API have.
func (c *Client) refused(err error) error {
	no, busy, status := slack.SlackErrorResponse{}, (*slack.RateLimitedError)(nil), slack.StatusCodeError{}
	e := &httpapi.Error{}
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &busy):
		e.Status, e.After = http.StatusTooManyRequests, busy.RetryAfter
	case errors.As(err, &no):
		e.Status, e.Code = statusOf(no.Err), no.Err
		if no.Needed != "" {
			e.Text = "needs " + no.Needed
		}
	case errors.As(err, &status):
		e.Status = status.Code
	default:
		return errors.New("websocket: cannot connect") // the address is a ticket: it is in no error
	}
	err = c.explain(fmt.Errorf("apps.connections.open: %w", e))
	if e.Code != "" && e.Status < 500 && e.Status != http.StatusTooManyRequests && !session.IsPermanent(err) {
		// No wait makes Slack take it back.
		err = sysexit.Hint(sysexit.With(sysexit.Config, err), "is Socket Mode on (Settings > Socket Mode)? Else switch it on, or use listen:")
	}
	return err
}
