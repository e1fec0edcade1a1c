package forge

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"tri/lib/base/config"
)

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

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
