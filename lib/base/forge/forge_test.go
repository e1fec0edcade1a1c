package forge

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

const token = "t0ken-of-a-test"

// fake is a forge of some kind with one project.
type fake struct {
	kind string
	url  string

	mu       sync.Mutex
	pulls    []map[string]any
	asked    []string
	posts    int
	swallow  bool // the answer to the next post is lost
	race     bool // another process opens it just before the next post
	bodies   []string
	redirect bool
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.Method+" "+r.URL.EscapedPath())
	header := map[string]string{"github": "Bearer " + token, "gitea": "token " + token}[f.kind]
	switch {
	case f.redirect:
		http.Redirect(w, r, "https://evil.test/", http.StatusFound)
		return
	case f.kind == GitLab && r.Header.Get("PRIVATE-TOKEN") != token, f.kind != GitLab &&
		r.Header.Get("Authorization") != header:
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	base := map[string]string{"github": "/api/v3/repos/ana/pay", "gitea": "/api/v1/repos/ana/pay",
		"gitlab": "/api/v4/projects/ana%2Fpay"}[f.kind]
	list := base + map[string]string{"github": "/pulls", "gitea": "/pulls",
		"gitlab": "/merge_requests"}[f.kind]
	switch at := r.URL.EscapedPath(); {
	case at == base && r.Method == "GET":
		json.NewEncoder(w).Encode(map[string]any{"default_branch": "trunk"})
	case at == list && r.Method == "GET":
		f.list(w, r)
	case at == list && r.Method == "POST":
		f.post(w, r)
	default:
		http.Error(w, `{}`, http.StatusNotFound)
	}
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	all := []map[string]any{}
	for _, p := range f.pulls {
		switch {
		case f.kind == GitHub && q.Get("head") == "ana:"+p["branch"].(string), f.kind == GitLab &&
			q.Get("source_branch") == p["branch"]:
			all = append(all, p)
		case f.kind == Gitea:
			all = append(all, p)
		}
	}
	if f.kind == Gitea {
		pages := slices.Collect(slices.Chunk(all, 2)) // fewer than were asked for
		all = nil
		if n := int(q.Get("page")[0] - '1'); n < len(pages) {
			all = pages[n]
		}
	}
	json.NewEncoder(w).Encode(all)
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	var in map[string]string
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	f.posts++
	branch, into := in["head"]+in["source_branch"], in["base"]+in["target_branch"]
	there := slices.ContainsFunc(f.pulls, func(p map[string]any) bool {
		return p["branch"] == branch && p["project"] == "ana/pay"
	})
	if into != "trunk" && into != "next" || in["title"] == "" {
		http.Error(w, `{"message":"invalid"}`, http.StatusUnprocessableEntity)
		return
	}
	if !there {
		f.bodies = append(f.bodies, in["body"]+in["description"])
		f.add("ana/pay", branch)
	}
	if there || f.race {
		http.Error(w, `{"message":"already exists"}`,
			map[string]int{"github": 422, "gitea": 409, "gitlab": 409}[f.kind])
		return
	}
	if f.swallow {
		f.swallow = false
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(f.pulls[len(f.pulls)-1])
}

func (f *fake) add(project, branch string) {
	n := len(f.pulls) + 1
	p := map[string]any{"branch": branch, "project": project,
		"head": map[string]any{"ref": branch, "repo": map[string]any{"full_name": project}}}
	if f.kind == GitLab {
		p["iid"], p["id"], p["web_url"] = n, 1000+n, f.url+"/ana/pay/-/merge_requests/1"
		p["target_project_id"], p["source_project_id"] = 7, 7+len(strings.TrimPrefix(project, "ana/pay"))
	} else {
		p["number"], p["id"], p["html_url"] = n, 1000+n, f.url+"/ana/pay/pulls/1"
	}
	f.pulls = append(f.pulls, p)
}

func serve(t *testing.T, kind string) (*fake, *Client) {
	t.Helper()
	f := &fake{kind: kind}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	t.Setenv("TRI_TEST_FORGE", token)
	c, err := New(config.Forge{Kind: kind, URL: srv.URL + "/", Project: "ana/pay",
		TokenEnv: "TRI_TEST_FORGE"}, "", srv.Client())
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

func kinds(t *testing.T, each func(t *testing.T, f *fake, c *Client)) {
	for _, kind := range []string{GitHub, GitLab, Gitea} {
		t.Run(kind, func(t *testing.T) {
			f, c := serve(t, kind)
			each(t, f, c)
		})
	}
}

var request = Request{Branch: "tri/r1", Title: "fix", Body: "body"}

func TestOpenOnce(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake, c *Client) {
		for range 3 {
			f.add("ana/pay", "other")
		}
		f.add("eve/pay", map[string]string{Gitea: "tri/r1", GitLab: "tri/r1"}[f.kind]) // of a fork, by the same name
		first, err := c.Open(t.Context(), request)
		if err != nil || first.Existing || first.Number != 5 ||
			!strings.HasPrefix(first.URL, f.url+"/ana/pay/") {
			t.Fatalf("first %+v, %v", first, err)
		}
		second, err := c.Open(t.Context(), request)
		if err != nil || !second.Existing || second.Number != 5 || f.posts != 1 || f.bodies[0] != "body" {
			t.Errorf("second %+v, %v; %d posts", second, err, f.posts)
		}
		r := request
		r.Branch, r.Into = "tri/r2", "next"
		if p, err := c.Open(t.Context(), r); err != nil || p.Number != 6 {
			t.Errorf("into another branch: %+v, %v", p, err)
		}
	})
}

// TestAnswerLost: the request was opened and the answer lost, or another process was faster;
// exactly one exists, and it is found.
func TestAnswerLost(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake, c *Client) {
		f.swallow = true
		p, err := c.Open(t.Context(), request)
		if err != nil || !p.Existing || len(f.pulls) != 1 {
			t.Errorf("lost: %+v, %v, %d", p, err, len(f.pulls))
		}
		f.race = true
		r := request
		r.Branch = "tri/r2"
		if p, err := c.Open(t.Context(), r); err != nil || !p.Existing || len(f.pulls) != 2 {
			t.Errorf("race: %+v, %v, %d", p, err, len(f.pulls))
		}
	})
}

func TestRefusals(t *testing.T) {
	kinds(t, func(t *testing.T, f *fake, c *Client) {
		good := c.token
		for name, tt := range map[string]struct {
			change func()
			status int
			hint   string
		}{
			"wrong token":  {func() { c.token = "wrong" }, sysexit.NoPerm, "token is refused"},
			"no project":   {func() { c.Project = "ana/none" }, sysexit.NoPerm, "no project ana/none"},
			"no such base": {func() { c.into = "nowhere" }, sysexit.Data, ""},
			"elsewhere":    {func() { f.redirect = true }, sysexit.Unavailable, "redirects"},
		} {
			c.token, c.Project, c.into, f.redirect = good, "ana/pay", "", false
			tt.change()
			_, err := c.Open(t.Context(), request)
			status, _ := sysexit.Of(err)
			if err == nil || status != tt.status ||
				!strings.Contains(strings.Join(sysexit.Hints(err), "\n"), tt.hint) ||
				strings.Contains(err.Error(), good) {
				t.Errorf("%s: %v, status %d, hints %q", name, err, status, sysexit.Hints(err))
			}
		}
	})
}

func TestLocate(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", token)
	t.Setenv("GITLAB_TOKEN", token)
	t.Setenv("GITEA_TOKEN", token)
	for _, tt := range []struct {
		cfg            config.Forge
		remote         string
		kind, at, proj string
		wrong          string
	}{
		{remote: "https://github.com/ana/pay.git", kind: GitHub, at: "https://github.com", proj: "ana/pay"},
		{remote: "git@github.com:ana/pay.git", kind: GitHub, at: "https://github.com", proj: "ana/pay"},
		{remote: "ssh://git@codeberg.org/ana/pay", kind: Gitea, at: "https://codeberg.org", proj: "ana/pay"},
		{remote: "https://user:secret@gitlab.com/group/sub/pay.git", kind: GitLab, at: "https://gitlab.com",
			proj: "group/sub/pay"},
		{cfg: config.Forge{Kind: Gitea, URL: "https://git.test/forge/"},
			remote: "https://git.test/forge/ana/pay.git", kind: Gitea, at: "https://git.test/forge",
			proj: "ana/pay"},
		{cfg: config.Forge{Kind: GitHub, Project: "ana/pay"}, kind: GitHub, at: "https://github.com",
			proj: "ana/pay"},
		{remote: "", wrong: "no remote"},
		{remote: "https://evil.test/ana/pay.git", wrong: "the kind of forge"},
		{remote: "https://github.com.evil.test/ana/pay.git", wrong: "the kind of forge"},
		{remote: "/srv/git/pay.git", wrong: "no remote"},
		{remote: "ext::sh -c touch% x", wrong: "the kind of forge"},
		{remote: "https://github.com/ana", wrong: "owner/name"},
		{remote: "https://github.com/ana/../../x", wrong: "owner/name"},
		{remote: "https://github.com/a/b/c", wrong: "owner/name"},
		{cfg: config.Forge{Kind: Gitea, URL: "https://git.test"}, remote: "https://evil.test/ana/pay.git",
			wrong: "not on https://git.test"},
		{cfg: config.Forge{Kind: GitHub, Push: "ssh", Project: "a/b"}, remote: "https://github.com/a/b",
			wrong: "is not a/b by ssh"},
		{cfg: config.Forge{Kind: GitHub, Push: "ssh", Project: "a/b"}, remote: "git@evil.test:a/b.git",
			wrong: "is not a/b by ssh"},
		{cfg: config.Forge{Kind: GitHub, Push: "ssh", Project: "a/b"}, remote: "git@github.com:ana/fork.git",
			wrong: "is not a/b by ssh"},
		{cfg: config.Forge{Kind: GitHub, Push: "ssh", Project: "a/b"}, remote: "git@work:A/b.git",
			kind: GitHub, at: "https://github.com", proj: "a/b"},
		{cfg: config.Forge{Push: "ssh"}, remote: "ssh://git@codeberg.org:22/a/b", kind: Gitea,
			at: "https://codeberg.org", proj: "a/b"},
		{cfg: config.Forge{Kind: GitLab, URL: "https://acme.test/git", Push: "ssh"},
			remote: "git@acme.test:a/b", kind: GitLab, at: "https://acme.test/git", proj: "a/b"},
		{cfg: config.Forge{Kind: GitHub, Push: "ssh", Project: "a/b"},
			remote: "ssh://git@ssh.github.com:443/a/b", kind: GitHub, at: "https://github.com", proj: "a/b"},
	} {
		c, err := New(tt.cfg, tt.remote, nil)
		if tt.wrong != "" {
			if status, _ := sysexit.Of(err); err == nil || !strings.Contains(err.Error(), tt.wrong) ||
				status != sysexit.Config {
				t.Errorf("%+v %s: %v, want %q", tt.cfg, tt.remote, err, tt.wrong)
			}
			continue
		}
		if err != nil || c.Kind != tt.kind || c.Web != tt.at || c.Project != tt.proj {
			t.Errorf("%+v %s: %+v, %v", tt.cfg, tt.remote, c, err)
		}
	}
	t.Setenv("GITHUB_TOKEN", "")
	_, err := New(config.Forge{}, "https://github.com/ana/pay", nil)
	if status, _ := sysexit.Of(err); status != sysexit.NoPerm || len(sysexit.Hints(err)) == 0 {
		t.Errorf("no token: %v", err)
	}
}

// TestAddressIsLookedAt: only a valid URL is shown to a person.
func TestAddressIsLookedAt(t *testing.T) {
	for _, bad := range []string{"javascript:alert(1)", "https://x.test/\x1b[31m", "", "https://x.test/a b"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			json.NewEncoder(w).Encode([]map[string]any{{"number": 1, "html_url": bad,
				"head": map[string]any{"ref": "tri/r1"}}})
		}))
		defer srv.Close()
		t.Setenv("TRI_TEST_FORGE", token)
		c, err := New(config.Forge{Kind: GitHub, URL: srv.URL, Project: "a/b", Into: "x",
			TokenEnv: "TRI_TEST_FORGE"}, "", srv.Client())
		if err != nil {
			t.Fatal(err)
		}
		if p, err := c.Open(t.Context(), request); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}
