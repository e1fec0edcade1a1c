package program

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sandbox"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Model names the variables that hold a model's endpoint and its key. The program sees neither.
// Its Key variable holds a random token, and its Base the address of a local proxy, which replaces
// the token with the key and forwards the request to the endpoint if it is a model request.
type Model struct {
	Key    string // the variable with the key
	Header string // the header that carries it: Authorization, or a vendor's own
	Base   string // the variable with the endpoint's address; for Turn.Base only if the program has none
	Usual  string // the endpoint if Base is not set
}

// Headers that carry a key.
const (
	Bearer    = "Authorization"
	XAPIKey   = "X-Api-Key"
	GoogleKey = "X-Goog-Api-Key"
)

// Models with the usual names of a key and of the address that it is for.
var (
	OpenAI         = Model{"OPENAI_API_KEY", Bearer, "OPENAI_BASE_URL", "https://api.openai.com/v1"}
	Anthropic      = Model{"ANTHROPIC_API_KEY", XAPIKey, "ANTHROPIC_BASE_URL", "https://api.anthropic.com"}
	AnthropicToken = Model{"ANTHROPIC_AUTH_TOKEN", Bearer, "ANTHROPIC_BASE_URL", "https://api.anthropic.com"}
	Gemini         = Model{"GEMINI_API_KEY", GoogleKey, "GOOGLE_GEMINI_BASE_URL",
		"https://generativelanguage.googleapis.com"}
)

// UseModels sets the models of a program that may be any: those whose key and address it is given.
func (p *Program) UseModels() {
	p.Models = slices.DeleteFunc([]Model{OpenAI, Anthropic, AnthropicToken, Gemini}, func(m Model) bool {
		return !slices.Contains(p.Env, m.Base)
	})
}

// door is the proxy to one model.
type door struct {
	Model
	key, word string
	to        *url.URL
	at        string // the address given to the program
	log       string // file with a line for each refused request; "" if none
	refused   atomic.Int64
	server    http.Server
	conns     chan net.Conn
	ended     chan struct{}
	once      sync.Once
}

// openDoors opens a proxy for every model whose key the program would see. It is served through
// the sandbox, or on the loopback device if there is no sandbox.
func (r *running) openDoors() error {
	for _, m := range r.program.Models {
		key := r.program.Variable(m.Key)
		if key == "" || slices.ContainsFunc(r.doors, func(d *door) bool { return d.Base == m.Base }) {
			continue
		}
		to, err := url.Parse(cmp.Or(r.program.Variable(m.Base), m.Usual))
		if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return sysexit.Errorf(sysexit.Config, "$%s is not an address of a model", m.Base)
		}
		d := &door{Model: m, key: key, word: "tri-" + rand.Text(), to: to, conns: make(chan net.Conn),
			ended: make(chan struct{})}
		if r.task.Dir != "" {
			d.log = filepath.Join(r.task.Dir, proc.RefusedLog)
		}
		var l net.Listener = d
		at := sandbox.ForwardAt(len(r.gate.Doors) + len(r.doors))
		if !r.program.Walled() {
			if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return sysexit.Errorf(sysexit.Unavailable, "open a door to the model: %w", err)
			}
			at = l.Addr().String()
		}
		d.at = "http://" + at + strings.TrimSuffix(to.Path, "/")
		d.server = http.Server{Handler: d.handler(), ReadHeaderTimeout: time.Minute,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		r.doors = append(r.doors, d)
		go func() { _ = d.server.Serve(l) }() // until closeDoors
	}
	r.sayKeys()
	return nil
}

// sayKeys reports the credentials that the program holds itself.
func (r *running) sayKeys() {
	var with []string
	for _, name := range r.program.Env {
		if keyName.MatchString(name) && os.Getenv(name) != "" &&
			slices.ContainsFunc(r.environment(Call{}), func(e string) bool {
				return e == name+"="+os.Getenv(name)
			}) {
			with = append(with, "$"+name)
		}
	}
	if login := r.program.Login(); login != "" {
		with = append(with, login)
	}
	if len(with) > 0 {
		r.task.See(agent.Event{Kind: agent.Milestone,
			Text: clip("the program itself has " + strings.Join(with, ", ") + ": replaced are only keys of a " +
				"model whose address is in its environment too")})
	}
}

var keyName = lazyregexp.New(`(KEY|TOKEN|SECRET)$`)

func (r *running) closeDoors() {
	for _, d := range r.doors {
		d.once.Do(func() { close(d.ended) })
		_ = d.server.Close() // requests in flight belong to the program, which has ended
	}
}

// asks matches the paths of model requests: a completion, a token count, or the list of models.
var asks = lazyregexp.New(`^(?:/v\d[a-z0-9]*)?/(?:messages(?:/count_tokens)?|chat/completions|responses|models(?:/[\w.:@-]+)*)$`)

// maxOpen is how many requests are forwarded at once: their bodies are in our memory.
const maxOpen = 16

// handler forwards requests to the model, with the key in place of the token.
func (d *door) handler() http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = d.to.Scheme, d.to.Host, d.to.Host
			query := p.Out.URL.Query()
			query.Del("key")
			p.Out.URL.RawQuery = query.Encode()
			for _, name := range []string{Bearer, XAPIKey, GoogleKey, "Api-Key", "Cookie",
				"Proxy-Authorization", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
				"X-Http-Method-Override"} {
				p.Out.Header.Del(name)
			}
			value := d.key
			if d.Header == Bearer {
				value = "Bearer " + value
			}
			p.Out.Header.Set(d.Header, value)
		},
		Transport:     &http.Transport{IdleConnTimeout: time.Minute},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "tri: "+err.Error(), http.StatusBadGateway)
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	slots := make(chan struct{}, maxOpen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(d.to.Path, "/"))
		switch {
		case !d.knows(r):
			http.Error(w, "tri: another key than the one that the run was given", http.StatusForbidden)
			d.refuse(r, "another key")
		case !asks.MatchString(path) || strings.Contains(path, "..") ||
			r.Method != http.MethodPost && r.Method != http.MethodGet:
			http.Error(w, "tri: no request to a model", http.StatusNotFound)
			d.refuse(r, "no request to a model")
		default:
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-r.Context().Done():
				return
			}
			if why := within(w, r); why != "" {
				status := http.StatusForbidden
				if r.Header.Get("Upgrade") != "" {
					status = http.StatusUpgradeRequired // a client then asks plainly
				}
				http.Error(w, "tri: a run may not have the model use a network: "+why, status)
				d.refuse(r, "the model would use a network: "+why)
				return
			}
			forward.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a request carries the token and no other key.
func (d *door) knows(r *http.Request) bool {
	found := false
	for _, value := range slices.Concat(r.Header[Bearer], r.Header[XAPIKey], r.Header[GoogleKey],
		r.Header["Api-Key"], r.URL.Query()["key"]) {
		if subtle.ConstantTimeCompare([]byte(strings.TrimPrefix(value, "Bearer ")), []byte(d.word)) == 0 {
			return false
		}
		found = true
	}
	return found
}

// maxRefused bounds the log of refused requests, in lines.
const maxRefused = 1000

func (d *door) refuse(r *http.Request, why string) {
	if d.refused.Add(1) > maxRefused || d.log == "" {
		return
	}
	err := sandbox.AppendRecord(d.log, map[string]string{
		"time":    text.Timestamp(time.Now()),
		"refused": clip(r.Method + " " + d.to.Host + r.URL.Path), "why": why,
	})
	if err != nil {
		slog.Warn("a request to the model was refused, and cannot be logged", "err", err)
	}
}

// answer serves one connection from the sandbox.
func (d *door) answer(ctx context.Context, conn net.Conn) {
	c := &watched{Conn: conn, closed: make(chan struct{})}
	select {
	case d.conns <- c:
	case <-d.ended:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-c.closed:
	case <-d.ended:
	case <-ctx.Done():
	}
}

// watched is a connection that signals when it is closed.
type watched struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *watched) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Accept, Close and Addr make a door a net.Listener for connections from a sandbox.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.ended:
		return nil, errors.New("the run is over")
	}
}

func (d *door) Close() error {
	d.once.Do(func() { close(d.ended) })
	return nil
}

func (d *door) Addr() net.Addr { return &net.TCPAddr{} }

// served returns the handlers of all doors, in the form that the sandbox takes.
func (r *running) served() []func(context.Context, net.Conn) {
	all := slices.Clone(r.gate.Doors)
	for _, d := range r.doors {
		all = append(all, d.answer)
	}
	return all
}

// reach returns the host:port addresses that a call needs, except those behind a door.
func (r *running) reach(c Call) []string {
	return slices.Concat(slices.DeleteFunc(slices.Clone(c.Reach), func(at string) bool {
		return slices.ContainsFunc(r.doors, func(d *door) bool {
			return slices.Contains(agent.Endpoint(d.to.String()), at)
		})
	}), r.program.Network)
}

// Base returns the model address that the program sees under the variable, "" if it is unknown.
func (t Turn) Base(variable string) string {
	return cmp.Or(t.bases[variable], t.Variable(variable))
}
