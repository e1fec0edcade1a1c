package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/chat"
	"tri/lib/chat/forge"
	"tri/lib/record/decision"
	"tri/lib/record/discussion"
)

// tracker is the part of GitHub's issues that the sink uses or, as gitea, of Gitea's.
type tracker struct {
	gitea, known       bool // known: the project has the label, else Gitea sets none and says nothing
	title, body, state string
	labels             []string
	comments           []string
	filed              []map[string]any
	drop               int // how many answers to a write are lost
}

func (g *tracker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := map[string]any{}
	if r.Method != "GET" {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	out := any(map[string]any{"id": 1, "number": 42, "title": g.title, "body": g.body})
	list := func(bodies []string) (all []map[string]any) {
		for i, b := range bodies {
			all = append(all, map[string]any{"id": i + 1, "body": b, "created_at": start})
		}
		return all
	}
	_, path, _ := strings.Cut(r.URL.Path, "/repos/team/shop")
	switch r.Method + " " + path {
	case "GET /issues/42":
	case "GET /issues/42/comments":
		out = list(g.comments)
	case "GET /issues":
		out = g.filed
	case "PATCH /issues/42":
		g.state = in["state"].(string)
	case "POST /issues/42/labels":
		on := []map[string]string{}
		if g.known || !g.gitea { // GitHub makes the label
			g.labels = append(g.labels, fmt.Sprint(in["labels"]))
			on = append(on, map[string]string{"name": "Ready"})
		}
		out = on
	case "POST /labels":
		g.known = true
	case "POST /issues/42/comments":
		g.comments = append(g.comments, in["body"].(string))
		out = map[string]any{"id": len(g.comments), "created_at": start}
	case "POST /issues":
		in["id"], in["number"], in["created_at"] = len(g.filed)+1, len(g.filed)+100, start
		g.filed = append(g.filed, in)
		out = in
	default:
		http.NotFound(w, r)
		return
	}
	if r.Method != "GET" && g.drop > 0 {
		g.drop--
		panic(http.ErrAbortHandler) // done, and the connection is cut
	}
	json.NewEncoder(w).Encode(out)
}

// issues returns the options of a poster that acts on a tracker, after the offer of a proposal was approved.
func (w *world) issues(g *tracker, kind string) Options {
	w.t.Helper()
	w.t.Setenv("GITHUB_TOKEN", "t0ken")
	server := httptest.NewServer(g)
	w.t.Cleanup(server.Close)
	sink, err := forge.NewSink(config.Forge{Kind: map[bool]string{true: "gitea", false: "github"}[g.gitea],
		URL: server.URL, Project: "team/shop", TokenEnv: "GITHUB_TOKEN"}, server.Client())
	if err != nil {
		w.t.Fatal(err)
	}
	d := discussion.Discussion{ID: "d-1", TriggerRef: "team/shop#42", Proposal: &discussion.Proposal{
		Kind: kind, Issue: 42, Title: "Retries", Text: "It was fixed, @ana.",
		QuestionSHA256: decision.Sum(discussion.Question(g.title, g.body))}}
	if kind == discussion.FileIssue {
		d.TriggerRef, d.Proposal.Issue, d.Proposal.QuestionSHA256 = "retry.go:3", 0, ""
	}
	r := d.Offer(config.PlatformForge, "team/shop")
	if r == nil {
		w.t.Fatal("no offer")
	}
	if d.Offer(config.PlatformForge, "team/other") != nil && kind != discussion.FileIssue {
		w.t.Fatal("an offer to change another project's issue")
	}
	w.say(decision.Approve, w.append(*r))
	o := w.options(nil)
	o.Sinks = map[string]chat.Sink{config.PlatformForge: sink}
	return o
}

// Whatever instant the program is killed at, and whatever answer is lost, an approved action is done once.
func TestIssueActions(t *testing.T) {
	for _, kind := range []string{discussion.CloseIssue, discussion.MoveReady, discussion.FileIssue} {
		for drop := range 4 { // of answers, on each kind of forge
			for crash := range 12 {
				t.Run(fmt.Sprint(kind, drop, crash), func(t *testing.T) {
					w := newWorld(t)
					g := &tracker{title: "Retries", body: "Why?", state: "open", drop: drop / 2,
						gitea: drop%2 == 1}
					o := w.issues(g, kind)
					at := 0
					o.fault = func(string) error {
						if at++; at == crash {
							return errCrash
						}
						return nil
					}
					for range 4 {
						if err := Run(t.Context(), o); err == nil {
							break
						} else if !errors.Is(err, errCrash) && !strings.Contains(err.Error(), "wait") {
							t.Fatal(err)
						}
						w.now = w.now.Add(time.Minute)
					}
					done := len(g.comments)
					switch kind {
					case discussion.CloseIssue:
						if g.state != "closed" {
							t.Error("it is open")
						}
					case discussion.MoveReady:
						if len(g.labels) == 0 || g.labels[0] != "[ready]" {
							t.Errorf("labels %v", g.labels)
						}
					default:
						done = len(g.filed)
					}
					if rs := w.replies(); done != 1 || len(rs) != 1 || rs[0].Outcome != "posted" {
						t.Errorf("done %d times, replies %+v", done, rs)
					}
					if text := fmt.Sprint(g.comments, g.filed); strings.Contains(text, "@ana") {
						t.Errorf("a mention: %s", text)
					}
				})
			}
		}
	}
}

// An issue that was edited after it was judged is left alone, and so is a text that is not an action.
func TestIssueRefused(t *testing.T) {
	w := newWorld(t)
	g := &tracker{title: "Retries", body: "Why?", state: "open"}
	o := w.issues(g, discussion.CloseIssue)
	g.body = "Why not?"
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if g.state != "open" || len(g.comments) != 0 || len(w.replies()) != 0 {
		t.Errorf("%+v", g)
	}
	for _, text := range []string{"Close issue 42", "Close issue 042.", "close it\nClose issue 42.", "",
		"File issue: ", "Label issue 42: wontfix"} {
		if p, err := discussion.ParseAction(text); err == nil {
			t.Errorf("%q is %+v", text, p)
		}
	}
}
