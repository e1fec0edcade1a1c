package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tri/lib/config"
	"tri/lib/decision"
	"tri/lib/disk"
	"tri/lib/draft"
	"tri/lib/evidence"
	"tri/lib/gate"
	"tri/lib/thread"
	"tri/lib/verdict"
)

const origin = "http://127.0.0.1:7373"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// site is a page under test, without a network.
type site struct {
	*testing.T
	home *disk.Home
	s    *server
	h    http.Handler
}

func newSite(t *testing.T, change func(*config.Config)) *site {
	t.Helper()
	home, err := disk.Open(t.TempDir())
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
	x.s, err = newServer(t.Context(), Options{Gate: gate.Gate{Home: home, Config: cfg, By: "ana"}, Say: t.Logf, Now: func() time.Time { return noon }}, origins)
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
		Key: key, Platform: "local", ChatID: "dev", ChatName: question, ThreadID: id, OriginalSenderName: question, Status: thread.PendingUser, Cycle: 1,
		Messages:     []thread.Message{{MessageID: id, SenderName: question, Content: question}},
		DraftPending: &text, DraftSHA256: decision.Sum(text), Badge: "✓ validated", StartedAt: noon.Format(time.RFC3339),
		InvestigatorReturn: &draft.Return{
			Confidence: question, ConfidenceReason: question, QuestionGloss: question, ResearchNotes: text, OpenQuestions: []string{question},
			EvidenceRefs: []evidence.Ref{{Kind: "file", Ref: question, SupportsClaim: question}}, ProposedTriageFile: &draft.TriageFile{Filename: question, Content: text},
		},
		ValidatorReturn: &verdict.Verdict{Verdict: "pass", Reasons: []string{question}, ValidatorModel: question, Checks: []verdict.Check{{Name: question, Result: "fail", Note: text, By: "code"}}},
	}
	if err := th.Save(x.home); err != nil {
		x.Fatal(err)
	}
	_, err := decision.Append(x.home, decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: key, Cycle: 1, Text: text, DraftSHA256: decision.Sum(text), At: noon.Format(time.RFC3339),
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

func text(t *testing.T, res *http.Response) string {
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
	v := url.Values{"word": {word}, "id": {items[0].ID}, "sha": {items[0].DraftSHA256}, "seal": {x.s.guard.seal(c.Value)}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v.Encode()
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		word, field, value, want, said string
	}{
		{"approve", "", "", "offer tri-dispatch, approve ana", "Approved; it is posted in 10s"},
		{"edit", "text", "It is 6.\r\n", "offer tri-dispatch, edit ana", "with your text"},
		{"dismiss", "note", "asked twice", "offer tri-dispatch, dismiss ana", "Dismissed"},
		{"redo", "note", "look at the client", "offer tri-dispatch, redo ana", "investigated again"},
		{"answer", "note", "7", "offer tri-dispatch, answer ana", "your answer"},
		{"escalate", "", "", "offer tri-dispatch, escalate ana", "looked into for longer"},
	} {
		t.Run(tt.word, func(t *testing.T) {
			x := newSite(t, nil)
			x.put("1", "where?", "It is 5.")
			c := x.enter()
			body := x.form(c, tt.word, tt.field, tt.value)
			res := x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) })
			if page := text(t, res); res.StatusCode != http.StatusOK || !strings.Contains(page, tt.said) {
				t.Errorf("%v %.400s", res.Status, page)
			}
			if got := x.kinds(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			// A tab that has not heard of it says the same again: once is enough.
			res = x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) })
			if page := text(t, res); res.StatusCode != http.StatusConflict || !strings.Contains(page, `role="alert"`) {
				t.Errorf("a second time: %v %.400s", res.Status, page)
			}
			if got := x.kinds(); got != tt.want {
				t.Errorf("a second time: %s", got)
			}
		})
	}
}

func TestUndo(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	with := func(r *http.Request) { r.AddCookie(c) }
	page := text(t, x.request("POST", "/decide", x.form(c, "approve"), with))
	if !strings.Contains(page, `value="undo"`) {
		t.Errorf("no undo in %s", page)
	}
	if res := x.request("POST", "/decide", x.form(c, "undo"), with); res.StatusCode != http.StatusOK || !strings.HasSuffix(x.kinds(), "undo ana") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
}

// A draft that was replaced while the page was open is not approved unseen.
func TestStaleTab(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	body := x.form(c, "approve")
	x.put("1", "where?", "It is 6.")
	if res := x.request("POST", "/decide", body, func(r *http.Request) { r.AddCookie(c) }); res.StatusCode != http.StatusConflict || strings.Contains(x.kinds(), "approve") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
}

func TestNoApproverNoWord(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	x.s.guard.person = "eve"
	c := x.enter()
	page := text(t, x.request("GET", "/", "", func(r *http.Request) { r.AddCookie(c) }))
	if !strings.Contains(page, "may not decide") {
		t.Error("the page does not say so")
	}
	res := x.request("POST", "/decide", x.form(c, "approve"), func(r *http.Request) { r.AddCookie(c) })
	if res.StatusCode != http.StatusConflict || strings.Contains(x.kinds(), "eve") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
}

// No request that the page did not make changes anything: every host with every
// origin, method, kind of body and token.
func TestForgedRequests(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	other := x.s.guard.session("ben")
	good := x.form(c, "approve")
	n := 0
	try := func(name, method, body string, change func(*http.Request)) {
		t.Helper()
		n++
		res := x.request(method, "/decide", body, change)
		if res.StatusCode < 400 {
			t.Errorf("%s: %v", name, res.Status)
		}
		if got := x.kinds(); got != "offer tri-dispatch" {
			t.Fatalf("%s: %s", name, got)
		}
	}
	head := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.AddCookie(c)
			for i := 0; i < len(pairs); i += 2 {
				switch name, value := pairs[i], pairs[i+1]; {
				case name == "Host":
					r.Host = value
				case value == "":
					r.Header.Del(name)
				default:
					r.Header.Set(name, value)
				}
			}
		}
	}
	for _, host := range []string{"evil.example", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:7373", "localhost.evil.example:7373", "0.0.0.0:7373", "[::1]:7373", ""} {
		try("host "+host, "POST", good, head("Host", host))
		try("host and origin "+host, "POST", good, head("Host", host, "Origin", "http://"+host))
	}
	for _, o := range []string{"", "null", "https://127.0.0.1:7373", "http://evil.example", "http://localhost:7373", "http://127.0.0.1:7373.evil.example", "http://127.0.0.1:7374", "file://", "http://127.0.0.1:7373/"} {
		try("origin "+o, "POST", good, head("Origin", o))
	}
	try("two origins", "POST", good, func(r *http.Request) {
		head()(r)
		r.Header.Add("Origin", origin)
	})
	for _, site := range []string{"cross-site", "same-site", "none"} {
		try("fetched "+site, "POST", good, head("Sec-Fetch-Site", site))
	}
	for _, kind := range []string{"", "text/plain", "application/json", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded, text/plain"} {
		try("kind "+kind, "POST", good, head("Content-Type", kind))
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "post"} {
		try("method "+method, method, good, head("Origin", origin, "Content-Type", "application/x-www-form-urlencoded"))
	}
	try("no cookie", "POST", good, nil)
	for name, value := range map[string]string{"cut": c.Value[:len(c.Value)-1], "changed": strings.Replace(c.Value, "616e61", "62656e", 1), "empty": "", "another person's": other, "without end": "99999999999.x.616e61."} {
		try("cookie "+name, "POST", good, func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: value}) })
	}
	for name, seal := range map[string]string{"no": "", "another session's": x.s.guard.seal(other), "a token": x.s.guard.token()} {
		try("seal: "+name, "POST", x.form(c, "approve", "seal", seal), head())
	}
	try("seal in the address", "POST", strings.Replace(good, "seal=", "soul=", 1), func(r *http.Request) {
		head()(r)
		r.URL.RawQuery = "seal=" + x.s.guard.seal(c.Value)
	})
	try("too long", "POST", good+"&text="+strings.Repeat("x", maxBody), head())
	if n < 40 {
		t.Errorf("%d shapes", n)
	}
	t.Logf("%d shapes of forged request", n)
	if res := x.request("POST", "/decide", good, head()); res.StatusCode != http.StatusOK {
		t.Errorf("the page's own request: %v", res.Status)
	}
}

func TestTokenIsForOneVisit(t *testing.T) {
	x := newSite(t, nil)
	used := x.s.guard.token()
	x.request("GET", "/?token="+used, "", nil)
	if res := x.request("GET", "/?token="+used, "", nil); res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
		t.Errorf("again: %v", res.Status)
	}
	foreign := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if res := x.request("GET", "/?token="+x.s.guard.token(), "", foreign); res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
		t.Errorf("from another site: %v", res.Status)
	}
	for _, path := range []string{"/", "/item/abcdef", "/changes", "/app.js"} {
		if res := x.request("GET", path, "", nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s without a cookie: %v", path, res.Status)
		}
	}
}

// A cookie outlives the program, and not its time.
func TestSessionOutlivesRestart(t *testing.T) {
	x := newSite(t, nil)
	c := x.enter()
	again, err := newGuard(&x.s.Options, []string{origin})
	if err != nil || again.who(c.Value) != "ana" {
		t.Errorf("%q, %v", again.who(c.Value), err)
	}
	again.now = func() time.Time { return noon.Add(lasts + time.Second) }
	if who := again.who(c.Value); who != "" {
		t.Errorf("still %q", who)
	}
}

func TestBehindProxy(t *testing.T) {
	shared := func(c *config.Config) {
		c.Gate.Web = config.GateWeb{Listen: "unix:/tmp/x", Hosts: []string{"tri.acme.org"}, IdentityHeader: "X-Who"}
	}
	x := newSite(t, shared)
	x.put("1", "where?", "It is 5.")
	as := func(who string, c *http.Cookie) func(*http.Request) {
		return func(r *http.Request) {
			r.Host = "tri.acme.org"
			r.Header.Set("Origin", "https://tri.acme.org")
			if who != "" {
				r.Header.Set("X-Who", who)
			}
			if c != nil {
				r.AddCookie(c)
			}
		}
	}
	res := x.request("GET", "/", "", as("ben", nil))
	if res.StatusCode != http.StatusOK || len(res.Cookies()) != 1 || !res.Cookies()[0].Secure {
		t.Fatalf("%v %v", res.Status, res.Cookies())
	}
	c := res.Cookies()[0]
	if res := x.request("GET", "/", "", as("", c)); res.StatusCode != http.StatusForbidden {
		t.Errorf("nobody was let in: %v", res.Status)
	}
	if res := x.request("POST", "/decide", x.form(c, "approve"), as("ana", c)); res.StatusCode != http.StatusForbidden {
		t.Errorf("ana decided with ben's page: %v", res.Status)
	}
	if res := x.request("POST", "/decide", x.form(c, "approve"), as("ben", c)); res.StatusCode != http.StatusOK || !strings.HasSuffix(x.kinds(), "approve ben") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
	cfg := config.Default()
	cfg.Gate.Web = config.GateWeb{Listen: "127.0.0.1:0", Hosts: []string{"tri.acme.org"}, IdentityHeader: "X-Who"}
	if _, err := newGuard(&Options{Gate: gate.Gate{Home: x.home, Config: cfg}}, nil); err == nil {
		t.Error("a header is believed from anybody on this machine")
	}
	for _, address := range []string{"0.0.0.0:7373", ":7373", "192.168.0.1:7373", "example.org:80", "7373"} {
		if _, _, err := listen(address); err == nil {
			t.Errorf("listens on %s", address)
		}
	}
}

var element = regexp.MustCompile(`<[a-z]+[^>]*>`)

// Whatever came from outside changes nothing of the page but its text.
func TestHostileText(t *testing.T) {
	names, err := filepath.Glob("../../../../shared/data/hostile/text/*")
	if err != nil || len(names) == 0 {
		t.Skip("no hostile texts here")
	}
	var controls strings.Builder
	for r := rune(0); r < 0xa0; r++ {
		controls.WriteRune(r)
	}
	texts := []string{controls.String(), `"><img src=x onerror=alert(1)>`, "</textarea><script>alert(1)</script>", "{{.Seal}}", "javascript:alert(1)"}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.ToValidUTF8(string(b[:min(len(b), 20000)]), "?"))
	}
	plain := func(s string) []string {
		x := newSite(t, nil)
		x.put("1", s, s)
		c := x.enter()
		page := text(t, x.request("GET", "/", "", func(r *http.Request) { r.AddCookie(c) }))
		for _, r := range page {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%.40q: raw %U in the page", s, r)
			}
		}
		var names []string
		for _, e := range element.FindAllString(page, -1) {
			if e != `<p class="problem">` { // a hostile draft has those
				names = append(names, strings.Fields(strings.Trim(e, "<>"))[0])
			}
		}
		return names
	}
	want := strings.Join(plain("text"), " ")
	for _, s := range texts {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if got := strings.Join(plain(s), " "); got != want {
			t.Errorf("%.60q: elements\n%s\nwant\n%s", s, got, want)
		}
	}
}

func TestManyDrafts(t *testing.T) {
	x := newSite(t, nil)
	for i := range 500 {
		x.put(fmt.Sprint(i), "where is the retry limit?", strings.Repeat("It is 5. ", 20))
	}
	c := x.enter()
	began := time.Now()
	page := text(t, x.request("GET", "/", "", func(r *http.Request) { r.AddCookie(c) }))
	t.Logf("500 drafts: %v, %d bytes", time.Since(began), len(page))
	if n := strings.Count(page, "<li class=\"draft"); n != 500 {
		t.Errorf("%d rows", n)
	}
}
