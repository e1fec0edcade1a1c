package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/discord/discordtest"
	"tri/lib/chat/session"
	"tri/lib/record/event"
)

// answering is a transport that answers some requests itself; if it returns nil, the request is
// sent.
type answering func(r *http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if resp := a(r); resp != nil {
		return resp, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

func response(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(body))}
}

// TestHopeless: an error that waiting does not resolve ends the source, with a hint.
func TestHopeless(t *testing.T) {
	for code, want := range map[int]int{closeAuth: sysexit.NoPerm, closeDisallowed: sysexit.Config,
		closeSharding: sysexit.Config, closeVersion: sysexit.Config} {
		w := newWorld(t)
		w.server.Refuse(code)
		err := w.client().Run(t.Context(), chat.Resume{},
			chattest.Handler{Log: t.Logf, Event: func(event.Event) error { return nil }})
		if s, _ := sysexit.Of(err); s != want || code != closeVersion && len(sysexit.Hints(err)) == 0 {
			t.Errorf("%d: ended with %v (status %d, hints %q)", code, err, s, sysexit.Hints(err))
		}
	}
	w := newWorld(t)
	w.server.Flags = 0
	if err := w.client().Run(t.Context(), chat.Resume{}, chattest.Handler{Log: t.Logf}); err == nil ||
		!strings.Contains(strings.Join(sysexit.Hints(err), " "), "MESSAGE CONTENT") {
		t.Errorf("without the intent: %v", err)
	}
}

func TestCheck(t *testing.T) {
	findings := func(w *world) (bad []string) {
		self, all := w.client().Check(t.Context())
		if self.ID != discordtest.Bot || self.Type != "bot" {
			t.Errorf("we are %+v", self)
		}
		for _, f := range all {
			if f.OK != (f.Fix == "") || f.OK && f.Warn {
				t.Errorf("finding %+v", f)
			}
			if !f.OK {
				bad = append(bad, f.Name+": "+f.Text)
			}
		}
		return bad
	}
	w := newWorld(t)
	if bad := findings(w); len(bad) > 0 {
		t.Errorf("nothing is wrong, but %q", bad)
	}
	w.server.Flags = 0
	w.server.Deny = maySend | mayReact
	w.server.Channel(discordtest.Help, "hidden", true)
	w.server.Channel(discordtest.Forum, "permission_overwrites",
		[]discordtest.M{{"id": discordtest.Guild, "type": 0, "allow": "0", "deny": "1024"}})
	bad := findings(w)
	want := []string{"intents: ", "chat: in #dev", "chat: the bot cannot see " + discordtest.Help,
		"chat: in #questions"}
	if len(bad) != len(want) || !slices.EqualFunc(bad, want, strings.HasPrefix) ||
		!strings.HasSuffix(bad[1], "may not: Send Messages, Add Reactions") {
		t.Errorf("findings %q, want %q", bad, want)
	}
	w.server.Channel(discordtest.Forum, "permission_overwrites",
		[]discordtest.M{{"id": discordtest.Guild, "allow": "0", "deny": "1024"},
			{"id": discordtest.BotRole, "allow": "0", "deny": "2048"},
			{"id": discordtest.Bot, "allow": "3136", "deny": "0"}})
	if bad := findings(w); slices.ContainsFunc(bad, func(s string) bool {
		return strings.Contains(s, "questions")
	}) {
		t.Errorf("what the channel allows the bot itself counts last: %q", bad)
	}
	w.server.Revoke()
	if _, all := w.client().Check(t.Context()); len(all) != 1 || all[0].OK || all[0].Fix == "" {
		t.Errorf("with a revoked token: %+v", all)
	}
}

// TestGuideAsksForWhatIsNeeded: the number in the address is the sum of the permissions that the
// check requires.
func TestGuideAsksForWhatIsNeeded(t *testing.T) {
	sum := uint64(0)
	for _, n := range needed {
		sum |= n.bit
		if !strings.Contains(strings.Join(strings.Fields(Guide.Steps), " "), n.name) {
			t.Errorf("the guide does not name %s", n.name)
		}
	}
	b, _ := json.Marshal(sum)
	if !strings.Contains(Guide.Steps, "permissions="+string(b)+"\n") {
		t.Errorf("the guide does not ask for %s", b)
	}
}

// TestLimits: a read that would exceed the rate limit is delayed, and one that was rejected is
// repeated after the given time.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	var slept []time.Duration
	n := 0
	o := w.options()
	o.Sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
	o.Chance = func() float64 { return 0 }
	o.HTTP = &http.Client{Transport: answering(func(*http.Request) *http.Response {
		resp := response(200, `{"id":"1"}`)
		switch n++; n {
		case 1:
			resp.Header.Set("X-RateLimit-Remaining", "0")
			resp.Header.Set("X-RateLimit-Reset-After", "1.25")
		case 2:
			resp = response(429, `{"retry_after":3,"global":true}`)
			resp.Header.Set("Retry-After", "3")
			resp.Header.Set("X-RateLimit-Global", "true")
		}
		return resp
	})}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.get(t.Context(), "channels/1", nil, new(place)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []time.Duration{1250 * time.Millisecond, 3 * time.Second}; !slices.Equal(slept, want) {
		t.Errorf("waited %v, want %v", slept, want)
	}
}

// offline is a client that knows two places and has no server.
func offline(t testing.TB) *Client {
	t.Helper()
	c, err := New(Options{Token: "t",
		HTTP: &http.Client{Transport: answering(func(*http.Request) *http.Response {
			return response(404, `{"code":10003,"message":"Unknown"}`)
		})}, Sleep: func(context.Context, time.Duration) error {
			return nil
		}, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	c.self.Put("", user{ID: "42", Username: "tri", Bot: true})
	for _, p := range []place{{ID: "100", Kind: kindText, Guild: "9", Name: "dev"},
		{ID: "200", Kind: kindPublicThread, Guild: "9", Parent: "100", Name: "a thread"},
		{ID: "300", Kind: kindText, Guild: "9", Name: "help"}} {
		c.keep(p)
	}
	c.keepRoles("9", []role{{ID: "9", Name: "@everyone"}, {ID: "70", Name: "oncall"},
		{ID: "71", Name: "tri", Tags: struct {
			Bot string `json:"bot_id"`
		}{"42"}}})
	return c
}

func TestReadable(t *testing.T) {
	c := offline(t)
	people := []user{{ID: "5", Username: "ana"}, {ID: "6", Username: "ben", GlobalName: "Ben"}}
	for in, want := range map[string]string{
		"<@5> and <@!6>":                 "@ana and @Ben",
		"<@7> who?":                      "<@7> who?",
		"ask <@&70>, <@&71>, <@&99>":     "ask @oncall, @tri, <@&99>",
		"in <#300> not <#999>":           "in #help not <#999>",
		"<:ship:5> <a:party:6>":          ":ship: :party:",
		"at <t:1700000000:R> or <t:0>":   "at 2023-11-14 22:13 UTC or 1970-01-01 00:00 UTC",
		"<t:9999999999999>":              "<t:9999999999999>",
		"use </deploy now:12>":           "use /deploy now",
		"see <id:customize>":             "see #customize",
		"`<@5>` and ```\n<@5>\n``` <@5>": "`<@5>` and ```\n<@5>\n``` @ana",
		"a < b && c > d <b>&amp;":        "a < b && c > d <b>&amp;",
		"everyone: <@&9>":                "everyone: @everyone",
		"<@5":                            "<@5",
	} {
		got, err := c.readable(t.Context(), in, people, "9")
		if err != nil || got != want {
			t.Errorf("%q reads %q (%v), want %q", in, got, err, want)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/*.event.json anew")

// TestGolden: payloads in the documented formats, and the resulting events.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".event.json") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var f frame
			if err := json.Unmarshal(data, &f); err != nil {
				t.Fatal(err)
			}
			l := offline(t).listening(chat.Resume{}, chattest.Handler{Log: t.Logf})
			var b session.Batch
			if err := l.dispatched(t.Context(), f, &b); err != nil {
				t.Fatal(err)
			}
			es := b.Events
			for _, e := range es {
				if string(e.Raw) != string(f.Data) {
					t.Errorf("the record kept is %q", e.Raw)
				}
			}
			got, err := json.MarshalIndent(es, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(name, ".json") + ".event.json"
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || strings.TrimSpace(string(want)) != string(got) {
				t.Errorf("came as\n%s\nwant\n%s (%v)", got, want, err)
			}
		})
	}
}

// FuzzDispatch: no payload panics, and no event is without its ids.
func FuzzDispatch(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var fr frame
		if json.Unmarshal(data, &fr) == nil {
			f.Add(fr.Type, string(fr.Data))
		}
	}
	for _, kind := range []string{"MESSAGE_REACTION_ADD", "INTERACTION_CREATE", "GUILD_CREATE",
		"THREAD_CREATE", "CHANNEL_DELETE", "GUILD_ROLE_UPDATE"} {
		f.Add(kind, `{"id":"1","user_id":"5","channel_id":"100","message_id":"7","message_author_id":"42","emoji":{"name":"x"},"guild_id":"9","type":3,"token":"t","data":{"custom_id":"a:b"},"message":{"id":"7"},"member":{"user":{"id":"5"}}}`)
	}
	f.Fuzz(func(t *testing.T, kind, data string) {
		l := offline(t).listening(chat.Resume{}, chattest.Handler{Log: func(string, ...any) {}})
		var b session.Batch
		err := l.dispatched(t.Context(), frame{Type: kind, Seq: 3, Data: json.RawMessage(data)}, &b)
		for _, a := range b.Actions {
			if a.ID == "" || !validID(a.MessageID) || !validID(a.ChatID) || !validID(a.Sender.ID) {
				t.Errorf("action %+v", a)
			}
		}
		for _, e := range b.Events {
			_, bad := time.Parse(time.RFC3339Nano, e.CreateTime)
			if err == nil && (!validID(e.MessageID) || !validID(e.ChatID) || bad != nil ||
				e.Mentions == nil || e.Sender.Type == "") {
				t.Errorf("event %+v", e)
			}
		}
	})
}

// FuzzEndpoint: unsigned calls are not accepted, and none panics.
func FuzzEndpoint(f *testing.F) {
	s := newSigner()
	f.Add(clickBody, "", "1800000000", true)
	f.Add(`{"type":1}`, strings.Repeat("0", 128), "1800000000", false)
	f.Fuzz(func(t *testing.T, body, signature, stamp string, sign bool) {
		c := offline(t)
		c.key = s.key.Public().(ed25519.PublicKey)
		call := s.call(body)
		if !sign {
			call.Header.Set("X-Signature-Ed25519", signature)
			call.Header.Set("X-Signature-Timestamp", stamp)
		}
		to := chattest.Handler{Log: func(string, ...any) {}, Action: func(a event.Action) error {
			if !sign || a.ID == "" || !validID(a.MessageID) {
				t.Errorf("action %+v", a)
			}
			return nil
		}}
		a := c.calls(c.stamps(), to)(t.Context(), call)
		if !sign && a.Status != http.StatusUnauthorized {
			t.Errorf("answered with %d", a.Status)
		}
	})
}
