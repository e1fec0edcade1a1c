package mattermost

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// same is a server that answers each question with the same page.
type same struct {
	page  string
	asked int
}

func (s *same) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	body := io.NopCloser(strings.NewReader(s.page))
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

// TestSamePage: a page that comes again ends the reading of a history.
func TestSamePage(t *testing.T) {
	l := list{Posts: map[string]post{}}
	for i := range maxPage {
		id := fmt.Sprintf("%026d", i)
		l.Order = append(l.Order, id)
		l.Posts[id] = post{ID: id, ChannelID: "c", CreateAt: int64(1000 + i)}
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	s := &same{page: string(b)}
	c := newWorld(t).clientOver(&http.Client{Transport: s})
	err = c.pages(t.Context(), "c", 1, func(post) {})
	if err == nil || !strings.Contains(err.Error(), "do not advance") || s.asked > 3 {
		t.Errorf("%d pages, %v", s.asked, err)
	}
}
