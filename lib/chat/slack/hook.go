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
	h := &hooked{Intake: webhook.NewIntake[envelope](), Stamps: stamps(l.o.Secret, l.api.Now)}
	return h.Run(ctx, l.o.Listener, l.o.Listen, h.Plausible, h.handle, func(ctx context.Context) error {
		return l.loop(ctx, func(ctx context.Context) error { return l.receive(ctx, h.In) })
	})
}

// hooked handles Slack's calls.
type hooked struct {
	webhook.Intake[envelope]
	webhook.Stamps
}

// stamps verifies signatures (https://docs.slack.dev/authentication/verifying-requests-from-slack). Slack
// signs repeated calls anew.
func stamps(secret string, now func() time.Time) webhook.Stamps {
	return webhook.Stamps{
		Time: "X-Slack-Request-Timestamp", Signature: "X-Slack-Signature", Size: len("v0=") + 64, Now: now,
		Valid: func(c *webhook.Call, at, signature string) bool {
			want := webhook.MAC([]byte(secret), "v0:", at, ":", string(c.Body))
			return webhook.Equal(signature, "v0="+hex.EncodeToString(want))
		},
	}
}

// handle answers one call: of the Events API (JSON), or of an interaction (a form whose payload is
// JSON).
func (h *hooked) handle(ctx context.Context, c *webhook.Call) webhook.Answer {
	if c.Method != http.MethodPost || !h.Verify(c) {
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
	h.Keep(c)
	return webhook.Answer{}
}
