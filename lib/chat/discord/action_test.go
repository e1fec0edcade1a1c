package discord

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/discord/discordtest"
	"tri/lib/chat/webhook"
	"tri/lib/record/event"
)

// TestClick: a click on a card is an action, and is answered without a message; a reaction to a
// message of the bot is an action too.
func TestClick(t *testing.T) {
	w := newWorld(t)
	e := w.hear(w.options(), nil, nil)
	root := w.server.Say(discordtest.Dev, "ana", "where?", nil)
	card, err := w.sink().PostCard(t.Context(),
		chat.Card{ChatID: discordtest.Dev, ThreadID: root, Title: "Draft", Text: "here", Key: "c-1",
			Buttons: []chat.Button{{Name: "approve", Label: "Approve", Value: "e1.2:3", Style: "primary"},
				{Name: "dismiss", Label: "Dismiss", Value: "e1.2:3"}}})
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.server.Messages(discordtest.Dev))
	click := w.server.Click("ben", card.MessageID, "approve:e1.2:3")
	e.until("the click", func() bool { return len(e.acts) == 1 })
	a := e.acts[0]
	if a.ID != click || a.Name != "approve" || a.Value != "e1.2:3" || a.Sender.Name != "ben" ||
		a.ChatID != discordtest.Dev || a.MessageID != card.MessageID || a.Platform != platform {
		t.Errorf("a click came as %+v", a)
	}
	e.until("the answer", func() bool { return w.server.Answered(click) == answerSeen })
	react := func(kind, message string, who discordtest.M, more discordtest.M) {
		d := discordtest.M{"user_id": who["id"], "channel_id": discordtest.Dev, "guild_id": discordtest.Guild,
			"message_id": message, "emoji": discordtest.M{"id": nil, "name": "👍"},
			"member": discordtest.M{"user": who}}
		maps.Copy(d, more)
		w.server.Tell(kind, d)
	}
	react("MESSAGE_REACTION_ADD", root, discordtest.Person("ben"),
		discordtest.M{"message_author_id": discordtest.Person("ana")["id"]})
	react("MESSAGE_REACTION_ADD", root, discordtest.Person("ana"),
		discordtest.M{"message_author_id": discordtest.Person("ana")["id"]})
	react("MESSAGE_REACTION_ADD", card.MessageID, discordtest.M{"id": discordtest.Bot},
		discordtest.M{"message_author_id": discordtest.Bot})
	react("MESSAGE_REACTION_ADD", card.MessageID, discordtest.Person("ben"),
		discordtest.M{"message_author_id": discordtest.Bot})
	react("MESSAGE_REACTION_REMOVE", card.MessageID, discordtest.Person("ben"), nil)
	react("MESSAGE_REACTION_ADD", card.MessageID, discordtest.Person("ben"),
		discordtest.M{"message_author_id": discordtest.Bot,
			"emoji": discordtest.M{"id": "5", "name": "ship"}})
	e.until("the reactions", func() bool { return len(e.acts) == 5 })
	if a := e.acts[1]; a.MessageID != root || a.Sender.Name != "ana" {
		t.Errorf("a reaction to one's own message came as %+v", a)
	}
	if a := e.acts[2:]; a[0].Name != "👍" || a[0].Removed || !a[1].Removed || a[2].Name != ":ship:" ||
		a[0].ID == a[1].ID || a[0].Sender.Name != "ben" {
		t.Errorf("reactions came as %+v", a)
	}
	if n := len(w.server.Messages(discordtest.Dev)); n != before {
		t.Errorf("%d messages were posted by a watcher", n-before)
	}
}

// signer is Discord's side of the interactions endpoint.
type signer struct {
	key ed25519.PrivateKey
	now time.Time
}

func newSigner() *signer {
	return &signer{key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)),
		now: time.Unix(1_800_000_000, 0)}
}

func (s *signer) public() string { return hex.EncodeToString(s.key.Public().(ed25519.PublicKey)) }

func (s *signer) call(body string) *webhook.Call {
	stamp := strconv.FormatInt(s.now.Unix(), 10)
	h := http.Header{}
	h.Set("X-Signature-Timestamp", stamp)
	h.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(s.key, []byte(stamp+body))))
	return &webhook.Call{Method: http.MethodPost, Header: h, Body: []byte(body)}
}

// endpoint returns the handler of a client's interactions endpoint.
func (w *world) endpoint(s *signer, act func(event.Action) error) webhook.Handler {
	w.t.Helper()
	o := w.options()
	o.Listen, o.PublicKey, o.Now = "127.0.0.1:0", s.public(), func() time.Time { return s.now }
	c, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.calls(c.stamps(), chattest.Handler{Log: w.t.Logf, Action: act})
}

const clickBody = `{"id":"1573680832298614790","application_id":"1","type":3,"token":"t","channel_id":"` +
	discordtest.Dev + `","guild_id":"` + discordtest.Guild +
	`","data":{"custom_id":"approve:e1","component_type":2},"member":{"user":{"id":"77","username":"ben"}},"message":{"id":"1573680832298614788"}}`

func TestEndpoint(t *testing.T) {
	w, s := newWorld(t), newSigner()
	var acts []event.Action
	var broken error
	handle := w.endpoint(s, func(a event.Action) error {
		if broken == nil {
			acts = append(acts, a)
		}
		return broken
	})
	if a := handle(t.Context(), s.call(`{"id":"1","type":1}`)); string(a.Body) != `{"type":1}` ||
		a.Status != 0 {
		t.Errorf("a ping is answered with %d %s", a.Status, a.Body)
	}
	broken = errors.New("disk full")
	if a := handle(t.Context(), s.call(clickBody)); a.Status != http.StatusServiceUnavailable {
		t.Errorf("a click that is not durable is answered with %d %s", a.Status, a.Body)
	}
	broken = nil
	if a := handle(t.Context(), s.call(clickBody)); string(a.Body) != `{"type":6}` || len(acts) != 1 ||
		acts[0].Name != "approve" || acts[0].Value != "e1" || acts[0].Sender.ID != "77" {
		t.Errorf("a click is answered with %s; acts %+v", a.Body, acts)
	}
	if a := handle(t.Context(), s.call(clickBody)); a.Status != http.StatusUnauthorized {
		t.Errorf("a replay is answered with %d", a.Status)
	}
	shouted := s.call(clickBody)
	shouted.Header.Set("X-Signature-Ed25519", strings.ToUpper(shouted.Header.Get("X-Signature-Ed25519")))
	if a := handle(t.Context(), shouted); a.Status != http.StatusUnauthorized {
		t.Errorf("a replay in capitals is answered with %d", a.Status)
	}
	for _, d := range []time.Duration{webhook.Window + time.Second, -webhook.Window - time.Second} {
		late := s.call(`{"id":"1","type":1}`)
		s.now = s.now.Add(d)
		if a := handle(t.Context(), late); a.Status != http.StatusUnauthorized {
			t.Errorf("a call %v old is answered with %d", d, a.Status)
		}
		s.now = s.now.Add(-d)
	}
	elsewhere := strings.ReplaceAll(clickBody, discordtest.Dev, discordtest.Secret)
	if handle(t.Context(), s.call(elsewhere)); len(acts) != 1 {
		t.Error("a click in a chat that is not watched is an action")
	}
	for _, body := range []string{"", "{", "[]", `{"type":"x"}`} {
		if a := handle(t.Context(), s.call(body)); a.Status != http.StatusBadRequest {
			t.Errorf("%q is answered with %d", body, a.Status)
		}
	}
}

// TestEveryBit: no call with a changed bit in signature, time or body is accepted.
func TestEveryBit(t *testing.T) {
	w, s := newWorld(t), newSigner()
	handle := w.endpoint(s, func(event.Action) error { t.Error("taken"); return nil })
	flip := func(text string, i int) string {
		b := []byte(text)
		b[i/8] ^= 1 << (i % 8)
		return string(b)
	}
	n := 0
	for _, part := range []string{"X-Signature-Ed25519", "X-Signature-Timestamp", "body"} {
		for i := 0; ; i++ {
			call := s.call(clickBody)
			text := string(call.Body)
			if part != "body" {
				text = call.Header.Get(part)
			}
			if i >= 8*len(text) {
				break
			}
			if part == "body" {
				call.Body = []byte(flip(text, i))
			} else {
				call.Header[http.CanonicalHeaderKey(part)] = []string{flip(text, i)}
			}
			if a := handle(t.Context(), call); a.Status != http.StatusUnauthorized {
				t.Errorf("%s, bit %d: answered with %d", part, i, a.Status)
			}
			n++
		}
	}
	if n < 3000 {
		t.Errorf("%d bits were tried", n)
	}
}

// TestEndpointOverTCP: the endpoint is available while the source runs.
func TestEndpointOverTCP(t *testing.T) {
	w, s := newWorld(t), newSigner()
	o := w.options()
	o.Listen, o.PublicKey = "127.0.0.1:0", s.public()
	if _, err := New(Options{Token: discordtest.Token, Listen: o.Listen, PublicKey: "abc"}); err == nil {
		t.Error("a public key of three digits is taken")
	}
	var at string
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e := &ears{t: t}
	to := e.handler()
	to.Log = func(format string, args ...any) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if strings.Contains(format, "clicks are received") {
			at = fmt.Sprint(args[0])
		}
	}
	go func() { _ = c.Run(t.Context(), chat.Resume{}, to) }()
	e.until("the address", func() bool { return at != "" })
	s.now = time.Now()
	call := s.call(clickBody)
	req, err := http.NewRequest(http.MethodPost, "http://"+at+"/", bytes.NewReader(call.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = call.Header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if e.until("the click", func() bool { return len(e.acts) == 1 }); resp.StatusCode != http.StatusOK {
		t.Errorf("answered with %d", resp.StatusCode)
	}
}
