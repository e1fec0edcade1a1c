package lark

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat/lark/larktest"
	"tri/lib/chat/webhook"
)

const (
	testKey, testToken = "a key", "a token"
	anEvent            = `{"schema":"2.0","header":{"event_id":"e1","event_type":"im.message.receive_v1","token":"a token"},"event":{"message":{"chat_id":"oc_dev","message_id":"om_1","create_time":"1700000000000"}}}`
)

// hookedAt is a receiver at a fixed time whose events are all made durable; let counts them.
func hookedAt(now time.Time) (h *hooked, in chan delivery, let func() int) {
	in = make(chan delivery)
	n := make(chan int, 1)
	n <- 0
	go func() {
		for d := range in {
			n <- <-n + 1
			_ = d.Done(nil)
		}
	}()
	return &hooked{key: testKey, token: testToken, Stamps: stamps(testKey, func() time.Time { return now }),
		Intake: webhook.Intake[gjson.Result]{In: in}}, in, func() int { v := <-n; n <- v; return v }
}

func signedCall(at time.Time, payload string) *webhook.Call {
	body, err := json.Marshal(map[string]string{"encrypt": larktest.Encrypt(testKey, []byte(payload))})
	if err != nil {
		panic(err)
	}
	return signedBody(at, body)
}

func signedBody(at time.Time, body []byte) *webhook.Call {
	when := strconv.FormatInt(at.Unix(), 10)
	return &webhook.Call{Method: http.MethodPost, Body: body, Header: http.Header{
		"X-Lark-Request-Timestamp": {when}, "X-Lark-Request-Nonce": {"n1"},
		"X-Lark-Signature": {larktest.Sign(testKey, when, "n1", body)},
	}}
}

// TestDecrypt is the example of the documentation (Encrypt Key, decryption).
func TestDecrypt(t *testing.T) {
	b, err := decrypt("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=", "test key")
	if err != nil || string(b) != "hello world" {
		t.Errorf("%q, %v", b, err)
	}
	for _, bad := range []string{"", "P37w", "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk",
		"P37w+VZImNgPEO1RBhJ6Rg=="} {
		if b, err := decrypt(bad, "test key"); err == nil {
			t.Errorf("%q: %q", bad, b)
		}
	}
}

// TestEveryBit: a call with any changed bit in signature, time, nonce or body is refused.
func TestEveryBit(t *testing.T) {
	now := time.Now()
	h, _, let := hookedAt(now)
	good := signedCall(now, anEvent)
	flips := 0
	flip := func(what, value string, call func(string) *webhook.Call) {
		for i := range len(value) * 8 {
			b := []byte(value)
			b[i/8] ^= 1 << (i % 8)
			flips++
			if a := h.handle(t.Context(), call(string(b))); a.Status != http.StatusUnauthorized ||
				len(a.Body) > 0 {
				t.Fatalf("%s, bit %d: status %d", what, i, a.Status)
			}
		}
	}
	for name := range good.Header {
		flip(name, good.Header.Get(name), func(v string) *webhook.Call {
			c := *good
			c.Header = good.Header.Clone()
			c.Header.Set(name, v)
			return &c
		})
	}
	flip("body", string(good.Body), func(v string) *webhook.Call {
		c := *good
		c.Body = []byte(v)
		return &c
	})
	if let() != 0 {
		t.Fatalf("%d let in", let())
	}
	if a := h.handle(t.Context(), good); a.Status != 0 || string(a.Body) != "{}" || let() != 1 {
		t.Fatalf("the good one: %+v", a)
	}
	t.Logf("%d changed bits refused", flips)
}

// TestReplay: a recorded call is not accepted again, nor one with another time or token, nor one
// that is not encrypted.
func TestReplay(t *testing.T) {
	now := time.Now()
	h, _, let := hookedAt(now)
	good := signedCall(now, anEvent)
	for i, want := range []int{0, http.StatusUnauthorized, http.StatusUnauthorized} {
		if a := h.handle(t.Context(), good); a.Status != want {
			t.Errorf("time %d: %d", i, a.Status)
		}
	}
	if a := h.handle(t.Context(), signedCall(now.Add(time.Second), anEvent)); a.Status != 0 || let() != 2 {
		t.Errorf("sent again: %d, %d let in", a.Status, let())
	}
	get := signedCall(now.Add(2*time.Second), anEvent)
	get.Method = http.MethodGet
	for name, c := range map[string]*webhook.Call{
		"old":   signedCall(now.Add(-6*time.Minute), anEvent),
		"early": signedCall(now.Add(6*time.Minute), anEvent), "GET": get,
		"another token": signedCall(now, `{"header":{"token":"another"}}`), "no token": signedCall(now, `{}`),
		"plain":   signedBody(now, []byte(anEvent)),
		"no JSON": signedCall(now, `{"header":`), "nothing": signedBody(now, nil),
	} {
		if a := h.handle(t.Context(), c); a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, a.Status)
		}
	}
	if let() != 2 {
		t.Errorf("%d let in", let())
	}
}

func TestHandshake(t *testing.T) {
	now := time.Now()
	h, _, let := hookedAt(now)
	hello := signedCall(now, `{"challenge":"ajls\"384","token":"a token","type":"url_verification"}`)
	hello.Header = http.Header{} // the documentation does not say that it is signed
	if a := h.handle(t.Context(), hello); a.Status != 0 || string(a.Body) != `{"challenge":"ajls\"384"}` ||
		a.Type != "application/json" {
		t.Errorf("%+v", a)
	}
	for name, c := range map[string]*webhook.Call{
		"another token": signedCall(now, `{"challenge":"x","token":"b","type":"url_verification"}`),
		"plain": signedBody(now,
			[]byte(`{"challenge":"x","token":"a token","type":"url_verification"}`)),
	} {
		if a := h.handle(t.Context(), c); a.Status != http.StatusUnauthorized || len(a.Body) > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if let() != 0 {
		t.Errorf("%d let in", let())
	}
}

// TestNotYetDurable: a call whose event cannot be stored, or is not processed, is answered so that
// the platform sends it again; it is then accepted.
func TestNotYetDurable(t *testing.T) {
	now := time.Now()
	in, over := make(chan delivery, 1), make(chan struct{})
	h := &hooked{key: testKey, token: testToken, Stamps: stamps(testKey, func() time.Time { return now }),
		Intake: webhook.Intake[gjson.Result]{In: in, Over: over}}
	good := signedCall(now, anEvent)
	go func() { _ = (<-in).Done(context.DeadlineExceeded) }()
	if a := h.handle(t.Context(), good); a.Status != http.StatusServiceUnavailable {
		t.Errorf("not kept: %d", a.Status)
	}
	go func() { _ = (<-in).Done(nil) }()
	if a := h.handle(t.Context(), good); a.Status != 0 {
		t.Errorf("kept: %d", a.Status)
	}
	close(over)
	if a := h.handle(t.Context(), signedCall(now.Add(time.Second),
		anEvent)); a.Status != http.StatusServiceUnavailable {
		t.Errorf("at the end: %d", a.Status)
	}
}

// FuzzHook: only signed calls are accepted.
func FuzzHook(f *testing.F) {
	now := time.Now()
	f.Add(strconv.FormatInt(now.Unix(), 10), "00",
		[]byte(`{"encrypt":"P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk="}`), false)
	f.Add("1", "", []byte(anEvent), true)
	f.Add("9", "x", []byte(`{"type":"url_verification","challenge":7}`), true)
	f.Fuzz(func(t *testing.T, when, signature string, b []byte, encrypted bool) {
		h, in, let := hookedAt(now)
		c := signedCall(now, string(b))
		if !encrypted {
			c = signedBody(now, b)
			c.Header.Set("X-Lark-Request-Timestamp", when)
			c.Header.Set("X-Lark-Signature", signature)
		}
		a := h.handle(t.Context(), c)
		if !encrypted && a.Status != http.StatusUnauthorized || let() > 1 {
			t.Errorf("status %d, %d let in", a.Status, let())
		}
		close(in)
	})
}
