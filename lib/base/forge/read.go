package forge

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/git"
	"tri/lib/base/httpapi"
)

// Of returns the client of a checkout's project: the configured one, or that of its remote. h may be nil.
func Of(ctx context.Context, cfg config.Forge, dir string, h *http.Client) (*Client, error) {
	if cfg.Push = "https"; cfg.Project != "" && cfg.Kind != "" { // no remote is needed
		return New(cfg, "", h)
	}
	repo, err := git.Open(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	remote, err := repo.Remote(ctx, cfg.Remote)
	if err != nil {
		return nil, err
	}
	return New(cfg, remote, h)
}

// Check is a failing check of a commit. All of it is outside text.
type Check struct {
	Name, URL string
	Said      string // by the check, of GitHub's with the lines that it names as path:line: text
}

// Limits on reading.
const (
	pageSize = 50 // Gitea gives no more by default
	maxPages = 20
	maxDiff  = 100 // files of a pull request in one answer of GitHub or GitLab
	maxNoted = 5   // failing checks whose annotations are read
)

// state is the answer of the three APIs about the checks of a commit.
type state struct {
	SHA      string `json:"sha"`
	ID       string `json:"id"` // GitLab
	Statuses []status
}

type status struct {
	State       string `json:"state"`         // GitHub
	Status      string `json:"status"`        // Gitea, GitLab
	Context     string `json:"context"`       // GitHub, Gitea
	Name        string `json:"name"`          // GitLab
	May         bool   `json:"allow_failure"` // GitLab
	Description string `json:"description"`
	URL         string `json:"target_url"`
}

// Failing returns the newest commit of the target branch and its failing checks, in the order of their names.
func (c *Client) Failing(ctx context.Context) (commit string, all []Check, err error) {
	base := c.forge.branch().Path
	branch, err := c.target(ctx)
	if err != nil {
		return "", nil, c.explain(err)
	}
	get := func(path string, q url.Values, out any) {
		if err == nil {
			err = c.explain(c.api.Read(ctx, httpapi.Request{Method: "GET", Path: base + path, Query: q}, out))
		}
	}
	var s state
	at := "/commits/" + url.PathEscape(branch)
	many := url.Values{"per_page": {"100"}, "limit": {"100"}}
	if c.Kind == GitLab {
		get("/repository"+at, nil, &s)
		s.SHA = s.ID
	} else {
		get(at+"/status", many, &s)
	}
	if err == nil && !fullCommit.MatchString(s.SHA) {
		err = fmt.Errorf("checks of %s: %q is not a commit", branch, s.SHA)
	}
	switch c.Kind {
	case GitLab:
		get("/repository/commits/"+s.SHA+"/statuses", many, &s.Statuses)
	case GitHub:
		all = c.runs(s.SHA, get)
	}
	for _, one := range s.Statuses {
		if slices.Contains([]string{"failure", "error", "failed"}, cmp.Or(one.State, one.Status)) && !one.May {
			all = append(all, Check{Name: one.Context + one.Name, URL: one.URL, Said: one.Description})
		}
	}
	slices.SortStableFunc(all, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	return s.SHA, all, err
}

// runs returns the failing check runs of a commit, which GitHub has beside statuses.
func (c *Client) runs(commit string, get func(string, url.Values, any)) (all []Check) {
	var runs struct {
		Runs []struct {
			ID         int64  `json:"id"`
			Name       string `json:"name"`
			Conclusion string `json:"conclusion"`
			URL        string `json:"html_url"`
			Output     struct {
				Title   string `json:"title"`
				Summary string `json:"summary"`
				Notes   int    `json:"annotations_count"`
			} `json:"output"`
		} `json:"check_runs"`
	}
	get("/commits/"+commit+"/check-runs", url.Values{"filter": {"latest"}, "per_page": {"100"}}, &runs)
	for _, r := range runs.Runs {
		if !slices.Contains([]string{"failure", "timed_out", "startup_failure"}, r.Conclusion) {
			continue
		}
		said := []string{r.Output.Title, r.Output.Summary}
		if r.Output.Notes > 0 && len(all) < maxNoted {
			var notes []struct {
				Path    string `json:"path"`
				Line    int    `json:"start_line"`
				Level   string `json:"annotation_level"`
				Message string `json:"message"`
			}
			get(fmt.Sprintf("/check-runs/%d/annotations", r.ID), url.Values{"per_page": {"50"}}, &notes)
			for _, n := range notes {
				if n.Level == "failure" {
					said = append(said, fmt.Sprintf("%s:%d: %s", n.Path, n.Line, n.Message))
				}
			}
		}
		said = slices.DeleteFunc(said, func(s string) bool { return strings.TrimSpace(s) == "" })
		all = append(all, Check{Name: r.Name, URL: r.URL, Said: strings.Join(said, "\n")})
	}
	return all
}

// Issue is an issue of the project. Its texts are outside text.
type Issue struct {
	Number      int
	Title, Body string
	Closed      bool
	Milestone   string // title of its open milestone
	Due         string // of the milestone, "" if it has no date
}

// OpenIssues returns the newest open issues, at most a page.
func (c *Client) OpenIssues(ctx context.Context) ([]Issue, error) {
	return c.issues(ctx, url.Values{"state": {map[bool]string{true: "opened", false: "open"}[c.Kind == GitLab]}},
		1)
}

// Planned returns the issues of open milestones, by milestone, those that are due first.
func (c *Client) Planned(ctx context.Context) ([]Issue, error) {
	q := url.Values{"state": {"all"}}
	switch c.Kind {
	case GitHub:
		q.Set("milestone", "*")
	case GitLab:
		q.Set("milestone", "Any")
	default:
		var open []struct {
			ID int64 `json:"id"`
		}
		if err := c.api.Read(ctx, httpapi.Request{Method: "GET", Path: c.forge.branch().Path + "/milestones",
			Query: url.Values{"state": {"open"}, "limit": {strconv.Itoa(pageSize)}}}, &open); err != nil {
			return nil, c.explain(err)
		}
		if len(open) == 0 {
			return nil, nil
		}
		var ids []string
		for _, m := range open {
			ids = append(ids, strconv.FormatInt(m.ID, 10))
		}
		q.Set("milestones", strings.Join(ids, ","))
	}
	all, err := c.issues(ctx, q, maxPages)
	all = slices.DeleteFunc(all, func(i Issue) bool { return i.Milestone == "" })
	slices.SortStableFunc(all, func(a, b Issue) int {
		return cmp.Or(strings.Compare(cmp.Or(a.Due, "9"), cmp.Or(b.Due, "9")),
			strings.Compare(a.Milestone, b.Milestone), cmp.Compare(a.Number, b.Number))
	})
	return all, err
}

// issues reads pages of the project's issues.
func (c *Client) issues(ctx context.Context, q url.Values, pages int) (all []Issue, err error) {
	size := strconv.Itoa(pageSize)
	q.Set("per_page", size)
	q.Set("limit", size)
	if c.Kind == Gitea {
		q.Set("type", "issues")
	}
	for page := 1; page <= pages; page++ {
		q.Set("page", strconv.Itoa(page))
		var got []struct {
			Number      int    `json:"number"` // GitHub, Gitea
			IID         int    `json:"iid"`    // GitLab
			Title       string `json:"title"`
			Body        string `json:"body"`
			Description string `json:"description"` // GitLab
			State       string `json:"state"`
			Pull        any    `json:"pull_request"` // GitHub lists them too
			Milestone   *struct {
				Title, State string
				DueOn        string `json:"due_on"`
				DueDate      string `json:"due_date"` // GitLab
			} `json:"milestone"`
		}
		err := c.api.Read(ctx, httpapi.Request{Method: "GET", Path: c.forge.branch().Path + "/issues",
			Query: q}, &got)
		if err != nil || len(got) == 0 {
			return all, c.explain(err)
		}
		for _, g := range got {
			i := Issue{Number: g.Number + g.IID, Title: g.Title, Body: g.Body + g.Description,
				Closed: g.State == "closed"}
			if m := g.Milestone; m != nil && m.State != "closed" {
				i.Milestone, i.Due = m.Title, m.DueOn+m.DueDate
			}
			known := slices.ContainsFunc(all, func(o Issue) bool { return o.Number == i.Number })
			if g.Pull == nil && !known {
				all = append(all, i)
			}
		}
	}
	return all, nil
}

// OpenPulls returns the newest open pull requests, at most a page.
func (c *Client) OpenPulls(ctx context.Context) (all []Issue, err error) {
	path, q := "/pulls", url.Values{"state": {"open"}, "per_page": {strconv.Itoa(pageSize)}}
	if c.Kind == GitLab {
		path = "/merge_requests"
		q.Set("state", "opened")
	}
	var got []struct {
		Number      int    `json:"number"`
		IID         int    `json:"iid"`
		Title       string `json:"title"`
		Body        string `json:"body"`
		Description string `json:"description"`
	}
	err = c.api.Read(ctx, httpapi.Request{Method: "GET", Path: c.forge.branch().Path + path, Query: q}, &got)
	for _, g := range got {
		all = append(all, Issue{Number: g.Number + g.IID, Title: g.Title, Body: g.Body + g.Description})
	}
	return all, c.explain(err)
}

// Diff returns the changes of a pull request as a patch: of GitHub and GitLab without what they leave out,
// such as large files. A request of so many files that an answer has only some of them is an error.
func (c *Client) Diff(ctx context.Context, number int) (string, error) {
	get := func(path string, out any) error {
		return c.explain(c.api.Read(ctx, httpapi.Request{Method: "GET", Path: c.forge.branch().Path + path,
			Query: url.Values{"per_page": {strconv.Itoa(maxDiff)}}}, out))
	}
	var raw []byte
	if c.Kind == Gitea {
		err := get(fmt.Sprintf("/pulls/%d.diff", number), &raw)
		return string(raw), err
	}
	var files []struct {
		Name     string `json:"filename"` // GitHub
		Previous string `json:"previous_filename"`
		Patch    string `json:"patch"`
		New      string `json:"new_path"` // GitLab
		Old      string `json:"old_path"`
		Diff     string `json:"diff"`
	}
	path := fmt.Sprintf("/pulls/%d/files", number)
	if c.Kind == GitLab {
		path = fmt.Sprintf("/merge_requests/%d/diffs", number)
	}
	err := get(path, &files)
	if len(files) == maxDiff {
		return "", fmt.Errorf("%d or more files", len(files))
	}
	var b strings.Builder
	for _, f := range files {
		name := f.Name + f.New
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n%s\n", cmp.Or(f.Previous+f.Old, name), name,
			strings.TrimSuffix(f.Patch+f.Diff, "\n"))
	}
	return b.String(), err
}
