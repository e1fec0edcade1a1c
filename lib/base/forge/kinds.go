package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
)

// answer is a pull request in the format of any of the three APIs.
type answer struct {
	Number int64  `json:"number"`            // GitHub, Gitea
	IID    int64  `json:"iid"`               // GitLab
	Source int64  `json:"source_project_id"` // GitLab, as Target and Web
	Target int64  `json:"target_project_id"`
	HTML   string `json:"html_url"` // GitHub, Gitea
	Web    string `json:"web_url"`
	Head   struct {
		Ref  string `json:"ref"`
		Repo struct {
			Name string `json:"full_name"`
		} `json:"repo"`
	} `json:"head"`
}

func (a answer) pull(existing bool) *Pull {
	return &Pull{URL: a.HTML + a.Web, Number: a.Number + a.IID, Existing: existing}
}

// github implements https://docs.github.com/en/rest/pulls/pulls, version 2022-11-28.
type github struct{ *Client }

func (g *github) path() string { return "/api/v3" } // of an Enterprise Server
func (g *github) user() string { return "x-access-token" }
func (g *github) sign(r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+g.token)
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
}

func (g *github) branch() httpapi.Request {
	return httpapi.Request{Method: "GET", Path: "repos/" + g.Project}
}

func (g *github) find(ctx context.Context, branch string) (*Pull, error) {
	owner, _, _ := strings.Cut(g.Project, "/")
	var all []answer
	q := url.Values{"state": {"open"}, "head": {owner + ":" + branch}}
	err := g.api.Read(ctx, httpapi.Request{Method: "GET", Path: "repos/" + g.Project + "/pulls", Query: q},
		&all)
	return first(all, func(a answer) bool { return a.Head.Ref == branch }), err
}

func (g *github) open(ctx context.Context, r Request) (*Pull, error) {
	return post(ctx, g.api, "repos/"+g.Project+"/pulls",
		map[string]string{"title": r.Title, "body": r.Body, "head": r.Branch, "base": r.Into})
}

// gitlab implements https://docs.gitlab.com/api/merge_requests/, version 4.
type gitlab struct{ *Client }

func (g *gitlab) path() string            { return "/api/v4" }
func (g *gitlab) user() string            { return "oauth2" }
func (g *gitlab) sign(r *http.Request)    { r.Header.Set("PRIVATE-TOKEN", g.token) }
func (g *gitlab) project() string         { return "projects/" + url.PathEscape(g.Project) }
func (g *gitlab) branch() httpapi.Request { return httpapi.Request{Method: "GET", Path: g.project()} }

func (g *gitlab) find(ctx context.Context, branch string) (*Pull, error) {
	var all []answer
	q := url.Values{"state": {"opened"}, "source_branch": {branch}, "scope": {"all"}}
	err := g.api.Read(ctx, httpapi.Request{Method: "GET", Path: g.project() + "/merge_requests", Query: q},
		&all)
	return first(all, func(a answer) bool { return a.Source == a.Target }), err // not of a fork
}

func (g *gitlab) open(ctx context.Context, r Request) (*Pull, error) {
	return post(ctx, g.api, g.project()+"/merge_requests",
		map[string]string{"title": r.Title, "description": r.Body, "source_branch": r.Branch,
			"target_branch": r.Into})
}

// gitea implements https://docs.gitea.com/api/, version 1, of which much is as on GitHub.
type gitea struct{ *github }

func (g *gitea) path() string         { return "/api/v1" }
func (g *gitea) user() string         { return "token" }
func (g *gitea) sign(r *http.Request) { r.Header.Set("Authorization", "token "+g.token) }

// find lists the open requests, since Gitea cannot search by branch.
func (g *gitea) find(ctx context.Context, branch string) (*Pull, error) {
	const size, most = 50, 40
	for page := 1; page <= most; page++ {
		var all []answer
		q := url.Values{"state": {"open"}, "sort": {"recentupdate"}, "limit": {strconv.Itoa(size)},
			"page": {strconv.Itoa(page)}}
		if err := g.api.Read(ctx, httpapi.Request{Method: "GET", Path: "repos/" + g.Project + "/pulls",
			Query: q}, &all); err != nil {
			return nil, err
		}
		pull := first(all, func(a answer) bool {
			return a.Head.Ref == branch && strings.EqualFold(a.Head.Repo.Name, g.Project)
		})
		// The server may be configured to return fewer than requested.
		if pull != nil || len(all) == 0 {
			return pull, nil
		}
	}
	return nil, fmt.Errorf("%s has over %d open pull requests", g.Project, size*most)
}

func first(all []answer, fits func(answer) bool) *Pull {
	for _, a := range all {
		if fits(a) {
			return a.pull(true)
		}
	}
	return nil
}

func post(ctx context.Context, c *httpapi.Client, path string, body any) (*Pull, error) {
	var a answer
	if err := c.Once(ctx, httpapi.Request{Method: "POST", Path: path, JSON: body}, &a); err != nil {
		return nil, err
	}
	return a.pull(false), nil
}

var fullCommit = lazyregexp.New(`^[0-9a-f]{40,64}$`)

// Link returns the URL of the page that shows lines start to end of a file at a commit; start 0
// means the whole file. It returns "" if the checkout's forge is unknown. remote is the address of
// the checkout's remote.
func Link(cfg config.Forge, remote, commit, path string, start, end int) string {
	c := &Client{Kind: cfg.Kind, Project: cfg.Project, Web: strings.TrimRight(cfg.URL, "/")}
	if host, project := place(remote); c.locate(host, project) != nil ||
		!fullCommit.MatchString(commit) || path == "" {
		return ""
	}
	file := (&url.URL{Path: path}).EscapedPath()
	page, last := "", "L"
	switch c.Kind {
	case GitHub:
		page = c.Web + "/" + c.Project + "/blob/" + commit + "/" + file
	case GitLab:
		page, last = c.Web+"/"+c.Project+"/-/blob/"+commit+"/"+file, ""
	default:
		page = c.Web + "/" + c.Project + "/src/commit/" + commit + "/" + file
	}
	switch {
	case start <= 0:
		return page
	case end <= start:
		return fmt.Sprintf("%s#L%d", page, start)
	}
	return fmt.Sprintf("%s#L%d-%s%d", page, start, last, end)
}
