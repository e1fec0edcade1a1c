package program

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/base/sandbox"
	"tri/lib/base/sysexit"
)

// Model is a model's endpoint, and the key to it, as variables say. The program gets
// neither: its Key is a word of ours and its Base the address of a door, behind which
// the request gets the key and goes to the endpoint, if it is one to a model.
type Model struct {
	Key    string // the variable with the key
	Header string // where the endpoint wants it: Authorization, or a header of its own
	Base   string // the variable with the endpoint's address; one that only Turn.Base knows where the program has none
	Usual  string // the address where Base is not set
}

// Headers of keys.
const (
	Bearer    = "Authorization"
	XAPIKey   = "X-Api-Key"
	GoogleKey = "X-Goog-Api-Key"
)

// door is the way to one model.
type door struct {
	Model
	key, word string
	to        *url.URL
	at        string // the address that the program is told
	log       string // file with a line for each request refused; "" is none
	server    http.Server
	conns     chan net.Conn
	ended     chan struct{}
	once      sync.Once
}

// openDoors makes a door for every model whose key the program would see. Within walls
// they are served through the sandbox, without on the loopback device.
func (r *running) openDoors() error {
	for _, m := range r.program.Models {
		key := r.program.Variable(m.Key)
		if key == "" || slices.ContainsFunc(r.doors, func(d *door) bool { return d.Base == m.Base }) {
			continue
		}
		to, err := url.Parse(firstOf(r.program.Variable(m.Base), m.Usual))
		if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
			return sysexit.With(sysexit.Config, fmt.Errorf("$%s is no address of a model", m.Base))
		}
		d := &door{Model: m, key: key, word: "tri-" + rand.Text(), to: to, conns: make(chan net.Conn), ended: make(chan struct{})}
		if r.task.Dir != "" {
			d.log = filepath.Join(r.task.Dir, proc.RefusedLog)
		}
		var l net.Listener = d
		at := sandbox.DoorAt(len(r.gate.Doors) + len(r.doors))
		if !r.program.Walled() {
			if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return sysexit.With(sysexit.Unavailable, fmt.Errorf("open a door to the model: %w", err))
			}
			at = l.Addr().String()
		}
		d.at = "http://" + at + strings.TrimSuffix(to.Path, "/")
		d.server = http.Server{Handler: d.handler(), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		r.doors = append(r.doors, d)
		go func() { _ = d.server.Serve(l) }() // until closeDoors
	}
	r.sayKeys()
	return nil
}

func firstOf(words ...string) string {
	return words[max(0, slices.IndexFunc(words, func(w string) bool { return w != "" }))]
}

// sayKeys tells which credentials the program has all the same.
func (r *running) sayKeys() {
	var with []string
	for _, name := range r.program.Env {
		if keyName.MatchString(name) && os.Getenv(name) != "" && slices.ContainsFunc(r.environment(Call{}), func(e string) bool { return e == name+"="+os.Getenv(name) }) {
			with = append(with, "$"+name)
		}
	}
	if login := r.program.Login(); login != "" {
		with = append(with, login)
	}
	if len(with) > 0 {
		r.task.See(agent.Event{Kind: agent.Milestone, Text: clip("the program itself has " + strings.Join(with, ", "))})
	}
}

var keyName = regexp.MustCompile(`(KEY|TOKEN|SECRET)$`)

func (r *running) closeDoors() {
	for _, d := range r.doors {
		d.once.Do(func() { close(d.ended) })
		_ = d.server.Close() // requests under way are the program's, which has ended
	}
}

// asks is what a program asks of a model: an answer, a count, or what models there are.
var asks = regexp.MustCompile(`^(?:/v\d[a-z0-9]*)?/(?:messages(?:/count_tokens)?|chat/completions|responses|models(?:/[\w.:@-]+)*)$`)

// handler passes requests to the model on, with the key in the place of the word.
func (d *door) handler() http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = d.to.Scheme, d.to.Host, d.to.Host
			query := p.Out.URL.Query()
			query.Del("key")
			p.Out.URL.RawQuery = query.Encode()
			for _, name := range []string{Bearer, XAPIKey, GoogleKey, "Api-Key", "Cookie", "Proxy-Authorization", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host"} {
				p.Out.Header.Del(name)
			}
			value := d.key
			if d.Header == Bearer {
				value = "Bearer " + value
			}
			p.Out.Header.Set(d.Header, value)
		},
		Transport:     &http.Transport{ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "tri: "+err.Error(), http.StatusBadGateway)
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(d.to.Path, "/"))
		switch {
		case !d.knows(r):
			http.Error(w, "tri: another key than the one that the run was given", http.StatusForbidden)
			d.refuse(r, "another key")
		case !asks.MatchString(path) || r.Method != http.MethodPost && r.Method != http.MethodGet:
			http.Error(w, "tri: no request to a model", http.StatusNotFound)
			d.refuse(r, "no request to a model")
		default:
			forward.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a request has the word, and no key beside it.
func (d *door) knows(r *http.Request) bool {
	found := false
	for _, value := range slices.Concat(r.Header[Bearer], r.Header[XAPIKey], r.Header[GoogleKey], r.Header["Api-Key"], r.URL.Query()["key"]) {
		if subtle.ConstantTimeCompare([]byte(strings.TrimPrefix(value, "Bearer ")), []byte(d.word)) == 0 {
			return false
		}
		found = true
	}
	return found
}

func (d *door) refuse(r *http.Request, why string) {
	if d.log == "" {
		return
	}
	err := sandbox.AppendRecord(d.log, map[string]string{
		"time": time.Now().UTC().Format(time.RFC3339Nano), "refused": clip(r.Method + " " + d.to.Host + r.URL.Path), "why": why,
	})
	if err != nil {
		slog.Warn("a request to the model was refused, and cannot be logged", "err", err)
	}
}

// answer serves one connection out of the sandbox.
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

// watched tells when it is closed.
type watched struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *watched) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Accept, Close and Addr make of a door a listener of the connections out of a
// sandbox.
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

// served are the doors as the sandbox takes them.
func (r *running) served() []func(context.Context, net.Conn) {
	all := slices.Clone(r.gate.Doors)
	for _, d := range r.doors {
		all = append(all, d.answer)
	}
	return all
}

// reach is what a call wants to dial, without what is behind a door.
func (r *running) reach(c Call) []string {
	return slices.Concat(slices.DeleteFunc(slices.Clone(c.Reach), func(at string) bool {
		return slices.ContainsFunc(r.doors, func(d *door) bool { return slices.Contains(agent.Endpoint(d.to.String()), at) })
	}), r.program.Network)
}

// Base is the address of the model that a variable names, as the program is told it;
// "" where nothing is known of it.
func (t Turn) Base(variable string) string {
	if at := t.bases[variable]; at != "" {
		return at
	}
	return t.program.Variable(variable)
}
