package account

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gotd/td/bin"
	"github.com/gotd/td/exchange"
	"github.com/gotd/td/telegram"
	"github.com/gotd/td/telegram/dcs"
	"github.com/gotd/td/tg"
	"github.com/gotd/td/tgerr"
	"github.com/gotd/td/tgtest"
	"github.com/gotd/td/transport"

	"tri/lib/base/durable"
	"tri/lib/record/presence"
	"tri/lib/record/thread"
)

// server is gotd's own server of the protocol, of which the tests see each request.
type server struct {
	*tgtest.Server
	*tgtest.Dispatcher
	key  exchange.PublicKey
	port int

	mu    sync.Mutex
	seen  map[string]bool // names of requests, wrappers included
	last  tgtest.Session
	login bool // the account is logged in
}

// self is the account.
var self = &tg.User{ID: 777, Self: true}

func newServer(t *testing.T) *server {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Dispatcher: tgtest.NewDispatcher(), seen: map[string]bool{}, login: true,
		port: socket.Addr().(*net.TCPAddr).Port}
	s.Server = tgtest.NewServer(tgtest.NewPrivateKey(key), tgtest.HandlerFunc(s.see),
		tgtest.ServerOptions{DC: 2})
	s.key = s.Server.Key()
	s.HandleFunc(tg.HelpGetConfigRequestTypeID, func(_ *tgtest.Server, r *tgtest.Request) error {
		return s.SendResult(r, &tg.Config{ThisDC: 2, DCOptions: s.addresses()})
	})
	s.HandleFunc(tg.UsersGetUsersRequestTypeID, s.self)
	s.Fallback(tgtest.HandlerFunc(func(*tgtest.Server, *tgtest.Request) error {
		return tgerr.New(400, "NOT_HERE")
	}))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, transport.ListenCodec(nil, socket)) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s
}

func (s *server) addresses() []tg.DCOption {
	return []tg.DCOption{{ID: 2, IPAddress: "127.0.0.1", Port: s.port, Static: true}}
}

// use directs a client to the server.
func (s *server) use(o *telegram.Options) {
	o.DC, o.DCList = 2, dcs.List{Options: s.addresses()}
	o.PublicKeys, o.Resolver = []exchange.PublicKey{s.key}, dcs.Plain(dcs.PlainOptions{})
	o.RetryInterval = 100 * time.Millisecond
}

// peeked is the type of a request within another.
type peeked struct{ id uint32 }

func (p *peeked) Decode(b *bin.Buffer) (err error) { p.id, err = b.PeekID(); return err }
func (p *peeked) Encode(*bin.Buffer) error         { return errors.New("only decoded") }

// see notes a request with its wrappers, and has it answered.
func (s *server) see(srv *tgtest.Server, r *tgtest.Request) error {
	b := &bin.Buffer{Buf: slices.Clone(r.Buf.Buf)}
	for {
		id, err := b.PeekID()
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.seen[nameOf(id)] = true
		s.mu.Unlock()
		var outer bin.Decoder
		switch id {
		case tg.InvokeWithLayerRequestTypeID:
			outer = &tg.InvokeWithLayerRequest{Query: &peeked{}}
		case tg.InitConnectionRequestTypeID:
			outer = &tg.InitConnectionRequest{Query: &peeked{}}
		case tg.InvokeWithoutUpdatesRequestTypeID:
			outer = &tg.InvokeWithoutUpdatesRequest{Query: &peeked{}}
		default:
			return tgtest.UnpackInvoke(s.Dispatcher).OnMessage(srv, r)
		}
		if err := outer.Decode(b); err != nil {
			return err
		}
	}
}

// self answers users.getUsers.
func (s *server) self(_ *tgtest.Server, r *tgtest.Request) error {
	s.mu.Lock()
	s.last = r.Session
	login := s.login
	s.mu.Unlock()
	if !login {
		return tgerr.New(401, "AUTH_KEY_UNREGISTERED")
	}
	return s.SendVector(r, self)
}

// logIn says whether the account is logged in.
func (s *server) logIn(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login = yes
}

// got returns what the server has seen, sorted.
func (s *server) got() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// update sends an update to the client that came last.
func (s *server) update(t *testing.T, u tg.UpdateClass) {
	t.Helper()
	s.mu.Lock()
	to := s.last
	s.mu.Unlock()
	if err := s.SendUpdates(t.Context(), to, u); err != nil {
		t.Fatal(err)
	}
}

// said collects what a program says.
type said struct {
	mu  sync.Mutex
	all string
}

func (s *said) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all += fmt.Sprintf(format, args...) + "\n"
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// wait waits until the program has said something.
func (s *said) wait(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.String(), what); {
		if time.Now().After(end) {
			t.Fatalf("it said %q", s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// at returns options of an account at the server, with a home and a session of its own.
func (s *server) at(t *testing.T) (Options, *said) {
	t.Helper()
	home, said := newHome(t), new(said)
	return Options{Home: home, Chats: []string{"-5", "-1000000000009"}, APIID: 1, APIHash: "hash",
		Session: filepath.Join(t.TempDir(), "session"), Say: said.say, server: s.use}, said
}

func newHome(t testing.TB) *durable.Home {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	home, err := durable.MakeHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { home.Close() })
	return home
}

// asks opens an item of a person in a chat.
func asks(t testing.TB, home *durable.Home, chat, user string) {
	t.Helper()
	item := &thread.Thread{Key: "telegram." + chat[1:] + "." + user, Platform: "telegram", ChatID: chat,
		ThreadID: "1", OriginalSenderID: user, Status: thread.Investigating}
	if err := item.Save(home); err != nil {
		t.Fatal(err)
	}
}

// typed waits until the home's record has n indicators, and returns them.
func typed(t *testing.T, home *durable.Home, n int) []presence.Typing {
	t.Helper()
	var all []presence.Typing
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if all = presence.Read(home, time.Now()); len(all) == n {
			return all
		}
	}
	t.Fatalf("%d indicators, want %d: %+v", len(all), n, all)
	return nil
}

func inGroup(user int64, action tg.SendMessageActionClass) tg.UpdateClass {
	return &tg.UpdateChatUserTyping{ChatID: 5, FromID: &tg.PeerUser{UserID: user}, Action: action}
}

func inChannel(user int64, action tg.SendMessageActionClass) tg.UpdateClass {
	return &tg.UpdateChannelUserTyping{ChannelID: 9, TopMsgID: 3, FromID: &tg.PeerUser{UserID: user},
		Action: action}
}
