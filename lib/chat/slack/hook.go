package slack

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/chat/webhook"
)

// serve receives the Events API by webhook (https://docs.slack.dev/apis/events-api). A call is
// answered when its event is durable; Slack repeats unanswered calls three times.
func (l *listening) serve(ctx context.Context) error {
	h := &hooked{secret: []byte(l.o.Secret), now: l.api.Now, Intake: webhook.NewIntake[envelope]()}
	return h.Run(ctx, l.o.Listener, l.o.Listen, h.plausible, h.handle, func(ctx context.Context) error {
		return l.loop(ctx, func(ctx context.Context) error { return l.receive(ctx, h.In) })
	})
}

// hooked handles Slack's calls.
type hooked struct {
	secret []byte
	now    func() time.Time
	once   webhook.Once
	webhook.Intake[envelope]
}

// handle answers one call: of the Events API (JSON), or of an interaction (a form whose payload is
// JSON).
func (h *hooked) handle(ctx context.Context, c *webhook.Call) webhook.Answer {
	signature, ok := h.signed(c)
	if c.Method != http.MethodPost || !ok {
		return webhook.Refused()
	}
	c.Proved()
	kind, body := "events_api", c.Body
	if strings.HasPrefix(c.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(c.Body))
		if err != nil {
			return webhook.Answer{Status: http.StatusBadRequest}
		}
		kind, body = "interactive", []byte(form.Get("payload"))
	}
	if !json.Valid(body) {
		return webhook.Answer{Status: http.StatusBadRequest}
	}
	payload := gjson.ParseBytes(body)
	if str(payload, "type") == "url_verification" {
		return webhook.Answer{Type: "text/plain", Body: []byte(str(payload, "challenge"))}
	}
	if !h.Take(ctx, envelope{kind, payload}) {
		return webhook.Answer{Status: http.StatusServiceUnavailable}
	}
	h.once.Keep(signature, h.now())
	return webhook.Answer{}
}

// plausible reports whether a call can be from Slack: the signature has the right form and the time
// is current.
func (h *hooked) plausible(c *webhook.Call) bool {
	_, _, ok := h.stamped(c)
	return ok
}

func (h *hooked) stamped(c *webhook.Call) (at, signature string, ok bool) {
	return c.Stamped("X-Slack-Request-Timestamp", "X-Slack-Signature", len("v0=")+64, h.now())
}

// signed verifies a call's signature
// (https://docs.slack.dev/authentication/verifying-requests-from-slack), that its time is current,
// and that it was not accepted before. Slack signs repeated calls anew.
func (h *hooked) signed(c *webhook.Call) (signature string, ok bool) {
	at, signature, ok := h.stamped(c)
	want := "v0=" + hex.EncodeToString(webhook.MAC(h.secret, "v0:", at, ":", string(c.Body)))
	return signature, ok && webhook.Equal(signature, want) && !h.once.Again(signature, h.now())
}
