package teams

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tri/lib/chat/webhook"
)

// Paths of our address.
const (
	pathMessages  = "/api/messages"
	pathNotices   = "/api/graph"
	pathLifecycle = "/api/graph/lifecycle"
)

// noticeTime is less than the 3 seconds in which Graph wants its answer.
const noticeTime = 2800 * time.Millisecond

// plausible reports whether a call can be Microsoft's by its head. What Graph sends
// has its tokens in the body.
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

// handleActivity takes an activity: 200 when what it brings is durable.
func (l *listening) handleActivity(ctx context.Context, call *webhook.Call) webhook.Answer {
	a, err := parseActivity(call.Body)
	if err != nil {
		// Who cannot prove who they are is told nothing of what was wrong, and what is
		// no activity names no service to be proved for.
		return webhook.Answer{Status: http.StatusBadRequest}
	}
	if !l.o.Insecure {
		if err := l.fromBotFramework(ctx, call.Header.Get("Authorization"), a); err != nil {
			l.complain(err)
			return webhook.Refused()
		}
	}
	call.Proved()
	if !a.of(l.o.Tenant) {
		l.complain(fmt.Errorf("an activity of tenant %q", a.tenant()))
		return webhook.Answer{Status: http.StatusForbidden}
	}
	if !l.Take(ctx, news{activity: a}) {
		return webhook.Answer{Status: http.StatusServiceUnavailable}
	}
	if a.clicks() {
		return webhook.Answer{Type: "application/json", Body: []byte(`{"statusCode":200,"type":"application/vnd.microsoft.activity.message","value":"Noted."}`)}
	}
	if a.Type == "invoke" {
		return webhook.Answer{Status: http.StatusNotImplemented, Type: "application/json", Body: []byte(`{}`)}
	}
	return webhook.Answer{}
}

// complain says why a call was refused, once in a while: whoever set the bot up
// must learn of it, and whoever floods us must not fill the log.
func (l *listening) complain(err error) {
	l.refusing.Lock()
	defer l.refusing.Unlock()
	if now := l.o.Now(); now.Sub(l.refused) > webhook.Window {
		l.refused = now
		l.Logf("teams: a call is refused: %v", err)
	}
}
