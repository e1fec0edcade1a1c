package reply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

const trial = "This is a test message from tri, sent by ana. No answer is needed."

// TestTrial: a test message is posted once to the chat that its name means, and every other outcome says
// whether something was posted.
func TestTrial(t *testing.T) {
	chats := []config.Chat{
		{Platform: "fake", ChatID: "dev", Name: "Developers"},
		{Platform: "plain", ChatID: "#ops", Name: "Operators"},
		{ChatID: "all"}, {Platform: "fake", ChatID: "dev", Name: "Both"},
		{Platform: "plain", ChatID: "#dev", Name: "Both"},
	}
	busy := &chat.RetryError{After: 7 * time.Second, Err: errors.New("slow down")}
	for _, c := range []struct {
		room, platform, by string
		fail               error
		did, errs          string
		status             int
	}{
		{room: "Developers", by: "ana", did: "fake dev"},
		{room: "dev", by: "ana", did: "fake dev"},
		{room: "Operators", by: "ana", did: "plain #ops"},
		{room: "Both", by: "ana", errs: `could be "dev" on fake, "#dev" on plain`, status: sysexit.Usage},
		{room: "Both", platform: "plain", by: "ana", did: "plain #dev"},
		{room: "all", by: "ana", errs: `could be "all" on fake, "all" on plain`, status: sysexit.Usage},
		{room: "new", by: "ana", errs: "not configured, and it can be on fake, plain", status: sysexit.Usage},
		{room: "new", platform: "fake", by: "ana", did: "fake new"},
		{room: "dev", platform: "slack", by: "ana", errs: "configured: fake, plain", status: sysexit.Usage},
		{room: "dev", by: "", errs: "no name", status: sysexit.Usage},
		{room: "dev", by: "<!channel>", errs: "no name", status: sysexit.Usage},
		{room: "dev", by: "ana", fail: busy, did: "fake dev", errs: "nothing was posted",
			status: sysexit.TempFail},
		{room: "dev", by: "ana", fail: fmt.Errorf("archived: %w", chat.ErrRefused), did: "fake dev",
			errs: "nothing was posted", status: sysexit.Unavailable},
		{room: "dev", by: "ana", fail: errors.New("timeout"), did: "fake dev", errs: "may have been posted",
			status: sysexit.Unavailable},
	} {
		cards, plain := &board{platform: &platform{}}, &platform{}
		if c.fail != nil {
			cards.fail = []error{c.fail}
		}
		var out, shown bytes.Buffer
		test := Test{Room: c.room, Platform: c.platform, By: c.by, Yes: true, Chats: chats,
			Out: &out, Err: &shown,
			Sinks: map[string]chat.Sink{"fake": cards, "plain": plain}}
		err := test.Run(context.Background())
		status, _ := sysexit.Of(err)
		if status != c.status || (err == nil) != (c.errs == "") ||
			err != nil && !strings.Contains(err.Error(), c.errs) {
			t.Errorf("%+v: %v, status %d", c, err, status)
		}
		if (err == nil) != (strings.Count(out.String(), "\n") == 1) {
			t.Errorf("%+v: printed %q", c, out.String())
		}
		var did []string
		for _, call := range cards.did {
			if !strings.HasPrefix(call, "deal test-") ||
				!strings.HasSuffix(call, fmt.Sprintf(" %q 0", trial)) {
				t.Errorf("%+v: %s", c, call)
			}
			did = append(did, "fake "+cards.room)
		}
		for _, p := range plain.stands {
			if p.Text != trial || p.ThreadID != "" {
				t.Errorf("%+v: posted %+v", c, p)
			}
			did = append(did, "plain "+p.ChatID)
		}
		if got := strings.Join(did, ", "); got != c.did {
			t.Errorf("%+v: posted %q", c, got)
		}
		if c.did != "" && !strings.Contains(shown.String(), trial) {
			t.Errorf("%+v: shown %q", c, shown.String())
		}
	}
}

// TestTrialAsks: without a yes nothing is posted.
func TestTrialAsks(t *testing.T) {
	cards := &board{platform: &platform{}}
	test := Test{Room: "dev", By: "ana", In: strings.NewReader("y\n"), Out: new(bytes.Buffer),
		Err: new(bytes.Buffer), Sinks: map[string]chat.Sink{"fake": cards}}
	err := test.Run(context.Background())
	if status, _ := sysexit.Of(err); status != sysexit.Usage || cards.did != nil {
		t.Error(err, cards.did)
	}
}
