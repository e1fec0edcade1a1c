package git

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/base/sysexit"
)

// serveGit is a bare repository over HTTP that wants a credential.
func serveGit(t *testing.T) (url, dir string, seen *sync.Map) {
	t.Helper()
	core, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(core)), "git-http-backend")
	if _, e := os.Stat(backend); err != nil || e != nil {
		t.Skip("git-http-backend is not there")
	}
	root := t.TempDir()
	dir = filepath.Join(root, "ana/pay.git")
	run(t, root, "init", "-q", "--bare", dir)
	run(t, dir, "config", "http.receivepack", "true")
	seen = new(sync.Map)
	h := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
		InheritEnv: []string{"PATH"}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.URL.Path, r.Header.Get("Authorization"))
		switch {
		case strings.HasPrefix(r.URL.Path, "/moved/"):
			http.Redirect(w, r, "http://"+r.Host+"/ana/pay.git/info/refs?"+r.URL.RawQuery, http.StatusFound)
		case r.Header.Get("Authorization") != "Basic good":
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			http.Error(w, "no", http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, dir, seen
}

// TestPush: a branch is pushed to the given URL, with the credential, whatever the repository's
// remotes and URL rewrites are, and nothing configured there runs.
func TestPush(t *testing.T) {
	url, bare, seen := serveGit(t)
	r, base, p, _ := fixed(t)
	marks := t.TempDir()
	tool := filepath.Join(marks, "tool")
	write(t, marks, map[string]string{"tool+x": "#!/bin/sh\necho \"$0 $*\" >>" + marks + "/canary\n"})
	plant(t, r.Root, filepath.Join(r.Root, ".git"), tool)
	more := "[url \"ext::" + tool + " \"]\n\tinsteadOf = " + url + "\n\tpushInsteadOf = " + url +
		"\n[http]\n\tproxy = http://127.0.0.1:1\n\textraHeader = X-Evil: 1\n[push]\n\tfollowTags = true\n\tgpgSign = true\n\trecurseSubmodules = on-demand\n"
	config, err := os.OpenFile(filepath.Join(r.Root, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	config.WriteString(more)
	config.Close()
	id, err := r.Branch(t.Context(), p, Commit{Base: base, Branch: "tri/x", Message: "m",
		When: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Remote(t.Context(), "origin"); err != nil || !strings.HasPrefix(got, "ext::") {
		t.Errorf("remote %q, %v", got, err)
	}
	if got, err := r.Remote(t.Context(), "none"); err != nil || got != "" {
		t.Errorf("no remote: %q, %v", got, err)
	}
	push := Push{URL: url + "/ana/pay.git", Header: "Authorization: Basic good", Commit: id, Branch: "tri/x"}
	for range 2 { // the second has nothing to do
		if err := r.Push(t.Context(), push); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(t, bare, "rev-parse", "refs/heads/tri/x"); got != id {
		t.Errorf("there: %s, want %s", got, id)
	}
	other := push
	other.Commit = base
	refused(t, r, other, sysexit.No)
	wrong := push
	wrong.Header = "Authorization: Basic bad"
	refused(t, r, wrong, sysexit.NoPerm)
	wrong.Header = ""
	refused(t, r, wrong, sysexit.NoPerm)
	moved := push
	moved.URL = url + "/moved/pay.git"
	if err := r.Push(t.Context(), moved); err == nil {
		t.Error("a push followed a redirection")
	}
	if got, _ := os.ReadFile(filepath.Join(marks, "canary")); len(got) > 0 {
		t.Errorf("ran:\n%s", got)
	}
	seen.Range(func(path, _ any) bool {
		if !strings.HasPrefix(path.(string), "/ana/pay.git/") &&
			!strings.HasPrefix(path.(string), "/moved/") {
			t.Errorf("asked for %v", path)
		}
		return true
	})
}

func refused(t *testing.T, r *Repo, p Push, status int) {
	t.Helper()
	err := r.Push(t.Context(), p)
	if got, _ := sysexit.Of(err); err == nil || got != status || len(sysexit.Hints(err)) == 0 ||
		strings.Contains(err.Error(), "Basic") {
		t.Errorf("got %v, status %d, want %d", err, got, status)
	}
}

// TestPushFromShallow: a clone without history can push its commits.
func TestPushFromShallow(t *testing.T) {
	url, bare, _ := serveGit(t)
	from, base := checkout(t, nil)
	write(t, from.Root, map[string]string{"second": "x\n"})
	run(t, from.Root, "add", "-A")
	run(t, from.Root, "commit", "-qm", "second")
	run(t, from.Root, "push", "-q", bare, "main")
	dir := filepath.Join(t.TempDir(), "clone")
	run(t, from.Root, "clone", "-q", "--depth=1", "file://"+from.Root, dir)
	r, err := Open(t.Context(), dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	head, err := r.Head(t.Context())
	if err != nil || head == base {
		t.Fatal(head, err)
	}
	id, err := r.Branch(t.Context(), checked(t, []byte(file("new", "100644")), Rules{}),
		Commit{Base: head, Branch: "tri/x", Message: "m", When: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Push(t.Context(), Push{URL: url + "/ana/pay.git", Header: "Authorization: Basic good",
		Commit: id, Branch: "tri/x"}); err != nil {
		t.Error(err)
	}
}

func TestRoads(t *testing.T) {
	for address, want := range map[string]string{
		"https://x.test/a/b.git": "https", "http://127.0.0.1:3000/a/b": "http", "http://localhost/a": "http",
		"ssh://git@x.test:22/a/b": "ssh", "git@x.test:a/b.git": "ssh", "x.test:a/b": "ssh",
		"http://x.test/a": "", "https://user:pass@x.test/a": "", "https://user@x.test/a": "",
		"file:///tmp/x": "", "/tmp/x": "", "ext::sh -c x": "", "ext::sh:x": "",
		"ssh://-oProxyCommand=x/a": "", "-oProxyCommand=x:a": "", "ssh://-x@host/a": "", "git@-x:a": "",
		"git@x.test:-a": "", "ssh://x.test/-a": "", "git://x.test/a": "", "": "", "https://x.test/a?b": "",
		"x.test:a b": "", "a\nb:c": "",
	} {
		got, _, err := road(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", address, got, err, want)
		}
	}
}
