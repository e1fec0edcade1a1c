package teams

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/session"
)

// TestPages: lists are read to their end. Of a group chat the messages with new reactions come before older
// ones that are new here.
func TestPages(t *testing.T) {
	now := time.Now().UTC()
	item := func(id string, created time.Time) string {
		return fmt.Sprintf(`{"id":%q,"messageType":"message","createdDateTime":%q,"lastModifiedDateTime":%q}`, id,
			created.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	pages := []string{item("1", now.Add(-time.Hour)), item("2", now.Add(-time.Hour)), item("3", now)}
	ended := ""
	graph := (*httptest.Server)(nil)
	graph = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("page"), &n)
		next := fmt.Sprintf(`,"@odata.nextLink":"%s%s?page=%d"`, graph.URL, r.URL.Path, n+1)
		if n == len(pages)-1 {
			next = ""
		}
		switch {
		case r.Method == http.MethodDelete:
			ended += r.URL.Path + " "
			w.WriteHeader(http.StatusNoContent)
		case strings.HasSuffix(r.URL.Path, "/subscriptions"):
			fmt.Fprintf(w, `{"value":[{"id":"sub-%d","notificationUrl":"https://tri.test/api/graph"}]%s}`, n, next)
		default:
			fmt.Fprintf(w, `{"value":[%s]%s}`, pages[n], next)
		}
	}))
	defer graph.Close()
	o := newWorld(t).options()
	o.GraphURL, o.PublicURL = graph.URL, "https://tri.test"
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.history(t.Context(), "19:team@thread.v2", now.Add(-time.Minute))
	if err != nil || len(found) != 1 || found[0].ID != "3" {
		t.Errorf("%v, %v", found, err)
	}
	l := c.listening(chat.Resume{}, chat.Discard{})
	if l.watch, err = newSubscriptions(now); err == nil {
		err = l.deleteEarlier(t.Context())
	}
	if err != nil || ended != "/subscriptions/sub-0 /subscriptions/sub-1 /subscriptions/sub-2 " {
		t.Errorf("ended %q, %v", ended, err)
	}
}

// TestDeletedByNobody: Graph need not name the author of a deleted message; the deletion counts.
func TestDeletedByNobody(t *testing.T) {
	c, err := New(newWorld(t).options())
	if err != nil {
		t.Fatal(err)
	}
	var b session.Batch
	at := time.Now()
	m := message{ID: "1700000000000", Created: at.Add(-time.Hour), Deleted: &at}
	err = c.listening(chat.Resume{}, chat.Discard{}).addMessage(t.Context(), dev, &m, &b)
	if err != nil || len(b.Events) != 1 || !b.Events[0].Deleted {
		t.Errorf("%+v, %v", b.Events, err)
	}
}

// TestKeysRest: while the issuer's keys cannot be fetched, forged calls do not keep genuine ones waiting.
func TestKeysRest(t *testing.T) {
	asked, now := 0, time.Now()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	o := newWorld(t).options()
	o.OpenIDURL, o.Now = srv.URL, func() time.Time { return now }
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for i := range 5 {
			if _, err := c.bot.find(t.Context(), fmt.Sprint("kid", i)); err == nil {
				t.Error("a key is found")
			}
		}
		c.bot.known = map[string]key{"known": {}}
		if _, err := c.bot.find(t.Context(), "known"); err != nil || asked != round+1 {
			t.Errorf("asked %d times, %v", asked, err)
		}
		now = now.Add(keyRest)
	}
}
