package teams

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"
)

// FuzzActivity: no panic, and no event without its ids.
func FuzzActivity(f *testing.F) {
	f.Add(body(regional))
	f.Add([]byte(`{"type":"invoke","conversation":{"id":"a"},"value":{"action":1}}`))
	c, err := New(Options{AppID: "a", Insecure: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parseActivity(b)
		if err != nil {
			return
		}
		c.keepRoom(a)
		for _, x := range a.actions() {
			if x.ID == "" || x.MessageID == "" || x.Sender.ID == "" {
				t.Errorf("%+v", x)
			}
		}
		if !a.about() {
			return
		}
		if e := c.activityEvent(a); e.MessageID == "" || e.ChatID == "" || e.Sender.ID == "" ||
			e.CreateTime == "" {
			t.Errorf("%+v", e)
		}
	})
}

// FuzzMessage does the same for Graph's messages and notifications.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"id":"1","messageType":"message","createdDateTime":"2026-11-21T10:00:00Z","from":{"user":{"id":"u"}},"body":{"contentType":"html","content":"<p>a<at id='0'>b</at></p>"}}`), "aGk=")
	c, err := New(Options{AppID: "a", Insecure: true})
	if err != nil {
		f.Fatal(err)
	}
	w, err := newSubscriptions(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed string) {
		m := new(message)
		if json.Unmarshal(b, m) == nil {
			if e, ok := c.messageEvent(dev, m); ok &&
				(e.MessageID == "" || e.Sender.ID == "" || e.CreateTime == "") {
				t.Errorf("%+v", e)
			}
		}
		if _, err := w.open(&content{Data: sealed, Key: base64.StdEncoding.EncodeToString(b),
			Signature: sealed, Cert: w.id}); err == nil {
			t.Error("opened what nobody sealed")
		}
	})
}
