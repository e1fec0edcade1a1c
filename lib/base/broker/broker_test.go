package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tri/lib/base/config"
)

// TestFinish: a publisher ends once the whole lines are acknowledged; a torn one is never sent. It does not
// end while it cannot tell, and a missing file has no line.
func TestFinish(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "events.ndjson")
	if err := os.WriteFile(log, []byte("{\"a\":1}\n{\"to"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file  string
		acked int64
		want  bool
	}{{log, 0, false}, {log, 8, true}, {dir, 8, false}, {log + ".none", 0, true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			done := make(chan struct{})
			close(done)
			p := &Publisher{File: tt.file}
			p.acked.Store(tt.acked)
			ended := false
			if p.finish(ctx, done, func() { ended = true }); ended != tt.want {
				t.Errorf("%s with %d bytes acknowledged ended: %t", tt.file, tt.acked, ended)
			}
		})
	}
}

// TestStoreHoldsAll: the server sets aside what its streams may grow to, and refuses one that no longer
// fits; the written configuration has room for all of them.
func TestStoreHoldsAll(t *testing.T) {
	m := regexp.MustCompile(`max_file_store: (\d+)GB`).FindStringSubmatch(serverConf)
	if m == nil {
		t.Fatal("no max_file_store")
	}
	room, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if need := int64(len(logs))*maxLog + maxWork + maxResults; room<<30 < need {
		t.Errorf("%d GB for %d bytes", room, need)
	}
}

// TestBatchBreaksOff: a link that is too slow for a whole batch delivers what came of it.
func TestBatchBreaksOff(t *testing.T) {
	n := 0
	lines, err := gather(func() (*nats.Msg, error) {
		if n == 3 {
			return nil, context.DeadlineExceeded
		}
		m := nats.NewMsg("x")
		m.Data = []byte("a\n")
		m.Header.Set(headerLog, "0123456789ab")
		m.Header.Set(headerOffset, strconv.Itoa(2*n))
		n++
		m.Header.Set(jetstream.SequenceHeader, strconv.Itoa(n))
		return m, nil
	})
	if err != nil || len(lines) != 3 || lines[2].seq != 3 || lines[2].offset != 4 {
		t.Errorf("%d lines, %v: want the 3 that came", len(lines), err)
	}
	if _, err := gather(func() (*nats.Msg, error) { return nil, context.DeadlineExceeded }); err == nil {
		t.Error("no line and no answer: want an error")
	}
}

// TestTries: what the hub cancels is begun again as often as it asks; two deaths end a job.
func TestTries(t *testing.T) {
	begun, ended := 0, map[int]bool{}
	begin := func() (int, error) {
		return try(func(n int) (bool, error) {
			if n <= begun {
				return false, nil
			}
			begun = n
			return true, nil
		}, func(n int) (bool, error) { return ended[n], nil })
	}
	for want := 1; want <= 5; want++ { // the third dies, the others are cancelled
		if n, err := begin(); n != want || err != nil {
			t.Fatalf("try %d: %d, %v", want, n, err)
		}
		ended[want] = want != 3
	}
	if n, err := begin(); n != 6 || err != nil {
		t.Errorf("after one death: %d, %v", n, err)
	}
	if _, err := begin(); !errors.Is(err, ErrTwice) { // the sixth died too
		t.Errorf("after two deaths: %v", err)
	}
}

// TestInsist: without a stream a result waits for the hub to make it again; an answer that is lost costs 5
// seconds; what was stored before counts.
func TestInsist(t *testing.T) {
	lost, there := errors.New("lost"), &jetstream.APIError{ErrorCode: codeWrongLastSeq}
	for name, tt := range map[string]struct {
		answers []error
		want    error
		within  time.Duration
	}{
		"stored":                  {[]error{nil}, nil, 0},
		"another's":               {[]error{there}, ErrDone, 0},
		"no stream":               {[]error{jetstream.ErrNoStreamResponse, nats.ErrNoResponders, nil}, nil, time.Second},
		"stored, the answer lost": {[]error{lost, there}, nil, answer + time.Second},
		"lost":                    {[]error{lost, nil}, nil, answer + time.Second},
		"never":                   {slices.Repeat([]error{lost}, 100), context.DeadlineExceeded, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			n, begun := 0, time.Now()
			err := insist(ctx, func(ctx context.Context) error {
				if n++; errors.Is(tt.answers[n-1], lost) {
					<-ctx.Done()
					return ctx.Err()
				}
				return tt.answers[n-1]
			})
			if took := time.Since(begun); !errors.Is(err, tt.want) || took > tt.within ||
				tt.want == nil && n != len(tt.answers) {
				t.Errorf("%s: %v after %v and %d tries", name, err, took, n)
			}
		})
	}
}

// TestOlder: a server older than the one that was tried is refused, and one that names no version.
func TestOlder(t *testing.T) {
	for v, refused := range map[string]bool{"2.15.1": true, "2.9.99": true, "1.99.99": true, "": true, "devel": true,
		MinVersion: false, "2.15.10": false, "2.16.0-RC.1": false, "10.0.0": false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(c, "INFO {\"version\":%q,\"max_payload\":2097152,\"headers\":true}\r\n", v)
			for r := bufio.NewScanner(c); r.Scan(); {
				if r.Text() == "PING" {
					fmt.Fprint(c, "PONG\r\n")
				}
			}
		}()
		conn, err := Open(t.Context(), config.Nats{URL: "nats://" + l.Addr().String()}, "test", t.Logf)
		if errors.Is(err, errUnsuited) != refused || !refused && err != nil {
			t.Errorf("%q: %v", v, err)
		}
		if conn != nil {
			conn.Close()
		}
		l.Close()
	}
}
