package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tri/lib/agent/proc"
	"tri/lib/base/config"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// world is a codebase with a sweep whose command reports what a test says.
type world struct {
	*Source
	out  []string // lines of stdout
	err  string   // stderr
	exit proc.Exit
	at   time.Time

	runs   int
	events []event.Event
	said   []string
	state  []byte
	dies   bool // before the time of a run is kept
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	for name, body := range map[string]string{
		"a.go": "package a\n\n// TODO: one\nvar x = 5\n", "b/b.go": "package b\n// TODO: two\n",
		"key.go": "package k\nvar k = \"ghp_" + "a8Kd03LmZq92XcVb71NnTy64RwEe5UuIoPpQ\"\n",
	} {
		at := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(body), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Default()
	cfg.Classifier.BotID = "tri"
	cfg.Codebases = []config.Codebase{{Name: "shop", Path: dir}}
	cfg.Sweep = []config.Sweep{{Name: "todo", Command: []string{"todo"}, Kind: "task", Codebase: "shop",
		EveryH: 24, Most: 3}}
	s, err := New(cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Source: s, at: time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)}
	s.now = func() time.Time { return w.at }
	s.run = func(_ context.Context, spec proc.Spec) (proc.Exit, error) {
		w.runs++
		for _, line := range w.out {
			spec.Line([]byte(line))
		}
		return w.exit, os.WriteFile(filepath.Join(spec.RunDir, "stderr.txt"), []byte(w.err), 0o600)
	}
	return w
}

// sweep runs what is due, and returns the new messages.
func (w *world) sweep(t *testing.T) []event.Event {
	t.Helper()
	n := len(w.events)
	err := w.Run(t.Context(), chat.Resume{State: w.state}, w.handler())
	if err != nil && !(w.dies && errors.Is(err, errKilled)) {
		t.Fatal(err)
	}
	return w.events[n:]
}

var errKilled = errors.New("killed")

// handler keeps what a run passes.
func (w *world) handler() chat.Handler {
	return chattest.Handler{
		Event: func(e event.Event) error { w.events = append(w.events, e); return nil },
		Keep: func(state []byte) error {
			if w.dies {
				return errKilled
			}
			if len(state) > 64<<10 {
				return fmt.Errorf("%d bytes", len(state))
			}
			w.state = state
			return nil
		},
		Log: func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
	}
}

func TestFindings(t *testing.T) {
	w := newWorld(t)
	w.out = []string{"# a heading", "a.go:3: TODO: one", "./a.go:3:4: TODO: one",
		"a.go:4:5: never mind, 7 ms"}
	w.err = "vet: b/b.go:2:1: never mind\n"
	got := w.sweep(t)
	if len(got) != 3 {
		t.Fatalf("%d findings: %v", len(got), got)
	}
	e := got[0]
	if want := "todo at a.go:3. What is left to do here?\n> TODO: one\n> // TODO: one"; e.Content != want {
		t.Errorf("%q, want %q", e.Content, want)
	}
	if e.Root() != e.MessageID || e.Platform != "sweep" || e.ChatID != "shop" || e.Mentions[0] != "tri" ||
		e.ForwardedFrom != "todo" || e.Sender.Type != "user" {
		t.Errorf("%+v", e)
	}
	if !strings.Contains(got[2].Content, "b/b.go:2") || !strings.Contains(got[2].Content, "\n> never mind") {
		t.Errorf("%q", got[2].Content)
	}
}

// TestTimes: a sweep rests until its time is over, whatever is restarted meanwhile, and a clock that was
// wrong does not silence it: a time in the future is replaced.
func TestTimes(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		after time.Duration
		runs  int
	}{{0, 1}, {time.Hour, 1}, {22 * time.Hour, 1}, {time.Hour, 2}, {-100 * 24 * time.Hour, 3},
		{23 * time.Hour, 3}, {time.Hour, 4}} {
		w.at = w.at.Add(step.after)
		if w.sweep(t); w.runs != step.runs {
			t.Errorf("at %s: %d runs, want %d", w.at, w.runs, step.runs)
		}
	}
}

// TestKilledBetween: killed after its findings are in the log and before its time is, a sweep runs again, and
// its findings are the same messages, which the log takes once.
func TestKilledBetween(t *testing.T) {
	w := newWorld(t)
	w.out, w.dies = []string{"a.go:3: TODO: one"}, true
	w.sweep(t)
	w.dies, w.at = false, w.at.Add(time.Minute)
	w.sweep(t)
	if len(w.events) != 2 || w.events[0].Identity() != w.events[1].Identity() {
		t.Errorf("%+v", w.events)
	}
	w.at = w.at.Add(25 * time.Hour)
	if again := w.sweep(t); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
}

// TestMost: a run tells its most, the next one the next; what another line number has is not new.
func TestMost(t *testing.T) {
	w := newWorld(t)
	body := strings.Repeat("\n", 3)
	for i := range 7 {
		body += fmt.Sprintf("x%c\n", 'a'+i)
		w.out = append(w.out, fmt.Sprintf("c.go:%d: bad after %d ms", i+4, i))
	}
	name := filepath.Join(w.cfg.Codebases[0].Path, "c.go")
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{3, 3, 1, 0} {
		if got := w.sweep(t); len(got) != want {
			t.Errorf("run %d: %d findings, want %d", i, len(got), want)
		}
		w.at = w.at.Add(25 * time.Hour)
	}
	if err := os.WriteFile(name, []byte("\n"+body), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range w.out {
		w.out[i] = fmt.Sprintf("c.go:%d: bad after 9 ms", i+5)
	}
	if got := w.sweep(t); len(got) != 0 {
		t.Errorf("moved lines are new: %v", got)
	}
}

// TestHostile: what a command prints leads nowhere else, shows no control character, and has bounds.
func TestHostile(t *testing.T) {
	w := newWorld(t)
	link := filepath.Join(w.cfg.Codebases[0].Path, "link")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	hostile := []string{
		"\x1b[31ma.go:3: red\x1b[0m", "a.go:3: \x07bell", "a.go:3: \xff", "a.go:3: right\u202eto left",
		"a.go:3: " + strings.Repeat("x", maxLine), "../a.go:3: out", "/etc/passwd:1: root", "link:1: root",
		".git/config:1: x", "a.go:99: no such line", "a.go:0: none", "gone.go:1: none", ".env:1: KEY=1",
	}
	w.out = hostile
	if got := w.sweep(t); len(got) != 0 || len(w.said) != 1 ||
		!strings.Contains(w.said[0], fmt.Sprint(len(hostile))) ||
		strings.ContainsAny(w.said[0], "\x1b\x07") {
		t.Errorf("%v, said %q", got, w.said)
	}
	w.out = []string{"key.go:2: a key: ghp_" + "a8Kd03LmZq92XcVb71NnTy64RwEe5UuIoPpQ"}
	w.at = w.at.Add(25 * time.Hour)
	if got := w.sweep(t); len(got) != 1 || strings.Contains(got[0].Content, "ghp_") {
		t.Errorf("%+v", got)
	}
	w.out, w.at, w.cfg.Sweep[0].Most = nil, w.at.Add(25*time.Hour), 50
	for i := range 2 * maxRead {
		w.out = append(w.out, fmt.Sprintf("a.go:3: %s", strings.Repeat("x", i%2000)))
	}
	if got := w.sweep(t); len(got) != 50 || !strings.Contains(w.said[1], "10000 lines") {
		t.Errorf("%d findings, said %q", len(got), w.said)
	}
}

// TestFails: a command that fails is reported, rests, and what was told of it is still told.
func TestFails(t *testing.T) {
	w := newWorld(t)
	w.out = []string{"a.go:3: TODO: one"}
	w.sweep(t)
	w.out, w.exit, w.at = nil, proc.Exit{Status: 2, Stderr: "no such flag\x1b[1m"}, w.at.Add(25*time.Hour)
	w.sweep(t)
	if len(w.said) != 1 ||
		!strings.Contains(w.said[0], "exit status 2, and no finding: no such flag<U+001B>") {
		t.Errorf("said %q", w.said)
	}
	w.out, w.exit, w.at = []string{"a.go:3: TODO: one"}, proc.Exit{Status: 1}, w.at.Add(25*time.Hour)
	if got := w.sweep(t); len(got) != 0 || w.runs != 3 {
		t.Errorf("%v after %d runs", got, w.runs)
	}
	w.state = []byte("{")
	if got := w.sweep(t); len(got) != 1 || len(w.said) != 2 {
		t.Errorf("%v, said %q", got, w.said)
	}
}

// TestEndless: a command that does not end is ended, and the message says after which time.
func TestEndless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run = func(ctx context.Context, _ proc.Spec) (proc.Exit, error) {
			<-ctx.Done()
			return proc.Exit{}, fmt.Errorf("todo: %w", ctx.Err())
		}
		if w.sweep(t); len(w.said) != 1 || !strings.Contains(w.said[0], "longer than 10m0s") {
			t.Errorf("said %q", w.said)
		}
	})
}

// TestUnchanged: of ten thousand sweeps over an unchanged codebase those after the first say nothing.
func TestUnchanged(t *testing.T) {
	w := newWorld(t)
	w.out = []string{"a.go:3: TODO: one", "b/b.go:2: TODO: two", "all is well",
		"I looked at everything: fine"}
	runs := 10_000
	if testing.Short() {
		runs = 300
	}
	for range runs {
		w.sweep(t)
		w.at = w.at.Add(24 * time.Hour)
	}
	if w.runs != runs || len(w.events) != 2 {
		t.Errorf("%d runs, %d messages", w.runs, len(w.events))
	}
}

// TestAge: only what was last changed long enough ago is a finding, however it was indented since; a line
// that is not committed, and a codebase without a history, have none.
func TestAge(t *testing.T) {
	w := newWorld(t)
	w.out = []string{"a.go:3: TODO: one", "b/b.go:2: TODO: two", "new.go:1: TODO: three"}
	w.cfg.Sweep[0].MinAgeD = 100
	if got := w.sweep(t); len(got) != 0 {
		t.Errorf("without a history: %v", got)
	}
	dir := w.cfg.Codebases[0].Path
	git := func(at string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.test"},
			args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(name, body string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("", "init", "-q")
	git("2026-01-02T00:00:00Z", "add", "a.go")
	git("2026-01-02T00:00:00Z", "commit", "-qm", "one")
	write("a.go", "package a\n\n\t\t// TODO: one\nvar x = 6\n")
	git("2026-11-20T00:00:00Z", "add", "a.go", "b")
	git("2026-11-20T00:00:00Z", "commit", "-qm", "two")
	write("new.go", "// TODO: three\n")
	// Neither program of the repository's settings runs, nor does a file of commits to leave out hide an age.
	git("", "config", "diff.x.textconv", "touch "+filepath.Join(dir, "ran"))
	git("", "config", "blame.ignoreRevsFile", "/nonexistent")
	write(".gitattributes", "*.go diff=x\n")
	w.at = w.at.Add(25 * time.Hour)
	got := w.sweep(t)
	if len(got) != 1 || !strings.HasPrefix(got[0].Content, "todo at a.go:3, unchanged since 2026-01-02. ") {
		t.Errorf("%v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a program of the repository ran")
	}
	w.at = w.at.Add(100 * 24 * time.Hour) // now the second is old, too; the first was told
	if got := w.sweep(t); len(got) != 1 || !strings.Contains(got[0].Content, "b.go:2, unchanged since 2026-11-20") {
		t.Errorf("%v", got)
	}
}

// TestChecks: a failing check is told once while it fails, whatever commits follow, and again when it failed
// anew; a forge that does not answer makes nothing new.
func TestChecks(t *testing.T) {
	w := newWorld(t)
	commit, checks, down := strings.Repeat("a", 40), "", false
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch {
		case down:
			http.Error(out, "{}", http.StatusBadGateway)
		case strings.HasSuffix(r.URL.Path, "/status"):
			fmt.Fprintf(out, `{"sha":%q,"statuses":[%s]}`, commit, checks)
		default:
			fmt.Fprint(out, `{"default_branch":"main"}`)
		}
	}))
	defer server.Close()
	t.Setenv("TRI_TEST_FORGE", "t0ken")
	w.cfg.Forge = config.Forge{Kind: "gitea", URL: server.URL, Project: "ana/shop", TokenEnv: "TRI_TEST_FORGE"}
	w.http = server.Client()
	w.cfg.Sweep[0] = config.Sweep{Name: "ci", Checks: true, Kind: "concern", Codebase: "shop", EveryH: 24, Most: 3}
	const broken = `{"status":"failure","context":"te\u001bst","description":"a.go:3: undefined: x\n\u202eodd"}`
	key := `{"status":"failure","context":"leak","description":"ghp_` + `a8Kd03LmZq92XcVb71NnTy64RwEe5UuIoPpQ"}`
	for i, step := range []struct {
		commit, checks string
		down           bool
		told           int
	}{{"a", broken, false, 1}, {"b", broken, false, 0}, {"b", broken, true, 0}, {"b", broken, false, 0},
		{"c", "", false, 0}, {"d", broken, false, 1}, {"e", key, false, 1}} {
		commit, checks, down = strings.Repeat(step.commit, 40), step.checks, step.down
		got := w.sweep(t)
		if len(got) != step.told {
			t.Errorf("step %d: %v, said %q", i, got, w.said)
		}
		if i == 0 && len(got) == 1 {
			want := "ci at check \"te<U+001B>st\" of commit aaaaaaaaaa. Is this a fault, and what follows from it?\n" +
				"> a.go:3: undefined: x\n> <U+202E>odd"
			if got[0].Content != want {
				t.Errorf("%q, want %q", got[0].Content, want)
			}
		}
		w.at = w.at.Add(25 * time.Hour)
	}
	last := w.events[len(w.events)-1].Content
	if len(w.said) != 1 || w.events[0].Identity() == w.events[1].Identity() || strings.Contains(last, "ghp_") {
		t.Errorf("said %q, last %q", w.said, last)
	}
}
