package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

const (
	cookieName = "tri-session"
	lasts      = 24 * time.Hour
	maxBody    = 256 << 10
)

// guard admits a visitor who opens the printed address, once, and after that one who has both the cookie
// set for it and the folder to which it redirected; behind a proxy, the person whom the proxy names.
// Browsers send a cookie to every port of a host, so a page on another port can obtain the cookie; alone
// it grants nothing. Every change must be requested by the page itself.
type guard struct {
	key     []byte
	person  string // the person of the printed address
	origins []string
	web     config.GateWeb
	now     func() time.Time

	mu     sync.Mutex
	tokens map[string]bool // not used yet
}

func newGuard(o *Options, origins []string) (*guard, error) {
	web := o.Gate.Config.Gate.Web
	if web.IdentityHeader != "" && !strings.HasPrefix(web.Listen, "unix:") {
		err := sysexit.With(sysexit.Config,
			errors.New("gate.web: identity_header is accepted on a Unix socket only: on loopback, any user of this machine could set it"))
		return nil, sysexit.Hint(err, "listen: unix:/run/tri/web.sock, and connect the proxy to it")
	}
	if len(origins) == 0 && web.IdentityHeader == "" {
		err := sysexit.With(sysexit.Config,
			errors.New("gate.web: a Unix socket needs hosts and identity_header"))
		return nil, sysexit.Hint(err,
			"hosts: [the name under which the proxy is reached], identity_header: the header in which it names the person")
	}
	return &guard{key: newKey(), person: o.Gate.By, origins: origins, web: web, now: o.Now,
		tokens: map[string]bool{}}, nil
}

// newKey returns a key for the cookies of this process. After it has ended, another user may listen on its
// port and receive the cookies that browsers send; they must not be valid when the program starts again.
func newKey() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}

// end ends all sessions.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.key = newKey()
}

// token returns a token for one first visit.
func (g *guard) token() string {
	t := rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens[t] = true
	return t
}

func (g *guard) use(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok := g.tokens[token]
	delete(g.tokens, token)
	return ok
}

func (g *guard) sign(text string) string {
	g.mu.Lock()
	m := hmac.New(sha256.New, g.key)
	g.mu.Unlock()
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// session returns "<until>.<hash of the token>.<person>.<signature>", with the person in hex.
func (g *guard) session(person, token string) string {
	text := fmt.Sprintf("%d.%s.%s", g.now().Add(lasts).Unix(), digest(token),
		hex.EncodeToString([]byte(person)))
	return text + "." + g.sign("session "+text)
}

func digest(token string) string {
	return text.SHA256(token)[:32]
}

// folder returns the path prefix of a session's pages: the half of the credential that is never sent to
// another port. Behind a proxy, which identifies the person, it is empty.
func (g *guard) folder(session string) string {
	if g.web.IdentityHeader != "" {
		return ""
	}
	return "/" + g.sign("folder " + session)[:32]
}

// who returns the person of a session, or "" if the session is invalid.
func (g *guard) who(session string) string {
	i := strings.LastIndexByte(session, '.')
	if i < 0 || !same(session[i+1:], g.sign("session "+session[:i])) {
		return ""
	}
	f := strings.Split(session[:i], ".")
	if len(f) != 3 {
		return ""
	}
	until, err := strconv.ParseInt(f[0], 10, 64)
	person, bad := hex.DecodeString(f[2])
	if err != nil || bad != nil || g.now().Unix() > until {
		return ""
	}
	return string(person)
}

// seal returns the value that a form of this session must carry.
func (g *guard) seal(session string) string { return g.sign("form " + session) }

// visitor is the person of a request, their session, and the path prefix of its pages.
type visitor struct{ person, session, folder string }

type visitorKey struct{}

func visitorOf(r *http.Request) visitor {
	v, _ := r.Context().Value(visitorKey{}).(visitor)
	return v
}

var policy = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'",
	"frame-ancestors 'none'", "base-uri 'none'",
}, "; ")

// around refuses every request that does not come from the page itself.
func (g *guard) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, a form's Origin would be null
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		origin, ok := g.origin(r.Host)
		if !ok {
			http.Error(w, "this page is not served under that name", http.StatusMisdirectedRequest)
			return
		}
		if token := r.URL.Query().Get("token"); token != "" && r.Method == http.MethodGet &&
			r.URL.Path == "/" && g.web.IdentityHeader == "" {
			g.enter(w, r, token)
			return
		}
		v, ok := g.visitor(w, r)
		path, below := strings.CutPrefix(r.URL.Path, v.folder)
		if !ok || !below || !strings.HasPrefix(path, "/") {
			http.Error(w,
				"open the address that tri-approve web printed; it is for one visit, and a new one is printed at its start", http.StatusForbidden)
			return
		}
		if status, why := g.forged(r, origin, v); why != "" {
			http.Error(w, why, status)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		r = r.Clone(context.WithValue(r.Context(), visitorKey{}, v))
		r.URL.Path, r.URL.RawPath = path, ""
		next.ServeHTTP(w, r)
	})
}

// origin returns the origin of a page served under host, if host is the server's.
func (g *guard) origin(host string) (string, bool) {
	for _, o := range g.origins {
		if strings.TrimPrefix(o, "http://") == host {
			return o, true
		}
	}
	if slices.Contains(g.web.Hosts, host) {
		return "https://" + host, true
	}
	return "", false
}

// enter exchanges the token of a first visit for a session, and removes it from the address. A visitor who
// opens the address again, and has the cookie set for it, is redirected to the page.
func (g *guard) enter(w http.ResponseWriter, r *http.Request, token string) {
	site := r.Header.Get("Sec-Fetch-Site")
	had, err := r.Cookie(cookieName)
	switch {
	case site != "" && site != "none" && site != "same-origin":
	case g.use(token):
		session := g.session(g.person, token)
		g.give(w, session)
		http.Redirect(w, r, g.folder(session)+"/", http.StatusSeeOther)
		return
	case err == nil && g.who(had.Value) != "" && same(strings.Split(had.Value, ".")[1], digest(token)):
		http.Redirect(w, r, g.folder(had.Value)+"/", http.StatusSeeOther)
		return
	}
	http.Error(w, "that address has been used, or was never printed; start tri-approve web again for a new one", http.StatusForbidden)
}

func (g *guard) give(w http.ResponseWriter, session string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: g.web.IdentityHeader != "", MaxAge: int(lasts.Seconds()),
	})
}

// visitor identifies the person of a request. Behind a proxy it is the person whom the proxy names; the
// cookie then only ties forms to pages.
func (g *guard) visitor(w http.ResponseWriter, r *http.Request) (visitor, bool) {
	session := ""
	if c, err := r.Cookie(cookieName); err == nil {
		session = c.Value
	}
	person := g.who(session)
	if g.web.IdentityHeader == "" {
		return visitor{person, session, g.folder(session)}, person != ""
	}
	said := r.Header.Values(g.web.IdentityHeader)
	if len(said) != 1 || said[0] == "" {
		return visitor{}, false
	}
	if person != said[0] {
		if r.Method != http.MethodGet {
			return visitor{}, false
		}
		session = g.session(said[0], rand.Text())
		g.give(w, session)
	}
	return visitor{said[0], session, ""}, true
}

// forged says why a request does not come from the page itself.
func (g *guard) forged(r *http.Request, origin string, v visitor) (status int, why string) {
	if site := r.Header.Get("Sec-Fetch-Site"); r.Method != http.MethodGet && site != "" &&
		site != "same-origin" {
		return http.StatusForbidden, "another site asked for that"
	}
	switch r.Method {
	case http.MethodGet:
		return 0, ""
	case http.MethodPost:
	default:
		return http.StatusMethodNotAllowed, "only GET and POST"
	}
	if got := r.Header.Values("Origin"); len(got) != 1 || got[0] != origin {
		return http.StatusForbidden, "another page asked for that"
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" ||
		len(r.Header.Values("Content-Type")) != 1 {
		return http.StatusUnsupportedMediaType, "a form is required"
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		return http.StatusBadRequest, "the form cannot be read"
	}
	if !same(r.PostForm.Get("seal"), g.seal(v.session)) {
		return http.StatusForbidden, "the form is not from this page; load it again"
	}
	return 0, ""
}
