package discord

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/chat/discord/discordtest"
)

// repeats is a server that answers each question for messages with the same page.
type repeats struct {
	page  string
	asked int
}

func (s *repeats) RoundTrip(r *http.Request) (*http.Response, error) {
	body := s.page
	switch {
	case strings.HasSuffix(r.URL.Path, "/users/@me"):
		body = `{"id":"` + discordtest.Bot + `","bot":true}`
	case !strings.HasSuffix(r.URL.Path, "/messages"):
		body = `{"id":"20","guild_id":"1","type":0,"name":"dev"}`
	default:
		s.asked++
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
		Request: r}, nil
}

// TestSamePage: a page that comes again ends the reading of a history.
func TestSamePage(t *testing.T) {
	var page []map[string]any
	for i := range 100 {
		id := after(time.Now().Add(time.Duration(i) * time.Millisecond))
		page = append(page, map[string]any{"id": strconv.FormatUint(id, 10), "channel_id": "20", "type": 0, "content": "hi",
			"author": map[string]any{"id": "5", "username": "ana"}})
	}
	b, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	s := &repeats{page: string(b)}
	o := newWorld(t).options()
	o.HTTP = &http.Client{Transport: s}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l := c.listening(chat.Resume{}, chattest.Handler{})
	_, err = l.missed(t.Context(), place{ID: "20", Guild: "1"}, time.Now().Add(-time.Hour))
	if err == nil || !strings.Contains(err.Error(), "do not advance") || s.asked > 3 {
		t.Errorf("%d pages, %v", s.asked, err)
	}
}
