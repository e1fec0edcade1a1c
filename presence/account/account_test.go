package account

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gotd/td/bin"
	"github.com/gotd/td/telegram"
	"github.com/gotd/td/tg"

	"tri/lib/base/sysexit"
)

// wire are the requests that may reach Telegram: the allowed ones, and the wrappers of gotd.
func wire() []string {
	names := []string{nameOf(tg.InitConnectionRequestTypeID), nameOf(tg.InvokeWithLayerRequestTypeID)}
	for id := range allowed {
		names = append(names, nameOf(id))
	}
	slices.Sort(names)
	return names
}

// TestOnlyAllowed: of all requests of the schema, seven pass; the error of each other one names it. A
// request in a wrapper does not pass either.
func TestOnlyAllowed(t *testing.T) {
	passed, all := 0, 0
	call := onlyAllowed(telegram.InvokeFunc(func(context.Context, bin.Encoder, bin.Decoder) error {
		passed++
		return nil
	}))
	for id, make := range tg.TypesConstructorMap() {
		request := make()
		if !strings.HasSuffix(reflect.TypeOf(request).Elem().Name(), "Request") {
			continue
		}
		query := reflect.ValueOf(request).Elem().FieldByName("Query")
		if query.Kind() == reflect.Interface && query.Type().Implements(reflect.TypeFor[bin.Encoder]()) {
			query.Set(reflect.ValueOf(&tg.HelpGetConfigRequest{})) // in the wrapper
		}
		all++
		before := passed
		err := call(t.Context(), request, nil)
		if allowed[id] {
			continue // without its fields it may not be encodable
		}
		if err == nil || passed != before || !strings.Contains(err.Error(), nameOf(id)) {
			t.Errorf("%s: %v", nameOf(id), err)
		}
	}
	if t.Logf("%d requests, %d pass", all, passed); all < 700 {
		t.Error("not the whole schema")
	}
	before := passed
	send := &tg.MessagesSendMessageRequest{Peer: &tg.InputPeerSelf{}, Message: "x"}
	for _, request := range []bin.Encoder{
		&tg.InvokeWithLayerRequest{Layer: tg.Layer, Query: send},
		&tg.InvokeWithoutUpdatesRequest{Query: send},
		&tg.InitConnectionRequest{Query: send},
		encoded{1, 2, 3},
		encoded(nil),
	} {
		if err := call(t.Context(), request, nil); err == nil || passed != before {
			t.Errorf("%T passes", request)
		}
	}
	if err := call(t.Context(), &tg.HelpGetConfigRequest{}, nil); err != nil || passed != before+1 {
		t.Error(err)
	}
}

// TestPage: the page lists the requests that may reach Telegram, and no others.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../tri-presence.1")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range regexp.MustCompile(`(?m)^\.It Li (\S+)$`).FindAllStringSubmatch(string(page), -1) {
		got = append(got, m[1])
	}
	for _, name := range wire() {
		name, _, _ = strings.Cut(name, "#")
		want = append(want, name)
	}
	if slices.Sort(got); !slices.Equal(got, want) || len(got) != 9 {
		t.Errorf("page: %q\ncode: %q", got, want)
	}
}

// TestWire: requests that are not allowed do not reach the server, those of a run do, and no others.
func TestWire(t *testing.T) {
	s := newServer(t)
	o, _ := s.at(t)
	_, store, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	client := o.client(telegram.Options{SessionStorage: store,
		UpdateHandler: newListener(o.Home, nil, time.Now)})
	err = client.Run(t.Context(), func(ctx context.Context) error {
		api := client.API()
		if _, err := client.Self(ctx); err != nil {
			return err
		}
		_, err := api.MessagesSendMessage(ctx, &tg.MessagesSendMessageRequest{Peer: &tg.InputPeerSelf{},
			Message: "hello", RandomID: 1})
		if err == nil || !strings.Contains(err.Error(), "messages.sendMessage") {
			t.Errorf("a message is sent: %v", err)
		}
		_, err = api.MessagesGetHistory(ctx, &tg.MessagesGetHistoryRequest{Peer: &tg.InputPeerSelf{}})
		if err == nil || !strings.Contains(err.Error(), "messages.getHistory") {
			t.Errorf("messages are read: %v", err)
		}
		_, err = api.MessagesSetTyping(ctx, &tg.MessagesSetTypingRequest{Peer: &tg.InputPeerSelf{},
			Action: &tg.SendMessageTypingAction{}})
		if err == nil || !strings.Contains(err.Error(), "messages.setTyping") {
			t.Errorf("typing is shown: %v", err)
		}
		_, err = api.UpdatesGetState(ctx) // after those in the same connection: they would have come before
		if err == nil || !strings.Contains(err.Error(), "NOT_HERE") {
			t.Errorf("updates.getState did not reach the server: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{nameOf(tg.HelpGetConfigRequestTypeID), nameOf(tg.InitConnectionRequestTypeID),
		nameOf(tg.InvokeWithLayerRequestTypeID), nameOf(tg.UpdatesGetStateRequestTypeID),
		nameOf(tg.UsersGetUsersRequestTypeID)}
	if got := s.got(); !slices.Equal(got, want) {
		t.Errorf("the server saw %q\nwant %q", got, want)
	}
}

// TestRun: typing of a person with an open item gets from the server into the home, in groups and
// channels; the run ends when it is stopped, and one without a login says what to do.
func TestRun(t *testing.T) {
	s := newServer(t)
	o, said := s.at(t)
	if err := Run(t.Context(), o); status(err) != sysexit.NoPerm ||
		!strings.Contains(strings.Join(sysexit.Hints(err), ""), "tri-presence login") {
		t.Fatalf("without a session: %v", err)
	}
	makeSession(t, o)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	said.wait(t, "listens as user 777")
	if err := Run(t.Context(), o); status(err) != sysexit.TempFail {
		t.Errorf("a second one: %v", err)
	}
	asks(t, o.Home, "-5", "11")
	asks(t, o.Home, "-1000000000009", "12")
	s.update(t, inGroup(10, &tg.SendMessageTypingAction{})) // asks nothing
	s.update(t, inGroup(11, &tg.SendMessageTypingAction{}))
	s.update(t, inChannel(12, &tg.SendMessageRecordAudioAction{}))
	all := typed(t, o.Home, 2)
	if all[0].ChatID != "-1000000000009" || all[0].UserID != "12" || all[0].Kind != "recording_voice" ||
		all[1].ChatID != "-5" || all[1].UserID != "11" || all[1].Kind != "typing" || all[1].ThreadID != "" {
		t.Errorf("%+v", all)
	}
	s.update(t, inGroup(11, &tg.SendMessageCancelAction{}))
	typed(t, o.Home, 1)

	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped: %v", err)
	}
	s.logIn(false) // the person ends the session in Telegram's settings
	if err := Run(t.Context(), o); status(err) != sysexit.NoPerm {
		t.Errorf("a session that was ended: %v", err)
	}
	o.Chats = nil
	if err := Run(t.Context(), o); status(err) != sysexit.Config {
		t.Errorf("without a chat: %v", err)
	}
}

// makeSession connects once, so that there is a session.
func makeSession(t *testing.T, o Options) {
	t.Helper()
	store, err := openStore(o.Session, o.Home)
	if err != nil {
		t.Fatal(err)
	}
	client := o.client(telegram.Options{SessionStorage: store,
		UpdateHandler: newListener(o.Home, nil, time.Now)})
	if err := client.Run(t.Context(), func(ctx context.Context) error {
		_, err := client.Self(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(o.Session)
	if err != nil || info.Mode() != 0o600 {
		t.Fatal(info, err)
	}
}

func status(err error) int {
	n, _ := sysexit.Of(err)
	return n
}

// TestSession: a session that others can read, or that lies in the home, is refused with 78; one that is
// stored replaces the file with mode 0600.
func TestSession(t *testing.T) {
	home := newHome(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "session")
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := func(file, why string) {
		t.Helper()
		_, err := openStore(file, home)
		if status(err) != sysexit.Config || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", file, err)
		}
	}
	refused(file, "others can read it")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openStore(file, home)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(file)
	if err := s.StoreSession(t.Context(), []byte(`{"Version":1}`)); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(file)
	if err != nil || after.Mode() != 0o600 || os.SameFile(before, after) {
		t.Errorf("stored in place: %v %v", after, err)
	}
	if text, err := s.LoadSession(t.Context()); string(text) != `{"Version":1}` || err != nil {
		t.Errorf("%q %v", text, err)
	}

	refused(home.Path("session"), "lies in the home")
	refused(home.Path("secrets/session"), "lies in the home")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(home.Dir(), link); err != nil {
		t.Fatal(err)
	}
	refused(filepath.Join(link, "session"), "lies in the home")
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	refused(filepath.Join(open, "session"), "others can write")
	if os.Geteuid() == 0 {
		if err := os.Chown(file, 12345, -1); err != nil {
			t.Fatal(err)
		}
		refused(file, "another user")
	}
}

// TestAway: without a server at the address, a run waits for the network and still ends when it is stopped.
func TestAway(t *testing.T) {
	s := newServer(t)
	o, _ := s.at(t)
	makeSession(t, o)
	tried := make(chan struct{}, 100)
	o.server = func(c *telegram.Options) {
		s.use(c)
		c.Resolver = away{tried}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	<-tried
	<-tried
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var none net.Error
	if err := explain(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}); status(err) != sysexit.Unavailable ||
		!errors.As(err, &none) {
		t.Error(err)
	}
}
