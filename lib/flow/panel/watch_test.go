package panel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/forge"
	"tri/lib/base/sysexit"
	"tri/lib/judge/roadmap"
	"tri/lib/record/discussion"
)

// watched is a Gitea with n issues in a milestone, a failing check and a pull request.
type watched struct {
	issues int
	body   string
	pulls  string
	down   bool
}

func (w *watched) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	_, path, _ := strings.Cut(r.URL.Path, "/repos/ana/shop")
	switch {
	case w.down:
		http.Error(out, "{}", http.StatusBadGateway)
	case path == "":
		fmt.Fprint(out, `{"default_branch":"main"}`)
	case path == "/milestones":
		fmt.Fprint(out, `[{"id":1}]`)
	case path == "/commits/main/status":
		fmt.Fprintf(out, `{"sha":"%040d","statuses":[{"status":"failure","context":"test","description":"exit 1",
			"target_url":"/run/%d"}]}`, w.issues, w.issues)
	case path == "/issues" && r.URL.Query().Get("page") == "1":
		for i := range w.issues {
			list = append(list, map[string]any{"number": i + 1, "title": fmt.Sprint("issue ", i+1), "state": "open",
				"body": w.body, "milestone": map[string]any{"title": "v1", "state": "open"}})
		}
		json.NewEncoder(out).Encode(list)
	case path == "/pulls":
		fmt.Fprint(out, cmp.Or(w.pulls, `[{"number":70,"title":"a change"}]`))
	case path == "/pulls/70.diff":
		fmt.Fprint(out, patch)
	case path == "/pulls/8.diff": // Gitea's answer for a branch that was removed
		http.Error(out, "{}", http.StatusNotFound)
	case path == "/pulls/9.diff":
		fmt.Fprint(out, strings.Repeat("+", maxPatch+1))
	default:
		fmt.Fprint(out, "[]")
	}
}

func newWatch(t *testing.T) (*Watch, *watched, *bytes.Buffer) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	j, out := judge(t, t.TempDir())
	f := &watched{body: "It is slow."}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Setenv("TRI_TEST_FORGE", "t0ken")
	j.Config.Forge = config.Forge{Kind: "gitea", URL: server.URL, Project: "ana/shop", TokenEnv: "TRI_TEST_FORGE"}
	j.Config.Panel.Triggers = []string{"issue_review", "build_failure", "pr_review"}
	return &Watch{Judge: j, HTTP: server.Client()}, f, out
}

// judged returns the subjects of the discussions, in order.
func judged(t *testing.T, w *Watch) (refs string) {
	t.Helper()
	if err := discussion.Each(w.Home, func(d *discussion.Discussion) error {
		refs += d.TriggerType + " " + d.TriggerRef + "; "
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return refs
}

// TestWatch: each look judges at most as many new subjects as configured; nothing is judged twice, but what
// was edited is; a build that fails for the same reason at another commit is not; milestones are kept.
func TestWatch(t *testing.T) {
	w, f, out := newWatch(t)
	f.issues = 3
	offers := 0
	w.Offer = func() error { offers++; return nil }
	want := ""
	for i, step := range []struct{ refs string }{
		{"build_failure test; issue_review ana/shop#1; issue_review ana/shop#2; "},
		{"issue_review ana/shop#3; pr_review ana/shop#70; "}, {""},
		{"issue_review ana/shop#1; issue_review ana/shop#2; issue_review ana/shop#3; "},
	} {
		if i == 3 {
			f.body = "It is very slow."
		}
		if err := w.Run(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		f.issues = max(f.issues, 3)
		if want += step.refs; judged(t, w) != want {
			t.Errorf("look %d: %s, want %s", i, judged(t, w), want)
		}
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 8 || offers != 4 {
		t.Errorf("%d lines, %d offers", n, offers)
	}
	got := roadmap.For(w.Home, w.Codebase, "QA")
	if !strings.Contains(got, "0 of 3 done\n- Milestone v1: #1 issue 1") {
		t.Errorf("%q", got)
	}
	f.issues = 4 // and so another commit, with the same check
	if err := w.Run(t.Context(), true); err != nil || judged(t, w) != want+"issue_review ana/shop#4; " {
		t.Errorf("%v, %s", err, judged(t, w))
	}
}

// TestWatchSkips: a pull request whose changes cannot be read, or are too long, is reported once and does not
// keep the others from being judged.
func TestWatchSkips(t *testing.T) {
	w, f, _ := newWatch(t)
	w.Config.Panel.Triggers = []string{"pr_review"}
	f.pulls = `[{"number":8,"title":"gone"},{"number":9,"title":"long"},{"number":70,"title":"a change"}]`
	var said []string
	w.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	for range 2 {
		if err := w.Run(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	if got := judged(t, w); got != "pr_review ana/shop#70; " {
		t.Errorf("judged %s", got)
	}
	if len(said) != 2 || !strings.Contains(said[0], "#8") || !strings.Contains(said[1], "200001 bytes") {
		t.Errorf("said %q", said)
	}
}

// TestWatchWaits: a forge that does not answer and a spent budget are waited out; without an active persona,
// a trigger or the lock it ends.
func TestWatchWaits(t *testing.T) {
	w, f, _ := newWatch(t)
	f.issues, f.down = 1, true
	var said []string
	w.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	done := errors.New("enough")
	waits := 0
	w.Wait = func(_ context.Context, d time.Duration) error {
		switch waits++; waits {
		case 1:
			f.down, w.Config.Budget.PerDay.USD = false, 0.1
		case 2:
			if judged(t, w) != "" {
				t.Error(judged(t, w))
			}
			w.Config.Budget.PerDay.USD = 100
		default:
			return done
		}
		if d != 15*time.Minute {
			t.Errorf("waits %s", d)
		}
		return nil
	}
	if err := w.Run(t.Context(), false); !errors.Is(err, done) || strings.Count(judged(t, w), ";") != 3 {
		t.Errorf("%v, %s, said %q", err, judged(t, w), said)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "502") || !strings.Contains(text, "budget") {
		t.Errorf("said %q", said)
	}
	f.body = "another"
	for i := range w.Personas {
		w.Personas[i].Active = false
	}
	if err := w.Run(t.Context(), false); len(sysexit.Hints(err)) == 0 || waits != 3 {
		t.Errorf("%v after %d waits", err, waits)
	}
	lock, err := w.Home.TryLock(watchLock)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context(), true); err == nil || !strings.Contains(err.Error(), "another tri-panel") {
		t.Errorf("%v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	w.Config.Panel.Triggers = nil
	if status, _ := sysexit.Of(w.Run(t.Context(), true)); status != sysexit.Config {
		t.Errorf("status %d", status)
	}
}

// TestKeep: milestones follow what the file has, of their codebase alone, until the forge has none any more;
// a title makes no second line.
func TestKeep(t *testing.T) {
	h, err := durable.MakeHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	dir := t.TempDir()
	if err := keep(h, dir, nil); err != nil || h.Exists("roadmaps") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, roadmap.Name), []byte("# Now\n- [ ] a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := []forge.Issue{{Number: 4, Title: "b\n- [ ] forged", Milestone: "v1", Due: "2026-12-01T08:00:00Z"},
		{Number: 5, Title: "c", Milestone: "v1", Closed: true}, {Number: 6, Title: "d", Milestone: "v\x1b2"}}
	for range 2 {
		if err := keep(h, dir, plan); err != nil {
			t.Fatal(err)
		}
	}
	want := "Now: 0 of 1 done\n- a\nMilestone v1, due 2026-12-01: 1 of 2 done\n- #4 b - [ ] forged\n" +
		"Milestone v<U+001B>2: 0 of 1 done\n- #6 d"
	if got := roadmap.For(h, dir, "Tech Lead"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := roadmap.For(h, t.TempDir(), "Tech Lead"); got != "" {
		t.Errorf("of another codebase: %q", got)
	}
	if err := keep(h, dir, nil); err != nil {
		t.Fatal(err)
	}
	if got := roadmap.For(h, dir, "QA"); got != "0 of 1 done\n- Now: a" {
		t.Errorf("%q", got)
	}
}
