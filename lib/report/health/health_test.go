package health

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sandbox/sandboxtest"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// place is a home with a configuration.
type place struct {
	t    *testing.T
	home *durable.Home
	now  time.Time
}

func newPlace(t *testing.T, config string) *place {
	t.Helper()
	h, err := durable.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	p := &place{t, h, noon}
	if config != "" {
		p.write("config.yaml", config)
	}
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := p.home.Replace(name, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) look() []Check {
	return Run(context.Background(), Options{Dir: p.home.Dir(), Now: func() time.Time { return p.now }})
}

// want fails unless a check of this name has this result.
func want(t *testing.T, checks []Check, name, status, message string) {
	t.Helper()
	for _, c := range checks {
		if c.Name == name && c.Status == status && strings.Contains(c.Message, message) &&
			(status == OK || c.Fix != "") {
			return
		}
	}
	var b strings.Builder
	if err := Print(&b, checks); err != nil {
		t.Fatal(err)
	}
	t.Errorf("no %s of %q with %q in\n%s", status, name, message, b.String())
}

func TestNoHomeIsNotMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	checks := Run(context.Background(), Options{Dir: dir, Now: func() time.Time { return noon }})
	want(t, checks, "home", Warn, "not there")
	want(t, checks, "config", Warn, "no configuration")
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was made")
	}
	if Worst(checks) != Warn {
		t.Errorf("worst is %s", Worst(checks))
	}
}

func TestConfiguration(t *testing.T) {
	t.Setenv("HEALTH_TEST_KEY", "key")
	repo, plain := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(repo, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ config, name, status, message string }{
		{"team: {approver: [a]}\n", "config", Fail, `:1: unknown key "team.approver"`},
		{"sandbox: required\n", "config", OK, "config.yaml"},
		{"sandbox: required\n", "approvers", Fail, "no person may approve"},
		{"team: {approvers: [ana]}\n", "approvers", OK, "ana"},
		{"team: {approvers: [ana]}\ngate: {quorum: 2}\n", "approvers", Fail,
			"gate.quorum requires 2 approvals, and team.approvers has 1"},
		{"codebases: [{name: a, path: /nowhere/at/all}]\n", "codebase a", Fail, "no such file"},
		{"codebases: [{name: a, path: " + plain + "}]\n", "codebase a", Warn, "not a git repository"},
		{"codebases: [{name: a, path: " + repo + "}]\n", "codebase a", OK, repo},
		{"codebases: [{name: a, path: " + repo + "}]\n", "git", OK, "git version"},
		{"codebases: [{name: a, path: ..}]\n", "codebase a", Warn, "contains the home"},
		{"sandbox: required\n", "investigator", OK, "search"},
		{"sandbox: \"off\"\ninvestigator: {agent: exec, command: [cat]}\n", "sandbox", Warn,
			"with your rights"},
		{"sandbox: \"off\"\ninvestigator: {agent: claude, command: [/no/claude]}\n", "investigator", Fail,
			"/no/claude"},
		{"sandbox: \"off\"\ninvestigator: {agent: exec, command: [cat]}\n", "investigator", OK, "cat"},
		{"sandbox: \"off\"\nbox: {agent: {agent: codex, command: [cat], env: [HEALTH_TEST_KEY]}}\n",
			"box agent", OK, "cat, its key in HEALTH_TEST_KEY"},
		{"sandbox: \"off\"\nbox: {agent: {agent: codex, command: [cat], env: [HEALTH_OTHER_KEY, HEALTH_URL]}}\n", "box agent", Warn, "HEALTH_OTHER_KEY is not set here"},
		{"sandbox: \"off\"\nbox: {agent: {agent: cline, command: [cat], read: [/etc/passwd]}}\n", "box agent",
			OK, "its login in /etc/passwd"},
		{"sandbox: \"off\"\nbox: {agent: {agent: continue}}\n", "box agent", Fail, `"cn"`},
		{"sandbox: \"off\"\nbox: {agent: {agent: codex, command: [cat]}}\n", "git", OK, "git version"},
		{"investigator: {agent: api, model: m, key_env: HEALTH_TEST_KEY}\n", "investigator", OK, "m at "},
		{"investigator: {agent: api, api: openai, model: m, key_env: HEALTH_NO_KEY, base_url: \"http://127.0.0.1:1/v1\"}\n",
			"investigator", OK, "m at "},
		{"investigator: {agent: api, model: m, key_env: HEALTH_NO_KEY}\n", "investigator", Fail,
			"HEALTH_NO_KEY"},
		{"sandbox: \"off\"\nvalidator: {agent: exec, command: [no-such-program]}\n", "validator", Fail,
			"no-such-program"},
		{"chat: {local: {dir: nowhere}}\n", "chat local", Fail, "no such file"},
		{"chat: {mattermost: {url: 'http://127.0.0.1:1', token_env: TRI_TEST_NO_TOKEN}}\n", "chat mattermost",
			Fail, "TRI_TEST_NO_TOKEN"},
	} {
		want(t, newPlace(t, tt.config).look(), tt.name, tt.status, tt.message)
	}
}

// TestRefusedRooms: a file of the local chat that is not read, since its name is not a room's, is reported as
// that, and not as a watcher that hears nothing.
func TestRefusedRooms(t *testing.T) {
	chat := t.TempDir()
	for _, name := range []string{"dev", "my room", ".hidden"} {
		if err := os.WriteFile(filepath.Join(chat, name), []byte("ana: where?\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t, "chat: {local: {dir: "+chat+"}}\n")
	want(t, p.look(), "local folder", OK, chat)
	want(t, p.look(), "local room", Warn, `room "my room": a name has letters, digits and . _ - # + only`)
	for _, c := range p.look() {
		if strings.Contains(c.Message, "hidden") || strings.Contains(c.Message, `"dev"`) {
			t.Errorf("%+v", c)
		}
	}
	for _, s := range p.stages() {
		p.hold(s.Lock)
	}
	p.write(beatName, `{"beat_at":"2026-03-02T11:59:55Z","connected_since":"2026-03-02T11:00:00Z","source":"local",`+
		`"started_at":"2026-03-02T11:00:00Z"}`)
	written := func(name string, at time.Time) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(chat, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	written("dev", p.now.Add(-2*time.Hour))
	written("my room", p.now.Add(-time.Minute))
	want(t, p.look(), "tri-watch", OK, "connected to local")
	written("dev", p.now.Add(-time.Minute))
	want(t, p.look(), "tri-watch", Warn, `room "dev" was written to 1 min ago, and no event has come since`)
}

func TestSandbox(t *testing.T) {
	p := newPlace(t, "investigator: {agent: exec, command: [cat]}\n")
	sandboxtest.Path(t)
	for _, c := range p.look() {
		if c.Name == "sandbox" && (c.Status == Fail || !strings.Contains(c.Message, "bubblewrap")) {
			t.Errorf("%+v", c)
		}
	}
	t.Setenv("PATH", t.TempDir())
	want(t, p.look(), "sandbox", Fail, "find the inner end")
}

func TestModes(t *testing.T) {
	p := newPlace(t, "team: {approvers: [a]}\n")
	for _, c := range []struct {
		path string
		mode os.FileMode
		name string
		says string
	}{{p.home.Dir(), 0o755, "home", "0755"}, {p.home.Path("config.yaml"), 0o620, "config",
		"others can change it"}} {
		if err := os.Chmod(c.path, c.mode); err != nil {
			t.Fatal(err)
		}
		want(t, p.look(), c.name, Fail, c.says)
	}
	p.now = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	want(t, p.look(), "clock", Fail, "1970")
}

func TestMattermost(t *testing.T) {
	const token = "s3cr3t-t0k3n-of-the-b0t"
	t.Setenv("TRI_TEST_TOKEN", token)
	bot, other := strings.Repeat("b", 26), strings.Repeat("c", 26)
	reply, status := "", 200
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(400)
		case r.URL.Path == "/api/v4/users/me":
			w.WriteHeader(status)
			fmt.Fprint(w, reply)
		default:
			fmt.Fprintf(w, `[{"id":%q,"display_name":"Dev"}]`, other)
		}
	}))
	defer srv.Close()
	config := func(url, bot string) string {
		return "chat: {mattermost: {url: '" + url + "', token_env: TRI_TEST_TOKEN}}\nclassifier: {bot_id: '" +
			bot + "'}\n"
	}
	me := func(name string, isBot bool) string {
		return fmt.Sprintf(`{"id":%q,"username":%q,"is_bot":%v}`, bot, name, isBot)
	}
	watching := func(id string) string {
		return config(srv.URL, bot) + "watched_chats: [{platform: mattermost, chat_id: '" + id + "'}]\n"
	}
	for _, tt := range []struct {
		reply   string
		status  int
		config  string
		name    string
		want    string
		message string
	}{
		{me("tri", true), 200, config(srv.URL+"/", bot), "mattermost token", OK, "as tri"},
		{me("tri\u202e", true), 200, config(srv.URL, other), "mattermost bot", Warn, "tri<U+202E> there"},
		{me("ana", false), 200, config(srv.URL, bot), "mattermost token", Warn, "person's account"},
		{me("tri", true), 200, watching(other), "mattermost chat", OK, "Dev"},
		{me("tri", true), 200, watching(bot), "mattermost chat", Fail, "not a member"},
		{`{}`, 401, config(srv.URL, bot), "mattermost token", Fail, "401"},
		{`<html>`, 200, config(srv.URL, bot), "mattermost token", Fail, "invalid character"},
		{"", 0, config("http://127.0.0.1:1", bot), "mattermost token", Fail, "refused"},
	} {
		reply, status = tt.reply, tt.status
		checks := newPlace(t, tt.config).look()
		for _, c := range checks {
			if strings.Contains(c.Message+c.Fix, token) {
				t.Errorf("%s tells the token", c.Name)
			}
		}
		want(t, checks, tt.name, tt.want, tt.message)
	}
}

// piped is the configuration of a team with only a local chat.
const piped = "chat: {local: {dir: .}}\nteam: {approvers: [ana]}\ncodebases: [{name: code, path: .}]\n"

func (p *place) stages() []config.Stage {
	p.t.Helper()
	cfg, err := config.ForHome(p.home.Dir(), "")
	if err != nil {
		p.t.Fatal(err)
	}
	return cfg.Stages(p.home.Dir())
}

func (p *place) hold(lock string) {
	p.t.Helper()
	l, err := p.home.TryLock(lock)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { l.Unlock() })
}

func TestLiveness(t *testing.T) {
	p := newPlace(t, piped)
	checks := p.look()
	want(t, checks, "pipeline", OK, "was never started")
	p.write(eventsName, "")
	checks = p.look()
	want(t, checks, "tri-dispatch", Warn, "does not run")
	want(t, checks, "tri-supervise", Warn, "nothing runs")
	var out strings.Builder
	if err := Print(&out, checks); err != nil || strings.Count(out.String(), "→ tri up") != 1 ||
		!strings.Contains(out.String(), "→ tri up\nok") {
		t.Errorf("what mends them all is said once: %v\n%s", err, out.String())
	}
	p.hold("locks/dispatch")
	checks = p.look()
	want(t, checks, "tri-supervise", Warn, "not restarted")
	if i := slices.IndexFunc(checks, func(c Check) bool {
		return c.Name == "tri-reply"
	}); i < 0 || !strings.HasPrefix(checks[i].Fix, "tri up starts all; this one alone, in "+p.home.Dir()+
		": tri-reply ") {
		t.Errorf("%d of %+v", i, checks)
	}
	for _, s := range p.stages() {
		if s.Name != "dispatch" {
			p.hold(s.Lock)
		}
	}
	checks = p.look()
	pid := fmt.Sprintf("process %d", os.Getpid())
	for _, s := range p.stages()[1:] {
		want(t, checks, title(s), OK, pid)
	}
	want(t, checks, "tri-supervise", OK, "by hand")
	want(t, checks, "tri-watch", Warn, "no heartbeat")
	for _, tt := range []struct{ beat, status, message string }{
		{`{"beat_at":"2026-03-02T11:59:55Z","connected_since":"2026-03-02T11:00:00Z","source":"local","last_event_at":"2026-03-02T11:58:00Z"}`, OK, "connected to local, last event 2 min ago"},
		{`{"beat_at":"2026-03-02T11:59:55Z","connected_since":"2026-03-02T11:00:00Z","source":"local","last_event_at":null}`, OK, "no event yet"},
		{`{"beat_at":"2026-03-02T11:59:55Z","connected_since":null,"source":"mattermost"}`, Fail,
			"not connected to mattermost"},
		{`{"beat_at":"2026-03-02T11:50:00Z","connected_since":"2026-03-02T11:00:00Z"}`, Fail,
			"silent for 10 min"},
		{`{`, Warn, "no heartbeat"},
	} {
		p.write(beatName, tt.beat)
		want(t, p.look(), "tri-watch", tt.status, tt.message)
	}
}

// TestOlderStages: a stage that started before the configuration was changed is reported.
func TestOlderStages(t *testing.T) {
	p := newPlace(t, piped)
	p.hold("locks/dispatch")
	want(t, p.look(), "stages", Warn, "and tri-dispatch began before that")
	before := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(p.home.Path("config.yaml"), before, before); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.look() {
		if c.Name == "stages" {
			t.Errorf("%+v", c)
		}
	}
}

// TestLookingTakesNoLock: a stage that starts during a check is not prevented from starting.
func TestLookingTakesNoLock(t *testing.T) {
	p := newPlace(t, piped)
	for _, s := range p.stages() {
		lock, err := p.home.TryLock(s.Lock)
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	looked := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				looked <- n
				return
			default:
				p.look()
				n++
			}
		}
	}()
	for range 2000 {
		lock, err := p.home.TryLock("locks/dispatch")
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-looked
}

func eventLine(seq int, at time.Time) string {
	return fmt.Sprintf(`{"seq":%d,"platform":"local","create_time":%q}`+"\n", seq, at.Format(time.RFC3339))
}

func TestLag(t *testing.T) {
	first := eventLine(0, noon.Add(-time.Hour))
	second := eventLine(len(first), noon.Add(-20*time.Second))
	third := eventLine(len(first)+len(second), noon.Add(-time.Second))
	for _, tt := range []struct {
		name, classified, mark string
		check, status, message string
	}{
		{"none", first + second + third, fmt.Sprintf(`{"seq":%d}`, len(first)+len(second)),
			"lag tri-classify", OK, "none"},
		{"none", first + second + third, fmt.Sprintf(`{"seq":%d}`, len(first)+len(second)),
			"lag tri-dispatch", OK, "none"},
		{"a second", first + second, "", "lag tri-classify", OK, "1 s ago"},
		{"late", first, `{"seq":0}`, "lag tri-classify", Warn, "20 s ago"},
		{"late, not dispatch's fault", first, `{"seq":0}`, "lag tri-dispatch", OK, "none"},
		{"stuck", "", "", "lag tri-classify", Fail, "60 B"},
		{"dispatch stuck", first + second, `{"seq":-1}`, "lag tri-dispatch", Fail, "ago"},
		{"no mark", first + second, "", "lag tri-dispatch", Fail, "ago"},
		{"broken mark", first, "{", "lag tri-dispatch", Fail, "dispatch.json"},
		{"another log", eventLine(5, noon), "", "lag tri-classify", Fail, "cut or replaced"},
	} {
		p := newPlace(t, "")
		p.write(eventsName, first+second+third)
		p.write(classifiedName, tt.classified)
		if tt.mark != "" {
			p.write(markName, tt.mark)
		}
		message := tt.message
		if tt.name == "stuck" {
			message = "behind, the first message of 1 h ago"
		}
		want(t, p.look(), tt.check, tt.status, message)
	}
}

func TestClockBehindTheLog(t *testing.T) {
	p := newPlace(t, "")
	p.write(eventsName, eventLine(0, noon.Add(time.Hour)))
	want(t, p.look(), "clock", Warn, "1 h ahead")
}

func TestThreadsAndPosts(t *testing.T) {
	p := newPlace(t, "")
	save := func(key, status string, age time.Duration) {
		th := &thread.Thread{Key: key, Status: status,
			StatusHistory: []thread.Change{{At: noon.Add(-age).Format(time.RFC3339), To: status}}}
		if err := th.Save(p.home); err != nil {
			t.Fatal(err)
		}
	}
	save("local.dev.1", thread.PendingUser, 99*time.Hour)
	save("local.dev.2", thread.Investigating, time.Minute)
	want(t, p.look(), "threads", OK, "1 wait for a person, 1 are being worked on")
	save("local.dev.3", thread.AwaitingValidation, time.Hour)
	want(t, p.look(), "threads", Fail, "local.dev.3")
	p.write("open/local.dev.4.json", "{")
	want(t, p.look(), "threads", Fail, "local.dev.4")

	want(t, p.look(), "posts", OK, "none parked")
	sha := decision.Sum("x")
	e := &outbox.Entry{ID: outbox.ID("local.dev.1", 1, sha, 1), Key: "local.dev.1", Cycle: 1,
		DraftSHA256: sha, Part: 1, Parts: 1, State: outbox.Parked, Why: "no answer"}
	if err := e.Save(p.home); err != nil {
		t.Fatal(err)
	}
	want(t, p.look(), "posts", Fail, "no answer")

	if _, err := decision.Append(p.home, decision.Record{Kind: decision.Dismiss,
		At: noon.Format(time.RFC3339), By: "a", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	want(t, p.look(), "decisions", OK, "1 records")
	p.write(decision.LogName, `{"n":2}`+"\n")
	want(t, p.look(), "decisions", Fail, "")
}

func TestPrintKeepsItsShape(t *testing.T) {
	var b strings.Builder
	checks := []Check{{"config", Fail, "a:1: x\na:2: \x1b[2Jy", "mend\tit"}, {"home", OK, "/h", ""}}
	if err := Print(&b, checks); err != nil {
		t.Fatal(err)
	}
	want := "fail  config  a:1: x\n              a:2: <U+001B>[2Jy\n              → mend it\nok    home    /h\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// TestToolServers: a tool whose program is missing fails, and one whose variable is not set is reported.
func TestToolServers(t *testing.T) {
	t.Setenv("HEALTH_TEST_KEY", "key")
	checks := newPlace(t, `mcp_servers:
- {name: good, env: [HEALTH_TEST_KEY], commands: [{name: find, description: d, argv: [sh]}]}
- {name: gone, commands: [{name: find, description: d, argv: [sh]}, {name: search, description: d, argv: [/nonexistent/x]}]}
- {name: far, url: "https://x", token_env: HEALTH_TEST_NONE, tools: [a]}
`).look()
	want(t, checks, "tools good", OK, "find")
	want(t, checks, "tools gone", Fail, "/nonexistent/x")
	want(t, checks, "tools far", Warn, "$HEALTH_TEST_NONE is not set")
}
