package broker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tri/lib/base/broker"
	"tri/lib/base/broker/brokertest"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

// TestTwoHomes: two homes on one server, each with an account, have the same names of logs and queues and
// see nothing of each other.
func TestTwoHomes(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if _, err := broker.Init(other, []string{"127.0.0.1"}, 1); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(other, "nats-server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	_, account, found := strings.Cut(string(text), "  TRI {")
	if account = strings.TrimSuffix(account, "}\n"); !found {
		t.Fatal("no account")
	}
	dir, url := brokertest.Serve(t, strings.NewReplacer("accounts {\n", "accounts {\n  OTHER {"+account,
		"12GB", "30GB"))
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err == nil {
		err = os.WriteFile(filepath.Join(other, "ca.pem"), ca, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	id := strings.Repeat("0123456789abcdef", 2)
	for n, keys := range []string{dir, other} {
		open := func(role string) *broker.Conn { return brokertest.Open(t, keys, url, role) }
		home, log := t.TempDir(), filepath.Join(t.TempDir(), "events.ndjson")
		if err := os.WriteFile(log, fmt.Appendf(nil, "{\"home\":%d}\n", n), 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		close(done)
		p := &broker.Publisher{Conn: open("watch"), Name: "events", File: log, Say: t.Logf}
		if err := p.Run(t.Context(), done); err != nil {
			t.Errorf("home %d: %v", n, err)
		}
		hub, err := open("hub").Hub(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = hub.Submit(t.Context(), id, fmt.Append(nil, "of home ", n))
		job, err1 := open("worker1").Take(t.Context())
		if err = errors.Join(err, err1); err != nil || string(job.Data) != fmt.Sprint("of home ", n) {
			t.Errorf("home %d: job %v, %v", n, job, err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		ended := make(chan error, 1)
		s := &broker.Subscriber{Conn: open("copy"), Name: "events", Out: filepath.Join(home, "events.ndjson"),
			Say: t.Logf}
		go func() { ended <- s.Run(ctx) }()
		for want, _ := os.ReadFile(log); ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if have, _ := os.ReadFile(s.Out); string(have) == string(want) {
				stop()
			}
		}
		stop()
		if err := <-ended; err != nil || !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("home %d has no copy: %v", n, err)
		}
	}
}

// TestExplained: what goes wrong with a server is said with what to do, and the status of a program that
// ends for it.
func TestExplained(t *testing.T) {
	for _, tt := range []struct {
		err         error
		status      int
		words, hint string
	}{
		{&jetstream.APIError{ErrorCode: 10047}, sysexit.TempFail, "disk is full", "free space"},
		{&jetstream.APIError{ErrorCode: 10077}, sysexit.TempFail, "disk is full", "sent again"},
		{&jetstream.APIError{ErrorCode: 10008}, sysexit.TempFail, "no leader", "more than half"},
		{nats.ErrNoResponders, sysexit.TempFail, "no leader", "more than half"},
		{jetstream.ErrAsyncPublishTimeout, sysexit.TempFail, "does not answer", "restarted"},
		{nats.ErrSlowConsumer, 0, "slow consumer", "read by number"},
		{nats.ErrPermissionViolation, sysexit.NoPerm, "permission", "another role"},
	} {
		err := broker.Explain(tt.err)
		status, _ := sysexit.Of(err)
		if tt.status != 0 && status != tt.status || !errors.Is(err, tt.err) ||
			!strings.Contains(err.Error(), tt.words) ||
			!strings.Contains(strings.Join(sysexit.Hints(err), ""), tt.hint) {
			t.Errorf("%v: status %d, %v, hints %q", tt.err, status, err, sysexit.Hints(err))
		}
	}
	var b strings.Builder
	if err := (&broker.Status{SkewS: 61}).Print(&b, false); err != nil || !strings.Contains(b.String(), "NTP") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestFull: a server without room for another stream is full by name, and the publisher tries again until it
// has room.
func TestFull(t *testing.T) {
	dir, url := brokertest.Serve(t, strings.NewReplacer("12GB", "100MB"))
	log := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(log, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	said := ""
	p := &broker.Publisher{Conn: brokertest.Open(t, dir, url, "watch"), Name: "events", File: log,
		Say: func(format string, args ...any) {
			said += strings.TrimSpace(args[1].(error).Error()) + args[2].(string)
			stop()
		}}
	if err := p.Run(ctx, nil); err != nil || !strings.Contains(said, "the server's disk is full") ||
		!strings.Contains(said, "hint: free space") {
		t.Errorf("%q, %v", said, err)
	}
}

// TestClosed: when the client gives up its connection for good, the program ends and says so.
func TestClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	late := make(chan struct{})
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "INFO {\"version\":%q,\"max_payload\":2097152,\"headers\":true}\r\n",
			broker.MinVersion)
		for r := bufio.NewScanner(c); r.Scan(); {
			if r.Text() == "PING" {
				fmt.Fprint(c, "PONG\r\n")
				break
			}
		}
		<-late
		fmt.Fprint(c, "-ERR 'Authentication Timeout'\r\n")
		<-t.Context().Done()
	}()
	conn, err := broker.Open(t.Context(), config.Nats{URL: "nats://" + l.Addr().String()}, "test", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	err = conn.Stay(ctx, func(ctx context.Context) error {
		close(late)
		<-ctx.Done()
		return ctx.Err()
	})
	if status, _ := sysexit.Of(err); status != sysexit.Unavailable ||
		!strings.Contains(err.Error(), "Authentication Timeout") {
		t.Errorf("%v", err)
	}
}
