package discord

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
)

// TestNames: what a text names need not be there. It must not keep the text from being read.
func TestNames(t *testing.T) {
	status := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"code":50035,"message":"Invalid Form Body"}`))
	}))
	defer srv.Close()
	for _, status = range []int{400, 403, 404} {
		c, err := New(Options{URL: srv.URL, Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		const said = "<#123456789012345678> <#99999999999999999999> <#9223372036854775808>"
		if got, err := c.readable(t.Context(), said, nil, "1"); got != said || err != nil {
			t.Errorf("%d: %q, %v", status, got, err)
		}
	}
	for id, want := range map[string]bool{"0": true, "9223372036854775807": true, "9223372036854775808": false,
		"-1": false, "+1": false, "": false, "1_0": false, "x": false, " 1": false} {
		if validID(id) != want {
			t.Error(fmt.Sprintf("%q is", id), !want)
		}
	}
}

// TestStateFits: what is saved is within the limit of chat.Handler, also where each message is in a thread of
// its own.
func TestStateFits(t *testing.T) {
	c, err := New(Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var saved []byte
	l := c.listening(chat.Resume{}, chattest.Handler{Keep: func(b []byte) error { saved = b; return nil }})
	for i := range 3000 {
		l.recent.add(fmt.Sprint(1400000000000000000+i), fmt.Sprint(1300000000000000000+i))
	}
	l.save()
	again := c.listening(chat.Resume{State: saved, Last: map[string]time.Time{"1": time.Now()}},
		chat.Discard{})
	again.load()
	if n := len(again.recent.order); len(saved) > 64<<10 || n < 1200 ||
		again.recent.place["1400000000000002999"] != "1300000000000002999" {
		t.Errorf("%d bytes, %d messages", len(saved), n)
	}
}
