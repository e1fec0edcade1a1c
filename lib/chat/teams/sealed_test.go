package teams

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/teams/teamstest"
	"tri/lib/chat/webhook"
)

const regional = "https://smba.example/emea/"

// hooked is the handler of a session that only counts deliveries.
func hooked(t *testing.T, w *world) (l *listening, taken *int) {
	t.Helper()
	c, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l = c.listening(chat.Resume{}, chattest.Handler{Log: func(string, ...any) {}})
	taken = new(int)
	done := make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case d := <-l.In:
				*taken++
				_ = d.Done(nil)
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return l, taken
}

func body(serviceURL string) []byte {
	b, _ := json.Marshal(teamstest.M{"type": "message", "id": "1616990032035",
		"timestamp": "2026-11-21T10:00:00.1234567Z", "serviceUrl": serviceURL, "channelId": "msteams",
		"from":         teamstest.M{"id": "29:ana", "name": "Ana"},
		"conversation": teamstest.M{"id": dev + ";messageid=1616990032035", "conversationType": "channel"},
		"text":         "hi",
		"channelData":  teamstest.M{"tenant": teamstest.M{"id": teamstest.Tenant}}})
	return b
}

func call(l *listening, path, authorization string, b []byte) int {
	a := l.handle(context.Background(), &webhook.Call{Method: http.MethodPost, Path: path,
		Header: http.Header{"Authorization": {authorization}}, Body: b})
	if a.Status == 0 {
		a.Status = 200
	}
	return a.Status
}

// TestToken: a valid token is accepted, and none with a changed bit or claim.
func TestToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, taken := hooked(t, w)
	token := w.server.Token(teamstest.M{"serviceurl": regional})
	if got := call(l, pathMessages, "Bearer "+token, body(regional)); got != 200 || *taken != 1 {
		t.Fatalf("a good call is answered with %d", got)
	}
	now := time.Now()
	for name, change := range map[string]teamstest.M{
		"issuer": {"iss": "https://evil.example"}, "audience": {"aud": "other"},
		"expired": {"exp": now.Add(-6 * time.Minute).Unix()}, "no expiry": {"exp": 0},
		"too early": {"nbf": now.Add(6 * time.Minute).Unix()}, "service": {"serviceurl": regional + "x"},
		"no service": {"serviceurl": ""}, "algorithm": {"alg": "none"}, "hmac": {"alg": "HS256"},
		"key": {"kid": "key-2"}, "no key": {"kid": ""},
	} {
		said := teamstest.M{"serviceurl": regional}
		maps.Copy(said, change)
		if got := call(l, pathMessages, "Bearer "+w.server.Token(said), body(regional)); got != 401 {
			t.Errorf("%s: %d", name, got)
		}
	}
	for _, near := range []teamstest.M{{"exp": now.Add(-4 * time.Minute).Unix()},
		{"nbf": now.Add(4 * time.Minute).Unix()}} {
		near["serviceurl"] = regional
		if got := call(l, pathMessages, "Bearer "+w.server.Token(near), body(regional)); got != 200 {
			t.Errorf("%v, within five minutes: %d", near, got)
		}
	}
	before := *taken
	for i := range len(token) * 8 {
		b := []byte(token)
		b[i/8] ^= 1 << (i % 8)
		if got := call(l, pathMessages, "Bearer "+string(b), body(regional)); got != 401 {
			t.Fatalf("bit %d of the token changed: %d", i, got)
		}
	}
	for _, a := range []string{"", "Bearer", "Bearer ", "Basic " + token,
		"Bearer " + strings.Repeat("a", 1<<20), token, "Bearer ..", "Bearer " + token + ".x"} {
		if got := call(l, pathMessages, a, body(regional)); got != 401 {
			t.Errorf("%.20q: %d", a, got)
		}
	}
	other := bytes.Replace(body(regional), []byte(`"msteams"`), []byte(`"webchat"`), 1)
	if got := call(l, pathMessages, "Bearer "+token, other); got != 401 {
		t.Errorf("another channel: %d", got)
	}
	for _, tenant := range []string{"bbbbbbbb-bbbb-cccc-dddd-eeeeeeeeeeee", ""} {
		other := bytes.Replace(body(regional), []byte(teamstest.Tenant), []byte(tenant), 1)
		if got := call(l, pathMessages, "Bearer "+token, other); got != 403 {
			t.Errorf("tenant %q: %d", tenant, got)
		}
	}
	two := bytes.Replace(body(regional), []byte(`"conversationType"`),
		[]byte(`"tenantId":"x","conversationType"`), 1)
	if got := call(l, pathMessages, "Bearer "+token, two); got != 403 {
		t.Errorf("two tenants: %d", got)
	}
	if *taken != before {
		t.Errorf("%d calls without a good token were taken", *taken-before)
	}
}

// TestSealed: a notification's data is decrypted, unless a bit was changed or the state or the
// sender's token is missing.
func TestSealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, taken := hooked(t, w)
	var err error
	if l.watch, err = newSubscriptions(time.Now()); err != nil {
		t.Fatal(err)
	}
	l.watch.byChat[dev] = subscription{ID: "sub-1"}
	message := teamstest.M{"id": "1616990032035", "messageType": "message",
		"createdDateTime": "2026-11-21T10:00:00Z",
		"body":            teamstest.M{"contentType": "html", "content": "<p>hi</p>"}}
	good := w.server.Notification("sub-1", l.watch.state, l.watch.id, &l.watch.private.PublicKey, message)
	if got := call(l, pathNotices, "", good); got != 202 || *taken != 1 {
		t.Fatalf("a good call is answered with %d", got)
	}
	change := func(f func(n *notices)) int {
		var n notices
		if err := json.Unmarshal(good, &n); err != nil {
			t.Fatal(err)
		}
		f(&n)
		b, _ := json.Marshal(n)
		return call(l, pathNotices, "", b)
	}
	for name, f := range map[string]func(n *notices){
		"state": func(n *notices) {
			n.Value[0].State += "x"
		}, "no state": func(n *notices) { n.Value[0].State = "" },
		"no token": func(n *notices) {
			n.Tokens = nil
		}, "bot's token": func(n *notices) { n.Tokens = []string{w.server.Token(nil)} },
		"other sender": func(n *notices) {
			n.Tokens[0] = w.server.Token(teamstest.M{"iss": "https://sts.windows.net/" + teamstest.Tenant +
				"/", "appid": teamstest.AppID})
		},
		"one bad of two": func(n *notices) {
			n.Tokens = append(n.Tokens, "x.y.z")
		}, "certificate": func(n *notices) { n.Value[0].Sealed.Cert = "x" },
		"no content": func(n *notices) { n.Value[0].Sealed = nil },
	} {
		if got := change(f); got != 401 {
			t.Errorf("%s: %d", name, got)
		}
	}
	var n notices
	if err := json.Unmarshal(good, &n); err != nil {
		t.Fatal(err)
	}
	for name, field := range map[string]func(*content) *string{
		"signature": func(c *content) *string {
			return &c.Signature
		}, "data": func(c *content) *string {
			return &c.Data
		}, "key": func(c *content) *string { return &c.Key },
	} {
		text := *field(n.Value[0].Sealed)
		step := 1
		if name != "signature" {
			step = 13 // each is an RSA operation
		}
		for i := 0; i < len(text)*8; i += step {
			c := *n.Value[0].Sealed
			b := []byte(text)
			b[i/8] ^= 1 << (i % 8)
			*field(&c) = string(b)
			if _, err := l.watch.open(&c); !errors.Is(err, errSealed) {
				t.Fatalf("bit %d of the %s changed: %v", i, name, err)
			}
		}
	}
	if *taken != 1 {
		t.Errorf("%d calls were taken", *taken)
	}
	a := l.handle(context.Background(), &webhook.Call{Method: http.MethodPost, Path: pathLifecycle,
		Query: map[string][]string{"validationToken": {"a b: <i>"}}})
	if string(a.Body) != "a b: &lt;i&gt;" || !strings.HasPrefix(a.Type, "text/plain") {
		t.Errorf("handshake: %q as %s", a.Body, a.Type)
	}
}
