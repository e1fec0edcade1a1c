package forge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

// answers serves fixed bodies by method, path and the query's page, and keeps the queries.
type answers struct {
	t    *testing.T
	kind string
	body map[string]string // by path below the project
	seen map[string]string // queries
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base := map[string]string{GitHub: "/api/v3/repos/ana/pay", Gitea: "/api/v1/repos/ana/pay",
		GitLab: "/api/v4/projects/ana%2Fpay"}[a.kind]
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), base)
	if r.Method != "GET" || !ok {
		a.t.Errorf("%s %s", r.Method, r.URL)
	}
	a.seen[path] = r.URL.RawQuery
	body, ok := a.body[path]
	if n := r.URL.Query().Get("page"); n != "" && n != "1" {
		if body, ok = a.body[path+"?"+n]; !ok {
			body, ok = "[]", true
		}
	}
	if !ok {
		http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
		return
	}
	fmt.Fprint(w, body)
}

func reading(t *testing.T, kind string, body map[string]string) (*answers, *Client) {
	t.Helper()
	a := &answers{t: t, kind: kind, body: body, seen: map[string]string{}}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	t.Setenv("TRI_TEST_FORGE", token)
	c, err := Of(t.Context(), config.Forge{Kind: kind, URL: srv.URL, Project: "ana/pay",
		TokenEnv: "TRI_TEST_FORGE"}, "", srv.Client())
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

const commit = "0123456789abcdef0123456789abcdef01234567"

// TestFailing: of each kind of forge the failing checks of the newest commit of the default branch, and no
// others; GitHub's name the lines.
func TestFailing(t *testing.T) {
	for _, c := range []struct {
		kind string
		body map[string]string
		want []Check
	}{
		{GitHub, map[string]string{
			"": `{"default_branch":"a/b"}`,
			"/commits/a%2Fb/status": `{"sha":"` + commit + `","state":"failure","statuses":[
				{"state":"error","context":"old-ci","description":"it broke","target_url":"https://ci.test/1"},
				{"state":"success","context":"fine"},{"state":"pending","context":"soon"}]}`,
			"/commits/" + commit + "/check-runs": `{"check_runs":[{"id":7,"name":"build","conclusion":"failure",
				"html_url":"https://x.test/7","output":{"title":"2 errors","summary":"","annotations_count":2}},
				{"id":8,"name":"lint","conclusion":"success"},{"id":9,"name":"run","conclusion":null}]}`,
			"/check-runs/7/annotations": `[{"path":"a.go","start_line":3,"annotation_level":"failure",
				"message":"undefined: x"},{"path":"b.go","start_line":1,"annotation_level":"warning","message":"w"}]`,
		}, []Check{{"build", "https://x.test/7", "2 errors\na.go:3: undefined: x"},
			{"old-ci", "https://ci.test/1", "it broke"}}},
		{GitLab, map[string]string{
			"":                         `{"default_branch":"main"}`,
			"/repository/commits/main": `{"id":"` + commit + `","status":"failed"}`,
			"/repository/commits/" + commit + "/statuses": `[{"status":"failed","name":"test","description":"exit 1",
				"target_url":"https://gl.test/1"},{"status":"failed","name":"may","allow_failure":true},
				{"status":"success","name":"ok"},{"status":"canceled","name":"c"}]`,
		}, []Check{{"test", "https://gl.test/1", "exit 1"}}},
		{Gitea, map[string]string{
			"": `{"default_branch":"main"}`,
			"/commits/main/status": `{"sha":"` + commit + `","state":"failure","statuses":[
				{"status":"failure","context":"ci / test (push)","description":"Failing after 3s","target_url":"/x/1"},
				{"status":"success","context":"ok"}]}`,
		}, []Check{{"ci / test (push)", "/x/1", "Failing after 3s"}}},
	} {
		_, client := reading(t, c.kind, c.body)
		sha, got, err := client.Failing(t.Context())
		if err != nil || sha != commit || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s %+v, %v", c.kind, sha, got, err)
		}
		_, client = reading(t, c.kind, map[string]string{"": `{"default_branch":"main"}`})
		if _, _, err := client.Failing(t.Context()); len(sysexit.Hints(err)) == 0 {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
	_, client := reading(t, Gitea, map[string]string{"": `{"default_branch":"main"}`,
		"/commits/main/status": `{"sha":"../x","statuses":[]}`})
	if _, _, err := client.Failing(t.Context()); err == nil {
		t.Error("a commit that is none")
	}
}

// TestIssues: open issues without pull requests; and of open milestones all issues, by date.
func TestIssues(t *testing.T) {
	open := map[string]string{"": "{}",
		"/issues": `[{"number":4,"title":"Slow","body":"It is.","state":"open"},
			{"number":5,"title":"a change","state":"open","pull_request":{}},{"number":4,"title":"again"}]`}
	a, client := reading(t, GitHub, open)
	got, err := client.OpenIssues(t.Context())
	if want := []Issue{{Number: 4, Title: "Slow", Body: "It is."}}; err != nil || !reflect.DeepEqual(got, want) ||
		!strings.Contains(a.seen["/issues"], "state=open") {
		t.Errorf("%+v, %v, %s", got, err, a.seen["/issues"])
	}
	for _, c := range []struct{ kind, number, active, due, asks string }{
		{GitHub, "number", "open", `"due_on":"%sT08:00:00Z"`, "milestone=%2A"},
		{GitLab, "iid", "active", `"due_date":"%s"`, "milestone=Any"},
		{Gitea, "number", "open", `"due_on":"%sT08:00:00Z"`, "milestones=3%2C9"},
	} {
		one := func(number int, state, title, open, due string) string {
			due = strings.Replace(c.due, "%s", due, 1)
			if strings.Contains(due, `""`) || strings.Contains(due, `"T`) {
				due = `"due_on":null`
			}
			return fmt.Sprintf(`{"id":1,%q:%d,"title":"i%d","state":%q,"milestone":{"title":%q,"state":%q,%s}}`,
				c.number, number, number, state, title, open, due)
		}
		a, client := reading(t, c.kind, map[string]string{
			"/milestones": `[{"id":3},{"id":9}]`,
			"/issues": "[" + strings.Join([]string{one(1, "closed", "later", c.active, ""),
				one(2, "opened", "soon", c.active, "2026-12-01"), one(3, "open", "gone", "closed", "2026-01-01"),
				`{"number":8,"title":"no milestone"}`}, ",") + "]",
			"/issues?2": "[" + one(1, "closed", "later", c.active, "") + "," +
				one(9, "closed", "soon", c.active, "2026-12-01") + "]",
		})
		got, err := client.Planned(t.Context())
		text := ""
		for _, i := range got {
			text += fmt.Sprint(i.Milestone, " ", i.Number, " ", i.Closed, "; ")
		}
		if err != nil || text != "soon 2 false; soon 9 true; later 1 true; " ||
			!strings.Contains(a.seen["/issues"], c.asks) {
			t.Errorf("%s: %s, %v, %s", c.kind, text, err, a.seen["/issues"])
		}
	}
	_, client = reading(t, Gitea, map[string]string{"/milestones": "[]"})
	if got, err := client.Planned(t.Context()); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPulls: open pull requests, and the changes of one as a patch.
func TestPulls(t *testing.T) {
	for kind, body := range map[string]map[string]string{
		GitHub: {"/pulls": `[{"number":7,"title":"t","body":"b"}]`, "/pulls/7/files": `[{"filename":"a.go",
			"previous_filename":"b.go","patch":"@@ -1 +1 @@\n-x\n+y"},{"filename":"big.bin"}]`},
		GitLab: {"/merge_requests": `[{"iid":7,"title":"t","description":"b"}]`,
			"/merge_requests/7/diffs": `[{"old_path":"b.go","new_path":"a.go","diff":"@@ -1 +1 @@\n-x\n+y\n"},
			{"old_path":"big.bin","new_path":"big.bin","diff":""}]`},
		Gitea: {"/pulls": `[{"number":7,"title":"t","body":"b"}]`,
			"/pulls/7.diff": "--- a/b.go\n+++ b/a.go\n@@ -1 +1 @@\n-x\n+y\n--- a/big.bin\n+++ b/big.bin\n\n"},
	} {
		_, client := reading(t, kind, body)
		all, err := client.OpenPulls(t.Context())
		if want := []Issue{{Number: 7, Title: "t", Body: "b"}}; err != nil || !reflect.DeepEqual(all, want) {
			t.Errorf("%s: %+v, %v", kind, all, err)
		}
		patch, err := client.Diff(t.Context(), 7)
		want := "--- a/b.go\n+++ b/a.go\n@@ -1 +1 @@\n-x\n+y\n--- a/big.bin\n+++ b/big.bin\n\n"
		if err != nil || patch != want {
			t.Errorf("%s: %q, %v", kind, patch, err)
		}
	}
}

// TestDiffWhole: changes of which an answer has only a part are not returned as the whole.
func TestDiffWhole(t *testing.T) {
	for kind, path := range map[string]string{GitHub: "/pulls/7/files", GitLab: "/merge_requests/7/diffs"} {
		files := strings.TrimSuffix(strings.Repeat(`{"filename":"a.go","patch":"+x"},`, 100), ",")
		_, client := reading(t, kind, map[string]string{path: "[" + files + "]"})
		if patch, err := client.Diff(t.Context(), 7); err == nil {
			t.Errorf("%s: %d bytes and no error", kind, len(patch))
		}
	}
}

// TestRateLimit: a limit of requests, which GitHub reports as forbidden, passes; a missing right does not.
func TestRateLimit(t *testing.T) {
	for message, want := range map[string]int{"API rate limit exceeded for user ID 1.": sysexit.TempFail,
		"You have exceeded a secondary rate limit.": sysexit.TempFail, "Not accessible": sysexit.NoPerm} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, fmt.Sprintf(`{"message":%q}`, message), http.StatusForbidden)
		}))
		defer srv.Close()
		t.Setenv("TRI_TEST_FORGE", token)
		c, err := Of(t.Context(), config.Forge{Kind: GitHub, URL: srv.URL, Project: "ana/pay",
			TokenEnv: "TRI_TEST_FORGE"}, "", srv.Client())
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.OpenIssues(t.Context())
		if status, _ := sysexit.Of(err); status != want {
			t.Errorf("%s: %v, status %d", message, err, status)
		}
	}
}
