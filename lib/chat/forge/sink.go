// Package forge closes, labels and files issues on GitHub, GitLab and Gitea, as people approved: a sink
// whose posts are actions. A comment, or the text of a filed issue, carries the key of its post.
package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/forge"
	"tri/lib/base/httpapi"
	"tri/lib/chat"
	"tri/lib/chat/sink"
	"tri/lib/record/discussion"
)

// Sink changes the issues of one project.
type Sink struct {
	*forge.Client
	api    *httpapi.Client
	issues string // path
	sink.Frame
}

var _ chat.Sink = (*Sink)(nil)

// NewSink returns the sink of the configured project. It makes no network calls. h may be nil.
func NewSink(cfg config.Forge, h *http.Client) (*Sink, error) {
	cfg.Push = "https" // nothing is pushed
	c, err := forge.New(cfg, "", h)
	if err != nil {
		return nil, err
	}
	s := &Sink{Client: c}
	s.api, s.issues = c.Issues()
	s.Frame = sink.Frame{Platform: config.PlatformForge, Max: 30_000, Settled: httpapi.RequestTime,
		Now: s.api.Now, Sleep: s.api.Sleep}
	return s, nil
}

// issue is an issue or a comment, in the format of any of the three APIs.
type issue struct {
	ID          int64     `json:"id"`
	Number      int64     `json:"number"` // GitHub, Gitea
	IID         int64     `json:"iid"`    // GitLab
	Title       string    `json:"title"`
	Body        string    `json:"body"`        // GitHub and Gitea, and a note of GitLab
	Description string    `json:"description"` // GitLab
	CreatedAt   time.Time `json:"created_at"`
}

func (i issue) posted() chat.Posted {
	id := i.Number + i.IID // of an issue
	if id == 0 {
		id = i.ID // of a comment
	}
	return chat.Posted{MessageID: strconv.FormatInt(id, 10), At: i.CreatedAt.UTC()}
}

func (s *Sink) gitlab() bool { return s.Kind == forge.GitLab }

// comments returns the path of the comments of an issue.
func (s *Sink) comments(thread string) string {
	if s.gitlab() {
		return s.issues + "/" + thread + "/notes"
	}
	return s.issues + "/" + thread + "/comments"
}

// Post implements chat.Sink: it does what the first line of the text says. An issue is closed or labelled
// before the comment, which proves that both are done; repeating the former changes nothing.
func (s *Sink) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	act, err := discussion.ParseAction(p.Text)
	switch {
	case err != nil:
	case p.ChatID != s.Project:
		err = fmt.Errorf("the configured project is %s", s.Project)
	case act.Kind != discussion.FileIssue && strconv.Itoa(act.Issue) != p.ThreadID:
		err = fmt.Errorf("what was offered is about issue %s", p.ThreadID)
	}
	if err := s.Frame.Check(p.ChatID, p.Text, err); err != nil {
		return chat.Posted{}, err
	}
	body := "This was proposed by tri and approved by a person.\n"
	if act.Text != "" {
		body += "\n" + forge.Quote(act.Text)
	}
	body += "\n" + marker(p.Key) + "\n"
	return s.Frame.Send(p.ChatID, func() (chat.Posted, error) {
		var made issue
		send := func(method, path string, in map[string]any, out any) error {
			return s.api.Once(ctx, httpapi.Request{Method: method, Path: path, JSON: in}, out)
		}
		switch act.Kind {
		case discussion.FileIssue:
			in := map[string]any{"title": forge.Line(act.Title), "body": body}
			if s.gitlab() {
				in = map[string]any{"title": forge.Line(act.Title), "description": body}
			}
			err := send("POST", s.issues, in, &made)
			return made.posted(), err
		case discussion.CloseIssue:
			method, in := "PATCH", map[string]any{"state": "closed"}
			if s.gitlab() {
				method, in = "PUT", map[string]any{"state_event": "close"}
			}
			err = send(method, s.issues+"/"+p.ThreadID, in, nil)
		default:
			err = s.ready(p.ThreadID, send)
		}
		if err == nil {
			err = send("POST", s.comments(p.ThreadID), map[string]any{"body": body}, &made)
		}
		return made.posted(), err
	})
}

// ready labels an issue. Gitea leaves out a label that the project does not have, and reports success: it is
// made first.
func (s *Sink) ready(thread string, send func(method, path string, in map[string]any, out any) error) error {
	if s.gitlab() {
		return send("PUT", s.issues+"/"+thread, map[string]any{"add_labels": discussion.ReadyLabel}, nil)
	}
	for made := false; ; made = true {
		var on []struct {
			Name string `json:"name"`
		}
		err := send("POST", s.issues+"/"+thread+"/labels",
			map[string]any{"labels": []string{discussion.ReadyLabel}}, &on)
		for _, l := range on {
			if strings.EqualFold(l.Name, discussion.ReadyLabel) {
				return err
			}
		}
		if err == nil && made {
			err = fmt.Errorf("the forge did not set the label %s", discussion.ReadyLabel)
		}
		if err != nil {
			return err
		}
		if err := send("POST", strings.TrimSuffix(s.issues, "issues")+"labels",
			map[string]any{"name": discussion.ReadyLabel, "color": "#0e8a16"}, nil); err != nil {
			return err
		}
	}
}

// marker is invisible on a page, and tells the post from any other.
func marker(key string) string { return "<!-- tri " + key + " -->" }

// Limits on looking for a post, and how far the clocks of the forge and of this machine may differ.
const (
	pageSize = 50
	maxPages = 40
	skew     = 10 * time.Minute
)

// Find implements chat.Sink: it looks for the key among the comments of the issue or, of a filed one, among
// the issues, newest first, back to the first try.
func (s *Sink) Find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	return s.Frame.Find(ctx, p, s.find)
}

func (s *Sink) find(ctx context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	path, q := s.comments(p.ThreadID), url.Values{"per_page": {strconv.Itoa(pageSize)},
		"limit": {strconv.Itoa(pageSize)}}
	files := p.ReplyToID == ""
	switch {
	case files:
		path = s.issues
		q.Set("state", "all")
		if s.Kind == forge.Gitea {
			q.Set("type", "issues")
		}
	case s.gitlab():
		q.Set("order_by", "created_at")
		q.Set("sort", "desc")
	}
	first := int64(0)
	for page := 1; page <= maxPages; page++ {
		q.Set("page", strconv.Itoa(page))
		var all []issue
		get := httpapi.Request{Method: "GET", Path: path, Query: q}
		if err := s.api.Read(ctx, get, &all); err != nil {
			return chat.Posted{}, chat.Unprovable, err
		}
		for _, i := range all {
			if strings.Contains(i.Body+i.Description, marker(p.Key)) {
				return i.posted(), chat.Found, nil
			}
		}
		switch {
		case len(all) == 0, all[0].ID == first: // a forge without pages returns the first again
			return chat.Posted{}, chat.Absent, nil
		case files && all[len(all)-1].CreatedAt.Before(p.Tried.Add(-skew)):
			return chat.Posted{}, chat.Absent, nil
		}
		first = all[0].ID
	}
	return chat.Posted{}, chat.Unprovable, nil
}

// Message implements chat.Sink: the title and text of an issue.
func (s *Sink) Message(ctx context.Context, _, id string) (text string, gone bool, err error) {
	if id == "" {
		return "", false, chat.ErrUnsupported
	}
	var i issue
	err = s.api.Read(ctx, httpapi.Request{Method: "GET", Path: s.issues + "/" + url.PathEscape(id)}, &i)
	if status := httpapi.StatusOf(err); status == http.StatusNotFound || status == http.StatusGone {
		return "", true, nil
	}
	if err != nil {
		return "", false, err
	}
	return discussion.Question(i.Title, i.Body+i.Description), false, nil
}
