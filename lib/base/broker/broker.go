// Package broker carries logs and jobs between machines over NATS JetStream, as a cable and not as a
// store: what a server loses is sent again from its file, or asked for again by its hub.
//
// Only tri-nats may import it. Three choices come from faults of version 2.15.2 and its client: order is
// held by Nats-Expected-Last-Sequence, since the same by message id has left a replica out for good;
// a copy reads by sequence numbers (direct get), since a consumer can hang after a leader's death; and
// nothing relies on the window in which the server recognizes repeated ids.
package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// MinVersion is the oldest server that the torture passed with.
const MinVersion = "2.15.2"

// MaxMessage is the size of the largest message, in bytes: a line of a log and its headers.
const MaxMessage = 2 << 20

// logs are the logs that can be carried, by the name of their file without .ndjson.
var logs = []string{
	"actions", "decisions", "discussions", "dispatch", "events", "events-classified", "events-threaded",
	"events-turns", "labels", "memory", "replies", "signals-done", "spend", "todos",
}

// Conn is a connection to the server. It reconnects by itself for ever.
type Conn struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	replicas int
	key      string // public, of this machine; "any" without one
	lost     chan struct{}
	Lease    time.Duration
}

// Open connects to the server of a configuration. say receives what goes wrong later.
func Open(ctx context.Context, cfg config.Nats, name string,
	say func(format string, args ...any)) (*Conn, error) {
	if cfg.URL == "" {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config, "the configuration has no nats.url"),
			"tri-nats init writes a server's configuration, and prints this one's")
	}
	opts := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.Timeout(5 * time.Second), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if err = Explain(err); say != nil {
				say("%v%s", err, hints(err))
			}
		}),
	}
	if cfg.CAFile != "" {
		opts = append(opts, nats.RootCAs(cfg.CAFile))
	}
	own := "any"
	if cfg.SeedFile != "" {
		key, public, err := login(cfg.SeedFile)
		if err != nil {
			return nil, err
		}
		opts, own = append(opts, key, nats.CustomInboxPrefix(inboxOf(public))), public
	}
	// The client reconnects for ever but after an error of the protocol, such as a login that the network
	// held up: then the program ends, and whatever started it starts it again.
	lost := make(chan struct{})
	nc, err := nats.Connect(cfg.URL, append(opts, nats.ClosedHandler(func(*nats.Conn) { close(lost) }))...)
	if err != nil {
		if err = Explain(err); len(sysexit.Hints(err)) == 0 {
			err = sysexit.With(sysexit.Unavailable, err)
		}
		return nil, fmt.Errorf("connect to %s: %w", cfg.URL, err)
	}
	c := &Conn{nc: nc, replicas: cfg.Replicas, key: own, lost: lost,
		Lease: time.Duration(cfg.LeaseS * float64(time.Second))}
	if err := suits(nc); err != nil {
		nc.Close()
		return nil, err
	}
	c.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(3*time.Second))
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect to %s: %w", cfg.URL, err)
	}
	return c, ctx.Err()
}

// Wait is Open for a program that stays: while no server answers, it tries again.
func Wait(ctx context.Context, cfg config.Nats, name string,
	say func(format string, args ...any)) (*Conn, error) {
	for said := false; ; said = true {
		c, err := Open(ctx, cfg, name, say)
		status, _ := sysexit.Of(err)
		if err == nil || status != sysexit.Unavailable || errors.Is(err, errUnsuited) {
			return c, err
		}
		if !said {
			say("%v; it is tried again", err)
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil, err
		}
	}
}

// Stay runs fn until it returns, or the client has given up the connection.
func (c *Conn) Stay(ctx context.Context, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- fn(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-c.lost:
		return sysexit.Hint(sysexit.Errorf(sysexit.Unavailable, "the connection to the server is closed: %v",
			c.nc.LastError()), "start it again; what was in hand is done again")
	}
}

// Close ends the connection.
func (c *Conn) Close() { c.nc.Close() }

func login(file string) (nats.Option, string, error) {
	refused := func(err error) error {
		return sysexit.Errorf(sysexit.Config, "read %s: %w", file, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, "", refused(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, "", sysexit.Hint(refused(errors.New("others can read it")), "chmod 600 "+file)
	}
	seed, err := os.ReadFile(file)
	if err != nil {
		return nil, "", refused(err)
	}
	pair, err := nkeys.ParseDecoratedUserNKey(seed)
	if err != nil {
		return nil, "", refused(errors.New("no NKEY seed of a user"))
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, "", refused(err)
	}
	return nats.Nkey(public, pair.Sign), public, nil
}

// inboxOf returns the prefix of the subjects on which a user is answered. A common one would let each
// read what the others are answered.
func inboxOf(public string) string { return "_INBOX_" + public }

var errUnsuited = errors.New("cannot be used")

// suits refuses a server that the torture has not passed with, or that refuses a long line.
func suits(nc *nats.Conn) error {
	if v := nc.ConnectedServerVersion(); older(v, MinVersion) {
		return sysexit.Hint(sysexit.Errorf(sysexit.Unavailable, "server %q %w: older than %s", v,
			errUnsuited, MinVersion), "older ones have lost streams or replicas; install "+MinVersion+" or newer")
	}
	if n := nc.MaxPayload(); n < MaxMessage {
		return sysexit.Hint(sysexit.Errorf(sysexit.Unavailable,
			"server %w: it takes messages of %d bytes, too short for a line", errUnsuited, n),
			"max_payload: 2MB in the server's configuration (tri-nats init)")
	}
	return nil
}

var numbers = lazyregexp.New(`^(\d+)\.(\d+)\.(\d+)`)

// older reports whether version a is before b; what is not a version is.
func older(a, b string) bool {
	x, y := numbers.FindStringSubmatch(a), numbers.FindStringSubmatch(b)
	if x == nil || y == nil {
		return true
	}
	for i := 1; i < 4; i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m < n
		}
	}
	return false
}

// JetStream's error codes: https://github.com/nats-io/nats-server/blob/main/server/errors.json.
const (
	codeNoResources  = 10023
	codeNoQuorum     = 10008
	codeNoStorage    = 10047
	codeFullStore    = 10077
	codeWrongLastSeq = 10071
)

// Explain adds to an error of the server or the client what to do about it.
func Explain(err error) error {
	var api *jetstream.APIError
	full := "free space on the server's disk, or raise max_file_store; nothing is lost, and it is sent again"
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && slices.Contains([]int{codeNoResources, codeNoStorage, codeFullStore},
		int(api.ErrorCode)):
		return sysexit.Hint(sysexit.Errorf(sysexit.TempFail, "the server's disk is full: %w", err), full)
	case errors.As(err, &api) && api.ErrorCode == codeNoQuorum,
		errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return sysexit.Hint(sysexit.Errorf(sysexit.TempFail, "no leader: %w", err),
			"more than half of the servers must run; nothing is lost, and it is tried again")
	case errors.Is(err, jetstream.ErrAsyncPublishTimeout): // 2.15.2 gives no answer when a write has failed
		return sysexit.Hint(sysexit.Errorf(sysexit.TempFail, "the server does not answer: %w", err),
			"a cut network, or a full disk, after which it has to be restarted (see its log); nothing is lost")
	case errors.Is(err, nats.ErrSlowConsumer):
		return sysexit.Hint(err,
			"this machine reads slower than it is sent; what it missed is read by number")
	case errors.Is(err, nats.ErrPermissionViolation), errors.Is(err, nats.ErrAuthorization):
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"nats.seed_file belongs to another role, or the server has other keys (tri-nats init)")
	}
	return err
}

func hints(err error) (s string) {
	for _, h := range sysexit.Hints(err) {
		s += "; hint: " + h
	}
	return s
}

// isWrongSequence reports whether the server refused a message since the stream or the subject does not
// end where the sender believes.
func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeWrongLastSeq
}

// ensure makes a stream, if it is not there.
func (c *Conn) ensure(ctx context.Context, s jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	st, err := c.js.Stream(ctx, s.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return st, Explain(err)
	}
	s.Replicas, s.MaxMsgSize, s.Storage = c.replicas, MaxMessage, jetstream.FileStorage
	st, err = c.js.CreateStream(ctx, s)
	return st, Explain(err)
}

// The sizes that streams may have, in bytes. The server sets them aside: max_file_store has to hold all.
const (
	maxLog     = 512 << 20
	maxWork    = 256 << 20
	maxResults = 2 << 30
)

func logStream(name string) string  { return "TRI_LOG_" + name }
func logSubject(name string) string { return "tri.log." + name }

func logConfig(name string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: logStream(name), Subjects: []string{logSubject(name)}, MaxBytes: maxLog,
		Discard:     jetstream.DiscardOld,
		AllowDirect: true, DenyDelete: true, DenyPurge: true,
	}
}

// known refuses a name that is not a log's: names are parts of subjects.
func known(name string) error {
	if !slices.Contains(logs, name) {
		return sysexit.Hint(sysexit.Errorf(sysexit.Usage, "no log is called %q", name),
			"there are: "+strings.Join(logs, ", "))
	}
	return nil
}

// pause waits before another try; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
