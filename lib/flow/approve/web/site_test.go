package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

const origin = "http://127.0.0.1:7373"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// site is a page under test, without a network.
type site struct {
	*testing.T
	home *durable.Home
	s    *server
	h    http.Handler
}

func newSite(t *testing.T, change func(*config.Config)) *site {
	t.Helper()
	home, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { home.Close() })
	cfg := config.Default()
	cfg.Team.Approvers = []string{"ana", "ben"}
	origins := []string{origin, "http://localhost:7373"}
	if change != nil {
		change(cfg)
		origins = nil
	}
	x := &site{T: t, home: home}
	x.s, err = newServer(t.Context(), Options{Gate: approve.Gate{Home: home, Config: cfg, By: "ana"},
		Say: t.Logf, Now: func() time.Time { return noon }}, origins)
	if err != nil {
		t.Fatal(err)
	}
	x.h = x.s.handler()
	return x
}

// put makes a draft wait.
func (x *site) put(id, question, text string) {
	x.Helper()
	key := "local.dev." + id
	th := thread.Thread{
		Key: key, Platform: "local", ChatID: "dev", ChatName: question, ThreadID: id,
		OriginalSenderName: question, Status: thread.PendingUser, Cycle: 1,
		Messages:     []thread.Message{{MessageID: id, SenderName: question, Content: question}},
		DraftPending: &text, DraftSHA256: decision.Sum(text), Badge: "quotes checked",
		StartedAt: noon.Format(time.RFC3339),
		InvestigatorReturn: &draft.Return{
			Confidence: question, ConfidenceReason: question, QuestionGloss: question, ResearchNotes: text,
			OpenQuestions:      []string{question},
			EvidenceRefs:       []draft.Ref{{Kind: "file", Ref: question, SupportsClaim: question}},
			ProposedTriageFile: &draft.TriageFile{Filename: question, Content: text},
		},
		ValidatorReturn: &verdict.Verdict{Verdict: "pass", Reasons: []string{question},
			ValidatorModel: question,
			Checks:         []verdict.Check{{Name: question, Result: "fail", Note: text, By: "code"}}},
	}
	if err := th.Save(x.home); err != nil {
		x.Fatal(err)
	}
	_, err := decision.Append(x.home, decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: key, Cycle: 1, Text: text,
		DraftSHA256: decision.Sum(text), At: noon.Format(time.RFC3339),
	})
	if err != nil {
		x.Fatal(err)
	}
	x.s.board.Refresh()
}

func (x *site) request(method, path, body string, change func(*http.Request)) *http.Response {
	x.Helper()
	r := httptest.NewRequest(method, origin+path, strings.NewReader(body))
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
	}
	if change != nil {
		change(r)
	}
	if c, err := r.Cookie(cookieName); err == nil && !strings.Contains(path, "token=") &&
		!strings.HasPrefix(path, "//") {
		r.URL.Path = x.s.guard.folder(c.Value) + r.URL.Path
	}
	w := httptest.NewRecorder()
	x.h.ServeHTTP(w, r)
	return w.Result()
}

// enter visits the printed address and returns the cookie that it gives.
func (x *site) enter() *http.Cookie {
	x.Helper()
	res := x.request("GET", "/?token="+x.s.guard.token(), "", nil)
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		x.Fatalf("%v %v", res.Status, res.Cookies())
	}
	c := res.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		x.Errorf("cookie %v", c)
	}
	return c
}

func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (x *site) kinds() string {
	x.Helper()
	rs, err := decision.Read(x.home)
	if err != nil {
		x.Fatal(err)
	}
	var kinds []string
	for _, r := range rs {
		kinds = append(kinds, r.Kind+" "+r.By)
	}
	return strings.Join(kinds, ", ")
}

func (x *site) form(c *http.Cookie, word string, more ...string) string {
	x.Helper()
	items, _, err := x.s.board.Items()
	if err != nil || len(items) == 0 {
		x.Fatal("nothing waits", err)
	}
	v := url.Values{"word": {word}, "id": {items[0].ID}, "sha": {items[0].DraftSHA256},
		"seal": {x.s.guard.seal(c.Value)}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v.Encode()
}
