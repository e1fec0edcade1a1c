package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]string{
		"API.example.com:443": "api.example.com:443", "api.example.com.:443": "api.example.com:443",
		"127.0.0.1:80": "127.0.0.1:80",
		"[::1]:80":     "[::1]:80", "[::ffff:10.0.0.1]:80": "10.0.0.1:80",
		"[fe80::1%eth0]:80": "[fe80::1]:80",
		"localhost:1":       "localhost:1",
		"":                  "", "a": "", "a:": "", ":80": "", "a:0": "", "a:65536": "", "a:-1": "",
		"a:http": "",
		"a b:80": "", "a@b:80": "", "a/b:80": "",
		"127.1:80": "", "2130706433:80": "", "0x7f000001:80": "", "a\n:80": "", "é:80": "", "a:80:80": "",
		"localhost..:80": "", ".a:80": "", "a..b:80": "", ".:80": "",
	} {
		got, err := parseTarget(in)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v; want %q", in, got, err, want)
		}
	}
}

// aReach is an allow-list whose names resolve to what the test says, and whose
// dials go nowhere but are remembered.
func aReach(t *testing.T, names map[string]string, list ...string) (*allowList, *[]string) {
	t.Helper()
	r, err := newAllowList(list)
	if err != nil {
		t.Fatal(err)
	}
	r.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		var found []netip.Addr
		for s := range strings.FieldsSeq(names[host]) {
			found = append(found, netip.MustParseAddr(s))
		}
		if found == nil {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return found, nil
	}
	var dialled []string
	r.dial = func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
		dialled = append(dialled, addr.String())
		return nil, errors.New("dialled")
	}
	return r, &dialled
}

func TestReach(t *testing.T) {
	names := map[string]string{
		"api.example.com": "93.184.215.14 2606:2800:21f::1", "rebind.example.com": "127.0.0.1",
		"mixed.example.com": "10.0.0.5 93.184.215.14",
		"meta.example.com":  "169.254.169.254", "six.example.com": "::ffff:192.168.1.1",
		"nat.example.com": "64:ff9b::a00:1", "zero.example.com": "0.0.0.0",
		"ollama.internal": "10.1.2.3", "ollama": "192.168.1.9", "loop.internal": "127.0.0.1",
		"meta.internal":     "169.254.169.254",
		"named.example.com": "10.9.9.9",
	}
	list := []string{"api.example.com:443", "10.0.0.7:443", "127.0.0.1:8080", "localhost:9090",
		"10.9.9.9:443"}
	for name := range names {
		list = append(list, name+":443")
	}
	for to, want := range map[string]string{
		"api.example.com:443":  "93.184.215.14:443 [2606:2800:21f::1]:443",
		"API.EXAMPLE.COM.:443": "93.184.215.14:443 [2606:2800:21f::1]:443",
		"api.example.com:80":   "", "example.com:443": "", "evil.api.example.com:443": "",
		"93.184.215.14:443": "",
		"10.0.0.7:443":      "10.0.0.7:443", "10.0.0.7:80": "", "10.0.0.8:443": "",
		"127.0.0.1:8080": "127.0.0.1:8080", "localhost:9090": "127.0.0.1:9090 [::1]:9090",
		"127.0.0.1:9090": "", "localhost:8080": "",
		"rebind.example.com:443": "", "mixed.example.com:443": "93.184.215.14:443",
		"meta.example.com:443": "", "six.example.com:443": "",
		"nat.example.com:443": "", "zero.example.com:443": "",
		"ollama.internal:443": "10.1.2.3:443", "ollama:443": "192.168.1.9:443", "loop.internal:443": "",
		"meta.internal:443":     "",
		"named.example.com:443": "10.9.9.9:443",
	} {
		r, dialled := aReach(t, names, list...)
		_, err := r.Dial(context.Background(), to)
		if got := strings.Join(*dialled, " "); got != want {
			t.Errorf("%s: dialled %q, want %q (%v)", to, got, want, err)
		}
		if why := refusal(""); want == "" && !errors.As(err, &why) {
			t.Errorf("%s: %v is not a refusal", to, err)
		}
	}
}

// aProxy is a proxy that reaches what list has, and where it logs.
func aProxy(t *testing.T, list ...string) (at, log string) {
	t.Helper()
	r, err := newAllowList(list)
	if err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(t.TempDir(), "refused")
	p := newProxy(r, log)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.serveHTTP(l)
	t.Cleanup(p.Close)
	return l.Addr().String(), log
}

// aServer says which host it was asked for.
func aServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Host, r.URL.Path)
	})}
	go func() { _ = s.Serve(l) }() // until Close
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

func TestProxy(t *testing.T) {
	allowed, other := aServer(t), aServer(t)
	at, log := aProxy(t, allowed)
	get := func(to string) (int, string) {
		client := &http.Client{Timeout: 20 * time.Second,
			Transport: &http.Transport{DisableKeepAlives: true, Proxy: func(*http.Request) (*url.URL, error) {
				return url.Parse("http://" + at)
			}}}
		res, err := client.Get("http://" + to + "/path")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if status, body := get(allowed); status != 200 || body != "GET "+allowed+" /path" {
		t.Errorf("%d %q", status, body)
	}
	if status, body := get(other); status != 403 || !strings.Contains(body, "not on the list") {
		t.Errorf("%d %q", status, body)
	}
	for name, tt := range map[string]struct{ request, want string }{
		"connect": {"CONNECT " + allowed +
			" HTTP/1.1\r\nHost: x\r\n\r\nGET /a HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n",
			"GET inner /a"},
		"connect elsewhere": {"CONNECT " + other + " HTTP/1.1\r\nHost: " + allowed + "\r\n\r\n", "403"},
		"host says otherwise": {"GET http://" + allowed + "/ HTTP/1.1\r\nHost: " + other +
			"\r\nConnection: close\r\n\r\n", "GET " + allowed + " /"},
		"no absolute form":      {"GET / HTTP/1.1\r\nHost: " + allowed + "\r\n\r\n", "400"},
		"another scheme":        {"GET ftp://" + allowed + "/ HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
		"user in the authority": {"CONNECT " + allowed + "@" + other + " HTTP/1.1\r\nHost: x\r\n\r\n", "40"},
		"second request": {"GET http://" + allowed + "/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://" +
			other + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "403"},
		"no HTTP": {"\x16\x03\x01\r\n\r\n", "400"},
	} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, tt.request); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for lines := bufio.NewScanner(conn); !strings.Contains(said.String(), tt.want) && lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
		}
		if !strings.Contains(said.String(), tt.want) {
			t.Errorf("%s: %q, want %q", name, said.String(), tt.want)
		}
		conn.Close()
	}
	text, err := os.ReadFile(log)
	if err != nil || strings.Count(string(text), `"refused":"`+other+`"`) < 3 ||
		strings.Contains(string(text), `"refused":"`+allowed+`"`) {
		t.Errorf("log %s, %v", text, err)
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"a:80", "[::1]:80", "127.1:80", "a@b:80", "localhost.:80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseTarget(s)
		if err != nil {
			return
		}
		if again, err := parseTarget(got.String()); err != nil || again != got {
			t.Errorf("%q is %v, and that is %v, %v", s, got, again, err)
		}
	})
}
