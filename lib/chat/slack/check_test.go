package slack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/chat/slack/slacktest"
)

func TestOptions(t *testing.T) {
	good := Options{Token: "xoxb-1", AppToken: "xapp-1-A0B-2-c", Secret: "s"}
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"good":       {func(*Options) {}, ""},
		"by webhook": {func(o *Options) { o.AppToken, o.Listen = "", "127.0.0.1:0" }, ""},
		"swapped": {func(o *Options) {
			o.Token, o.AppToken = o.AppToken, o.Token
		}, "does not begin with xoxb-"},
		"no app token":   {func(o *Options) { o.AppToken = "" }, "app token"},
		"no secret":      {func(o *Options) { o.Secret, o.Listen = "", "127.0.0.1:0" }, "no signing secret"},
		"two words":      {func(o *Options) { o.Token = "xoxb-1 2" }, "not one word"},
		"a name":         {func(o *Options) { o.Chats = []string{"#dev"} }, "id is like"},
		"a bad address":  {func(o *Options) { o.URL = "slack.com" }, "want https"},
		"a path in a id": {func(o *Options) { o.Chats = []string{"C0/../x"} }, "id is like"},
	} {
		o := good
		c.change(&o)
		_, err := New(o)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), o.Token) && o.Token != "" ||
			strings.Contains(err.Error(), "xapp-1")) {
			t.Errorf("%s: a secret in %v", name, err)
		}
	}
	a, _ := New(good)
	good.AppToken = "xapp-1-A0B-3-another"
	b, _ := New(good)
	if a.AppID() != b.AppID() || a.AppID() != "slack A0B" {
		t.Error(a.AppID(), b.AppID())
	}
}

func TestCheck(t *testing.T) {
	w := newWorld(t)
	w.server.AddChannel("C0OUT", "out", slacktest.M{"is_member": false})
	w.server.AddChannel("C0MIX", "mix", slacktest.M{"is_ext_shared": true})
	w.server.AddChannel("G0HUSH", "hush", slacktest.M{"is_private": true})
	w.server.GrantedScopes = "chat:write,channels:history,channels:read,users:read,reactions:read"
	o := w.options()
	o.Chats = []string{dev, "C0OUT", "C0MIX", "G0HUSH", "C0NONE"}
	check := func(o Options) string {
		self, findings := w.client(o).Check(t.Context())
		s := self.ID + "\n"
		for _, f := range findings {
			mark := "-"
			if f.OK {
				mark = "+"
			}
			if (f.Fix == "") != f.OK {
				t.Errorf("%+v", f)
			}
			s += mark + f.Name + ": " + f.Text + "\n"
		}
		return s
	}
	want := `U0TRI
+token: tri in Fake
+socket: Socket Mode is on
-scopes: missing: metadata.message:read, reactions:write, groups:history, groups:read
+chat: member of dev C0DEV
-chat: mix C0MIX is shared with another organization: not read
-chat: not a member of C0NONE C0NONE
-chat: not a member of out C0OUT
+chat: member of hush G0HUSH, which is private
`
	if got := check(o); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	w.server.GrantedScopes = slacktest.Scopes
	o.Chats = nil
	o.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	if got := check(o); !strings.Contains(got, "+scopes") || !strings.Contains(got, "all 3 public") ||
		!strings.Contains(got, "-clock: Slack's clock differs") {
		t.Errorf("got\n%s", got)
	}
	o.AppToken = "xapp-1-A0B-other"
	if got := check(o); !strings.Contains(got, "-socket") {
		t.Errorf("got\n%s", got)
	}
	w.server.Revoke()
	if got := check(o); !strings.HasPrefix(got, "\n-token") {
		t.Errorf("got\n%s", got)
	}
}

// TestManifest: the manifest requests the scopes that Check requires, so that no further set-up is
// needed.
func TestManifest(t *testing.T) {
	for _, s := range append(slices.Clone(scopes), strings.Split(slacktest.Scopes, ",")...) {
		if !strings.Contains(Guide.Manifest, "- "+s+"\n") {
			t.Errorf("%s is not in the manifest", s)
		}
	}
}
