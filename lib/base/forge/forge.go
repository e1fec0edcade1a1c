// Package forge opens pull requests on GitHub, GitLab, Gitea and Forgejo.
//
// The token is sent only to the host that the configuration names, or to one of the public forges.
// The address of a remote, which an agent could have changed, only determines the project.
package forge

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/git"
	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
)

// Kinds of forge.
const (
	GitHub = "github"
	GitLab = "gitlab"
	Gitea  = "gitea" // also Forgejo
)

// public are the forges that need no configuration, by host.
var public = map[string]string{"github.com": GitHub, "gitlab.com": GitLab, "codeberg.org": Gitea,
	"gitea.com": Gitea}

// Request is a pull request to open.
type Request struct {
	Branch string // the branch to merge, already pushed
	Into   string // "" means the project's default branch
	Title  string // made with Line
	Body   string // our own Markdown; untrusted text goes through Quote or Inline
}

// Pull is an open pull request.
type Pull struct {
	URL      string
	Number   int64
	Existing bool // it was opened before
}

// Client is one project on one forge.
type Client struct {
	Kind    string
	Web     string // the forge's URL in a browser, without a final slash
	Project string // owner/name
	into    string
	remote  string // the remote's address, for ssh
	token   string
	api     *httpapi.Client
	forge   api
}

// api is the part that differs between the kinds.
type api interface {
	path() string            // below Web
	user() string            // git's user name beside the password
	sign(*http.Request)      // adds the token to a request
	branch() httpapi.Request // requests the project, whose answer has default_branch
	find(ctx context.Context, branch string) (*Pull, error)
	open(ctx context.Context, r Request) (*Pull, error)
}

// New determines where a checkout's pull requests go. remote is the address of its remote, which
// may be "" if the configuration names the project. h may be nil.
func New(cfg config.Forge, remote string, h *http.Client) (*Client, error) {
	c := &Client{Kind: cfg.Kind, Project: cfg.Project, into: cfg.Into, Web: strings.TrimRight(cfg.URL, "/")}
	host, project := place(remote)
	if err := c.locate(host, project); err != nil {
		return nil, sysexit.Hint(sysexit.With(sysexit.Config, err),
			"set forge.kind, url and project; see tri(5)")
	}
	if cfg.Push == "ssh" {
		if c.remote = remote; strings.HasPrefix(remote, "http") || !c.reaches(host, project) {
			err := sysexit.Errorf(sysexit.Config,
				"forge.push is ssh, and the remote on %q is not %s by ssh", host, c.Project)
			return nil, sysexit.Hint(err,
				"give the checkout a remote of the form git@host:owner/name, or remove forge.push")
		}
	}
	env := cfg.TokenEnv
	if env == "" {
		env = config.DefaultTokenEnv(c.Kind)
	}
	var err error
	if c.token, err = new(config.Config).Secret(env, cfg.TokenFile); err == nil {
		err = httpapi.Word("token of "+c.Web, c.token)
	}
	if err != nil {
		return nil, err
	}
	switch c.Kind {
	case GitHub:
		c.forge = &github{c}
	case GitLab:
		c.forge = &gitlab{c}
	default:
		c.forge = &gitea{&github{c}}
	}
	base := c.Web + c.forge.path()
	if c.Web == "https://github.com" {
		base = "https://api.github.com"
	}
	c.api, err = httpapi.New(httpapi.Options{Base: base, Sign: c.forge.sign, HTTP: h})
	return c, err
}

// locate determines kind, host and project.
func (c *Client) locate(host, project string) error {
	switch {
	case c.Kind == "" && public[host] == "" && host == "":
		return fmt.Errorf("forge: the checkout has no remote that says where pull requests go")
	case c.Kind == "" && public[host] == "":
		return fmt.Errorf("forge: the kind of forge of %q is unknown", host)
	case c.Kind == "":
		c.Kind, c.Web = public[host], "https://"+host
	case c.Web == "":
		for name, kind := range public {
			if kind == c.Kind && kind != Gitea {
				c.Web = "https://" + name
			}
		}
	}
	if c.Project == "" {
		if u, err := url.Parse(c.Web); err != nil || u.Hostname() != host {
			return fmt.Errorf("forge: the remote is on %q, not on %s: set forge.project",
				host, c.Web)
		}
		if u, _ := url.Parse(c.Web); u.Path != "" { // a forge installed below a path
			project = strings.TrimPrefix(project, strings.Trim(u.Path, "/")+"/")
		}
		c.Project = project
	}
	if !config.ProjectName(c.Project) || c.Kind != GitLab && strings.Count(c.Project, "/") != 1 {
		return fmt.Errorf("forge: project %q: want owner/name", c.Project)
	}
	return nil
}

// reaches reports whether a remote is the project's. Its host may be a name that only ssh_config(5) knows,
// which has no dot, or below the forge's, as ssh.github.com.
func (c *Client) reaches(host, project string) bool {
	u, err := url.Parse(c.Web)
	if err != nil {
		return false
	}
	project = strings.TrimPrefix(project, strings.TrimLeft(u.Path+"/", "/"))
	return strings.EqualFold(project, c.Project) &&
		(!strings.Contains(host, ".") || strings.HasSuffix("."+host, "."+u.Hostname()))
}

// place returns the host and the project of a remote's address.
func place(remote string) (host, project string) {
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		return strings.ToLower(u.Hostname()), trim(u.Path)
	}
	before, path, ok := strings.Cut(remote, ":")
	if !ok || strings.Contains(before, "/") {
		return "", ""
	}
	_, host, ok = strings.Cut(before, "@")
	if !ok {
		host = before
	}
	return strings.ToLower(host), trim(path)
}

func trim(path string) string { return strings.TrimSuffix(strings.Trim(path, "/"), ".git") }

// Host returns the host of a remote's address, for messages: an address can contain a password.
func Host(remote string) string {
	host, _ := place(remote)
	return host
}

// Issues returns the API of the forge and the path of the project's issues in it.
func (c *Client) Issues() (*httpapi.Client, string) { return c.api, c.forge.branch().Path + "/issues" }

// Push pushes a commit to a branch of the project.
func (c *Client) Push(ctx context.Context, repo *git.Repo, id, branch string) error {
	p := git.Push{URL: c.Web + "/" + c.Project + ".git", Commit: id, Branch: branch}
	if c.remote != "" {
		p.URL = c.remote
	} else {
		p.Header = "Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(c.forge.user()+":"+c.token))
	}
	return repo.Push(ctx, p)
}

// Open opens a pull request, or returns the open one of its branch.
func (c *Client) Open(ctx context.Context, r Request) (*Pull, error) {
	pull, err := c.open(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("pull request on %s: %w", c.Web, c.explain(err))
	}
	if u, bad := url.Parse(pull.URL); bad != nil || u.Scheme != "https" && u.Scheme != "http" ||
		strings.ContainsFunc(pull.URL, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, sysexit.Errorf(sysexit.Unavailable, "pull request on %s: its address is %q", c.Web,
			pull.URL)
	}
	return pull, nil
}

func (c *Client) open(ctx context.Context, r Request) (*Pull, error) {
	if r.Into == "" {
		var err error
		if r.Into, err = c.target(ctx); err != nil {
			return nil, err
		}
	}
	if pull, err := c.forge.find(ctx, r.Branch); err != nil || pull != nil {
		return pull, err
	}
	pull, err := c.forge.open(ctx, r)
	if s := httpapi.StatusOf(err); s == http.StatusConflict || s == http.StatusUnprocessableEntity ||
		err != nil && s == 0 && !httpapi.NotSent(err) {
		// Another process was faster, or the answer was lost.
		if there, e := c.forge.find(ctx, r.Branch); e == nil && there != nil {
			return there, nil
		}
	}
	return pull, err
}

// target returns the branch to merge into: the configured one, or the project's default.
func (c *Client) target(ctx context.Context) (string, error) {
	if c.into != "" {
		return c.into, nil
	}
	var project struct {
		Branch string `json:"default_branch"`
	}
	err := c.api.Read(ctx, c.forge.branch(), &project)
	if err == nil && project.Branch == "" {
		err = sysexit.Hint(fmt.Errorf("%s has no default branch", c.Project), "set forge.into")
	}
	return project.Branch, err
}

// explain adds to a refusal what a person can do about it.
func (c *Client) explain(err error) error {
	switch httpapi.StatusOf(err) {
	case 0:
		return sysexit.With(sysexit.Unavailable, err)
	case http.StatusUnauthorized:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"the token is refused: it is wrong, expired or of another forge")
	case http.StatusForbidden:
		// docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api: 403 or 429
		if e, ok := errors.AsType[*httpapi.Error](err); ok && bytes.Contains(e.Body, []byte("rate limit")) {
			return sysexit.Errorf(sysexit.TempFail, "%w: the limit of requests is reached", err)
		}
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			"the token may not do that: it needs to read the project and write pull requests")
	case http.StatusNotFound:
		return sysexit.Hint(sysexit.With(sysexit.NoPerm, err),
			fmt.Sprintf("no project %s there, or the token may not see it", c.Project))
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict:
		return sysexit.With(sysexit.Data, err)
	case http.StatusTooManyRequests:
		return sysexit.With(sysexit.TempFail, err)
	}
	return sysexit.With(sysexit.Unavailable, err)
}
