package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/flow/approve"
)

// No request that the page did not make changes anything: every host with every
// origin, method, kind of body and token.
func TestForgedRequests(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	other := x.s.guard.session("ben", "token")
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
	for _, host := range []string{"evil.example", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:7373",
		"localhost.evil.example:7373", "0.0.0.0:7373", "[::1]:7373", ""} {
		try("host "+host, "POST", good, head("Host", host))
		try("host and origin "+host, "POST", good, head("Host", host, "Origin", "http://"+host))
	}
	for _, o := range []string{"", "null", "https://127.0.0.1:7373", "http://evil.example",
		"http://localhost:7373", "http://127.0.0.1:7373.evil.example", "http://127.0.0.1:7374", "file://",
		"http://127.0.0.1:7373/"} {
		try("origin "+o, "POST", good, head("Origin", o))
	}
	try("two origins", "POST", good, func(r *http.Request) {
		head()(r)
		r.Header.Add("Origin", origin)
	})
	for _, site := range []string{"cross-site", "same-site", "none"} {
		try("fetched "+site, "POST", good, head("Sec-Fetch-Site", site))
	}
	for _, kind := range []string{"", "text/plain", "application/json", "multipart/form-data; boundary=x",
		"application/x-www-form-urlencoded, text/plain"} {
		try("kind "+kind, "POST", good, head("Content-Type", kind))
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "post"} {
		try("method "+method, method, good,
			head("Origin", origin, "Content-Type", "application/x-www-form-urlencoded"))
	}
	try("no cookie", "POST", good, nil)
	for name, value := range map[string]string{"cut": c.Value[:len(c.Value)-1],
		"changed": strings.Replace(c.Value, "616e61", "62656e", 1), "empty": "", "another person's": other,
		"without end": "99999999999.x.616e61."} {
		try("cookie "+name, "POST", good, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: value})
		})
	}
	for name, seal := range map[string]string{"no": "", "another session's": x.s.guard.seal(other),
		"a token": x.s.guard.token()} {
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
	if res := x.request("GET", "/?token="+used, "", nil); res.StatusCode != http.StatusForbidden ||
		len(res.Cookies()) > 0 {
		t.Errorf("again: %v", res.Status)
	}
	foreign := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if res := x.request("GET", "/?token="+x.s.guard.token(), "",
		foreign); res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
		t.Errorf("from another site: %v", res.Status)
	}
	for _, path := range []string{"/", "/item/abcdef", "/changes", "/app.js"} {
		if res := x.request("GET", path, "", nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s without a cookie: %v", path, res.Status)
		}
	}
}

// A cookie outlives the program, and not its time.
// TestSessionEnds: with the process, since another user may listen on its port after it, and after a day.
func TestSessionEnds(t *testing.T) {
	x := newSite(t, nil)
	c := x.enter()
	again, err := newGuard(&x.s.Options, []string{origin})
	if err != nil || again.who(c.Value) != "" {
		t.Errorf("after a restart: %q, %v", again.who(c.Value), err)
	}
	if who := x.s.guard.who(c.Value); who != "ana" {
		t.Errorf("before: %q", who)
	}
	x.s.guard.now = func() time.Time { return noon.Add(lasts + time.Second) }
	if who := x.s.guard.who(c.Value); who != "" {
		t.Errorf("after a day still %q", who)
	}
}

// TestListenOnLocalhost: the printed address names the address that is listened on.
func TestListenOnLocalhost(t *testing.T) {
	l, origins, err := listen("localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if want := "http://" + l.Addr().String(); origins[0] != want {
		t.Errorf("%s, want %s", origins[0], want)
	}
}

func TestBehindProxy(t *testing.T) {
	shared := func(c *config.Config) {
		c.Gate.Web = config.GateWeb{Listen: "unix:/tmp/x", Hosts: []string{"tri.acme.org"},
			IdentityHeader: "X-Who"}
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
	if res := x.request("POST", "/decide", x.form(c, "approve"),
		as("ana", c)); res.StatusCode != http.StatusForbidden {
		t.Errorf("ana decided with ben's page: %v", res.Status)
	}
	if res := x.request("POST", "/decide", x.form(c, "approve"),
		as("ben", c)); res.StatusCode != http.StatusOK || !strings.HasSuffix(x.kinds(), "approve ben") {
		t.Errorf("%v %s", res.Status, x.kinds())
	}
	cfg := config.Default()
	cfg.Gate.Web = config.GateWeb{Listen: "127.0.0.1:0", Hosts: []string{"tri.acme.org"},
		IdentityHeader: "X-Who"}
	if _, err := newGuard(&Options{Gate: approve.Gate{Home: x.home, Config: cfg}}, nil); err == nil {
		t.Error("a header is believed from anybody on this machine")
	}
	for _, address := range []string{"0.0.0.0:7373", ":7373", "192.168.0.1:7373", "example.org:80", "7373"} {
		if _, _, err := listen(address); err == nil {
			t.Errorf("listens on %s", address)
		}
	}
}

// TestCookieAloneOpensNothing: a page on another port of the host is sent the cookie too.
// Who has no more than that sees nothing, and decides nothing.
func TestCookieAloneOpensNothing(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c := x.enter()
	with := func(r *http.Request) {
		r.AddCookie(c)
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/") // "//x" is x without the folder
	}
	other := x.s.guard.folder(x.s.guard.session("ana", "another"))
	for _, path := range []string{"//", "//item/abcdef", "//changes", "//app.js", "//" + other + "/",
		"//" + strings.ToUpper(x.s.guard.folder(c.Value)) + "/", "//../", "//?token=guess"} {
		if res := x.request("GET", path, "", with); res.StatusCode != http.StatusForbidden ||
			strings.Contains(bodyOf(t, res), "It is 5") {
			t.Errorf("%s: %v", path, res.Status)
		}
	}
	for _, path := range []string{"//decide", "//" + other + "/decide", "//leave"} {
		if res := x.request("POST", path, x.form(c, "approve"),
			with); res.StatusCode != http.StatusForbidden || x.kinds() != "offer tri-dispatch" {
			t.Errorf("%s: %v, %s", path, res.Status, x.kinds())
		}
	}
}

// TestAddressAgain: the printed address leads back to the page for who has the cookie
// that was given for it, and for no other.
func TestAddressAgain(t *testing.T) {
	x := newSite(t, nil)
	token := x.s.guard.token()
	path := "/?token=" + token
	first := x.request("GET", path, "", nil)
	c := first.Cookies()[0]
	again := x.request("GET", path, "", func(r *http.Request) { r.AddCookie(c) })
	if at := again.Header.Get("Location"); again.StatusCode != http.StatusSeeOther ||
		at != first.Header.Get("Location") || at != x.s.guard.folder(c.Value)+"/" {
		t.Errorf("%v to %q", again.Status, at)
	}
	other := x.enter()
	for name, change := range map[string]func(*http.Request){
		"no cookie": nil, "another session's": func(r *http.Request) { r.AddCookie(other) },
		"from another site": func(r *http.Request) {
			r.AddCookie(c)
			r.Header.Set("Sec-Fetch-Site", "same-site")
		},
	} {
		if res := x.request("GET", path, "", change); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %v", name, res.Status)
		}
	}
}

// TestLeave: logging out ends every session of the home, also for a page that is
// started again.
func TestLeave(t *testing.T) {
	x := newSite(t, nil)
	x.put("1", "where?", "It is 5.")
	c, other := x.enter(), x.enter()
	if res := x.request("POST", "/leave", "seal=x", func(r *http.Request) {
		r.AddCookie(c)
	}); res.StatusCode != http.StatusForbidden {
		t.Errorf("without a seal: %v", res.Status)
	}
	if res := x.request("POST", "/leave", x.form(c, ""), func(r *http.Request) {
		r.AddCookie(c)
	}); res.StatusCode != http.StatusOK {
		t.Fatalf("%v", res.Status)
	}
	again, err := newGuard(&x.s.Options, []string{origin})
	for _, c := range []*http.Cookie{c, other} {
		if res := x.request("GET", "/", "", func(r *http.Request) {
			r.AddCookie(c)
		}); res.StatusCode != http.StatusForbidden || err != nil || again.who(c.Value) != "" {
			t.Errorf("still in: %v, %v", res.Status, err)
		}
	}
	x.enter()
}
