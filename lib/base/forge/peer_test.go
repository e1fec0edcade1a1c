//go:build peers

package forge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/git"
	"tri/lib/base/sysexit"
)

// server is a real Gitea server used by this test alone. scripts/peers/gitea starts one.
type server struct {
	t          *testing.T
	url, token string
}

func (s *server) call(method, path string, in, out any) {
	s.t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(method, s.url+"/api/v1/"+path, bytes.NewReader(b))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+s.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err = io.ReadAll(resp.Body); err == nil && out != nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil || resp.StatusCode > 299 {
		s.t.Fatalf("%s %s: %s %v\n%s", method, path, resp.Status, err, b)
	}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=ana", "-c", "user.email=ana@example.test"},
		args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestRealServer takes an agent's change to a pull request on a real server.
func TestRealServer(t *testing.T) {
	s := &server{t: t, url: os.Getenv("TRI_PEER_GITEA"), token: os.Getenv("GITEA_TOKEN")}
	if s.url == "" {
		t.Fatal("TRI_PEER_GITEA is not set: run scripts/peers/gitea")
	}
	ctx := t.Context()
	project := fmt.Sprintf("pay%d", time.Now().UnixNano())
	s.call("POST", "user/repos", map[string]any{"name": project, "default_branch": "trunk", "private": true},
		nil)
	s.call("POST", "repos/ana/"+project+"/issues", map[string]any{"title": "an issue"}, nil)
	dir := t.TempDir()
	gitIn(t, dir, "init", "-qb", "trunk")
	if err := os.WriteFile(filepath.Join(dir, "retry.go"), []byte("package pay\n\nconst MaxRetries = 5\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-qm", "start")
	remote := s.url + "/ana/" + project + ".git"
	gitIn(t, dir, "remote", "add", "origin", remote)
	gitIn(t, dir, "-c", "http.extraHeader=Authorization: token "+s.token, "push", "-q", "origin", "trunk")

	for range 400 { // the server processes a push asynchronously
		var there struct{ Empty bool }
		if s.call("GET", "repos/ana/"+project, nil, &there); !there.Empty {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}

	repo, err := git.Open(ctx, dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base, err := repo.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(dir, ".agents/trees/r1")
	if err := repo.Create(ctx, tree, base); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "retry.go"), []byte("package pay\n\nconst MaxRetries = 7\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	x, err := repo.Export(ctx, tree, base)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := git.Check(x.Patch, git.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := repo.Branch(ctx, patch, git.Commit{Base: base, Branch: "tri/r1",
		Message: Line("retry 7 times, fixes #1"),
		Author:  git.Author{Name: "ana", Email: "ana@example.test"}, When: time.Now()})
	if err != nil {
		t.Fatal(err)
	}

	open := func(cfg config.Forge) (*Pull, error) {
		address, err := repo.Remote(ctx, "origin")
		if err != nil {
			return nil, err
		}
		c, err := New(cfg, address, nil)
		if err != nil {
			return nil, err
		}
		if err := c.Push(ctx, repo, id, "tri/r1"); err != nil {
			return nil, err
		}
		task := "retry 7 times @ana\n/close\nfixes #1 ![x](http://evil.test/x.png)"
		return c.Open(ctx, Request{Branch: "tri/r1", Title: Line(task),
			Body: Story{Run: "25-11-22_1430__retry__a1b2", Task: task, Files: patch.Changes}.Body()})
	}
	cfg := config.Forge{Kind: Gitea, URL: s.url}
	t.Setenv("WRONG", "0123456789012345678901234567890123456789")
	for env, stage := range map[string]string{"WRONG": "push", "GITEA_READER": "push"} {
		bad := cfg
		bad.TokenEnv = env
		_, err := open(bad)
		if status, _ := sysexit.Of(err); err == nil || status != sysexit.NoPerm ||
			!strings.Contains(err.Error(), stage) || len(sysexit.Hints(err)) == 0 {
			t.Errorf("$%s: %v, hints %q", env, err, sysexit.Hints(err))
		}
		c, err := New(bad, remote, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Open(ctx, Request{Branch: "tri/r1", Title: "x"})
		t.Logf("$%s: %v; hints %q", env, err, sysexit.Hints(err))
		if status, _ := sysexit.Of(err); status != sysexit.NoPerm && status != sysexit.Data ||
			strings.Contains(fmt.Sprint(err), os.Getenv(env)) {
			t.Errorf("$%s: %v", env, err)
		}
	}
	first, err := open(cfg)
	if err != nil || first.Existing || first.Number != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := open(cfg)
	if err != nil || !second.Existing || *second == *first || second.URL != first.URL ||
		second.Number != first.Number {
		t.Errorf("again: %+v, %v", second, err)
	}

	var pull struct {
		Title, Body, State string
		Base               struct{ Ref string }
		Head               struct{ Sha string }
		ChangedFiles       int `json:"changed_files"`
	}
	s.call("GET", fmt.Sprintf("repos/ana/%s/pulls/%d", project, first.Number), nil, &pull)
	if pull.State != "open" || pull.Base.Ref != "trunk" || pull.Head.Sha != id || pull.ChangedFiles != 1 ||
		!strings.Contains(pull.Body, "25-11-22_1430__retry__a1b2") {
		t.Errorf("there: %+v", pull)
	}
	html := s.markdown(pull.Body, project)
	for _, bad := range []string{"<img", "evil.test/x.png\"", "class=\"mention", "ref-issue", "<a "} {
		if strings.Contains(html, bad) {
			t.Errorf("rendered with %s:\n%s", bad, html)
		}
	}
	if live := s.markdown("@ana fixes #1 ![x](http://evil.test/x.png)", project); !strings.Contains(live,
		"<img") || !strings.Contains(live, "ref-issue") {
		t.Errorf("the check of the rendering checks nothing:\n%s", live)
	}
	s.call("POST", fmt.Sprintf("repos/ana/%s/pulls/%d/merge", project, first.Number),
		map[string]string{"Do": "merge"}, nil)
	var issue struct{ State string }
	s.call("GET", "repos/ana/"+project+"/issues/1", nil, &issue)
	if issue.State != "open" {
		t.Errorf("merging closed the issue: %+v", issue)
	}
}

// markdown is how the server shows text in a project.
func (s *server) markdown(text, project string) string {
	s.t.Helper()
	b, err := json.Marshal(map[string]any{"Text": text, "Mode": "comment", "Context": "/ana/" + project,
		"Wiki": false})
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest("POST", s.url+"/api/v1/markup", bytes.NewReader(b))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+s.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("markup: %s %v\n%s", resp.Status, err, out)
	}
	return string(out)
}
