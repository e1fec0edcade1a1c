package teams

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tri/lib/chat/webhook"
)

// Paths of the endpoint.
const (
	pathMessages  = "/api/messages"
	pathNotices   = "/api/graph"
	pathLifecycle = "/api/graph/lifecycle"
)

// noticeTime is less than the 3 seconds within which Graph expects a response.
const noticeTime = 2800 * time.Millisecond

// plausible reports whether a call can be from Microsoft, by its header. Graph sends its tokens in
// the body.
func (l *listening) plausible(call *webhook.Call) bool {
	return l.o.Insecure || !strings.HasSuffix(call.Path, pathMessages) ||
		strings.HasPrefix(call.Header.Get("Authorization"), "Bearer ")
}

// handle answers one call.
func (l *listening) handle(ctx context.Context, call *webhook.Call) webhook.Answer {
	switch {
	case call.Method != http.MethodPost:
		return webhook.Answer{Status: http.StatusMethodNotAllowed}
	case strings.HasSuffix(call.Path, pathMessages):
		return l.handleActivity(ctx, call)
	case l.watch == nil:
	case strings.HasSuffix(call.Path, pathNotices), strings.HasSuffix(call.Path, pathLifecycle):
		ctx, cancel := context.WithTimeout(ctx, noticeTime)
		defer cancel()
		return l.handleNotice(ctx, call)
	}
	return webhook.Answer{Status: http.StatusNotFound}
}

// handleActivity processes an activity and returns 200 when its contents are durable.
func (l *listening) handleActivity(ctx context.Context, call *webhook.Call) webhook.Answer {
	a, err := parseActivity(call.Body)
	if err != nil {
		// The reason is not sent to an unauthenticated caller; a body that is not an activity does not
		// contain the service URL that authentication needs.
		return webhook.Answer{Status: http.StatusBadRequest}
	}
	if !l.o.Insecure {
		if err := l.fromBotFramework(ctx, call.Header.Get("Authorization"), a); err != nil {
			l.logRefused(err)
			return webhook.Refused()
		}
	}
	call.Proved()
	if !a.of(l.o.Tenant) {
		l.logRefused(fmt.Errorf("an activity of tenant %q", a.tenant()))
		return webhook.Answer{Status: http.StatusForbidden}
	}
	if !l.Take(ctx, delivery{activity: a}) {
		return webhook.Answer{Status: http.StatusServiceUnavailable}
	}
	if a.clicks() {
		return webhook.Answer{Type: "application/json",
			Body: []byte(`{"statusCode":200,"type":"application/vnd.microsoft.activity.message","value":"Noted."}`)}
	}
	if a.Type == "invoke" {
		return webhook.Answer{Status: http.StatusNotImplemented, Type: "application/json", Body: []byte(`{}`)}
	}
	return webhook.Answer{}
}

// logRefused logs why a call was rejected, but not every time: whoever sets up the bot must see it,
// and a flood must not fill the log.
func (l *listening) logRefused(err error) {
	l.refusing.Lock()
	defer l.refusing.Unlock()
	if now := l.o.Now(); now.Sub(l.refused) > webhook.Window {
		l.refused = now
		l.Logf("teams: a call is refused: %v", err)
	}
}
