package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tri/lib/base/broker"
	"tri/lib/base/broker/brokertest"
)

// connect logs in with a role's key. denied receives the subjects that the server refuses.
func connect(dir, url, name string, denied chan<- string) (*nats.Conn, error) {
	seed := filepath.Join(dir, name+".seed")
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		return nil, err
	}
	return nats.Connect(url, nats.RootCAs(filepath.Join(dir, "ca.pem")), key,
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if m := violation.FindStringSubmatch(err.Error()); m != nil && denied != nil {
				denied <- strings.ToLower(m[1]) + " " + m[2]
			}
		}))
}

var violation = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]+)"`)

// TestNatsRoles asks the real server for every subject and every role: what RightsOf lists is allowed, and
// of everything else that any role has, and of administration, nothing.
func TestNatsRoles(t *testing.T) {
	dir, url := brokertest.Serve(t, nil)
	roles := map[string]string{"hub": broker.RoleHub, "watch": broker.RoleWatch, "copy": broker.RoleCopy,
		"worker1": broker.RoleWorker, "worker2": broker.RoleWorker}
	concrete := func(s string) string {
		return strings.NewReplacer("*", "x", ">", "x").Replace(s)
	}
	all := map[string]bool{}
	for _, s := range []string{"$JS.API.STREAM.DELETE.TRI_LOG_decisions",
		"$JS.API.STREAM.PURGE.TRI_LOG_decisions", "$JS.API.STREAM.UPDATE.TRI_LOG_decisions",
		"$JS.API.STREAM.MSG.DELETE.TRI_LOG_decisions", "$JS.API.CONSUMER.CREATE.TRI_LOG_decisions",
		"$JS.API.CONSUMER.CREATE.TRI_RESULT.x",
		"$JS.API.STREAM.MSG.GET.TRI_RESULT", "$JS.API.STREAM.NAMES", "$JS.API.ACCOUNT.PURGE.TRI",
		"$SYS.REQ.SERVER.PING", "tri.log.decisions.x", "other"} {
		all["publish "+s] = true
	}
	for _, s := range []string{">", "tri.>", "tri.work.*", "tri.result.*", "$JS.EVENT.>", "_INBOX.>",
		"tri.part.>"} {
		all["subscription "+s] = true
	}
	rights := map[string]map[string]bool{}
	for name, role := range roles {
		rights[name] = map[string]bool{}
		r := broker.RightsOf(role, publicOf(t, dir, name))
		for _, s := range r.Publish {
			rights[name]["publish "+concrete(s)] = true
		}
		for _, s := range r.Subscribe {
			rights[name]["subscription "+s] = true
		}
		for s := range rights[name] {
			all[s] = true
		}
	}
	// What is never so, whatever the lists say.
	other := publicOf(t, dir, "worker2")
	for name, never := range map[string][]string{
		"worker1": {"subscription tri.down." + other + ".x", "subscription tri.down.*.*",
			"publish tri.up." + other + ".x", "publish tri.log.decisions", "publish $JS.API.DIRECT.GET.TRI_LOG_events",
			"publish tri.work.x", "publish $JS.API.DIRECT.GET.TRI_RESULT.x", "subscription tri.log.*"},
		"watch": {"publish $JS.API.DIRECT.GET.TRI_LOG_replies", "publish tri.log.decisions",
			"publish tri.log.replies", "subscription tri.log.*"},
		"copy": {"publish tri.log.events", "publish tri.work.x", "publish tri.result.x"},
		"hub":  {"publish tri.result.x", "publish tri.start.x.x"},
	} {
		for _, s := range never {
			if covers(rights[name], s) {
				t.Errorf("%s may %s", name, s)
			}
			all[s] = true
		}
	}
	tried := 0
	for name := range roles {
		denied := make(chan string, 10000)
		nc, err := connect(dir, url, name, denied)
		if err != nil {
			t.Fatal(err)
		}
		for s := range all {
			verb, subject, _ := strings.Cut(s, " ")
			if verb == "publish" {
				err = nc.Publish(subject, nil)
			} else {
				_, err = nc.Subscribe(subject, func(*nats.Msg) {})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		want := 0
		for s := range all {
			if tried++; !covers(rights[name], s) {
				want++
			}
		}
		got := map[string]bool{}
		for end := time.After(20 * time.Second); len(got) < want; {
			select {
			case s := <-denied:
				got[s] = true
			case <-end:
				end = nil
				for s := range all {
					if !covers(rights[name], s) && !got[s] {
						t.Errorf("%s may %s", name, s)
					}
				}
				want = 0
			}
		}
		if err := nc.FlushTimeout(5 * time.Second); err != nil {
			t.Error(err)
		}
		nc.Close()
		close(denied)
		for s := range denied {
			got[s] = true
		}
		for s := range got {
			if covers(rights[name], s) {
				t.Errorf("%s may not %s", name, s)
			}
		}
	}
	t.Logf("%d pairs of subject and role", tried)
	if nc, err := nats.Connect(url, nats.RootCAs(filepath.Join(dir, "ca.pem"))); err == nil {
		nc.Close()
		t.Error("a stranger is let in")
	}
}

// publicOf returns the public key of a machine from the server's configuration.
func publicOf(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "nats-server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("# " + name + `\n\s*\{ nkey: (\w+),`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no key of %s", name)
	}
	return string(m[1])
}

// covers reports whether a right is among the rights, or below one with "*" for a part.
func covers(rights map[string]bool, s string) bool {
	for r := range rights {
		a, b := strings.Split(r, "."), strings.Split(s, ".")
		same := len(a) == len(b)
		for i := range a {
			same = same && (a[i] == b[i] || a[i] == "*")
		}
		if same {
			return true
		}
	}
	return false
}

// TestNatsFork: a copy that differs, and a log that was replaced, are refused by name.
func TestNatsFork(t *testing.T) {
	dir, url := brokertest.Serve(t, nil)
	open := func(role string) *broker.Conn { return brokertest.Open(t, dir, url, role) }
	done := make(chan struct{})
	close(done)
	log := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(log, []byte("{\"seq\":0}\n{\"seq\":10}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &broker.Publisher{Conn: open("watch"), Name: "events", File: log, Say: t.Logf}
	if err := p.Run(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "copy.ndjson")
	if err := os.WriteFile(out, []byte("{\"seq\":0}\n{\"seq\":99}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &broker.Subscriber{Conn: open("copy"), Name: "events", Out: out, Say: t.Logf}
	if err := s.Run(t.Context()); !errors.Is(err, broker.ErrFork) {
		t.Errorf("a copy that differs: %v", err)
	}
	s.Out = filepath.Join(t.TempDir(), "copy.ndjson")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if !soon(func() bool { return size(s.Out) == size(log) }) {
		t.Error("no copy")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(log, []byte("{\"seq\":0}\n{\"seq\":11}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = &broker.Publisher{Conn: p.Conn, Name: "events", File: log, Say: t.Logf}
	if err := p.Run(t.Context(), done); !errors.Is(err, broker.ErrReplaced) {
		t.Errorf("a log that was replaced: %v", err)
	}
	if err := (&broker.Publisher{Conn: p.Conn, Name: "../x", File: log, Say: t.Logf}).Run(t.Context(),
		done); err == nil {
		t.Error("any name is taken for a log's")
	}
}
