package setup

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/schemas"
)

func home(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestWriteIsReadBack(t *testing.T) {
	for _, a := range []Answers{
		{Platform: "local", Approvers: []string{"ana"}},
		{Platform: "local", LocalDir: "rooms", Codebases: []string{"src"},
			Approvers: []string{"o: #x", "- y", "'z\""}, Language: "no", Agent: "claude"},
		{Platform: "mattermost", MattermostURL: "https://chat.example.test", Chats: []string{"c1", "123"},
			Approvers: []string{"off", "123", "null"}},
	} {
		h := home(t)
		at := Around{Home: h.Dir(), Dir: t.TempDir(), User: "ben"}
		err := errors.Join(os.Mkdir(filepath.Join(at.Dir, "src"), 0o700), complete(&a, at, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Begin(h, a, at, false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(c.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if !slices.Equal(c.Team.Approvers, a.Approvers) || c.Team.Language != a.Language ||
			c.Investigator.Agent != a.Agent || c.Sandbox != "required" {
			t.Errorf("%+v came back as %+v", a, c)
		}
		if len(c.WatchedChats) != len(a.Chats) || c.Chat.Mattermost.URL != a.MattermostURL ||
			c.Chat.Local.Dir != a.LocalDir {
			t.Errorf("%+v came back as %+v", a, c)
		}
		if len(a.Codebases) > 0 && c.CodebaseFor(a.Platform, "x") != filepath.Join(at.Dir, "src") {
			t.Errorf("codebase %q", c.CodebaseFor(a.Platform, "x"))
		}
	}
}

var said = regexp.MustCompile(`(?m)^( *)# ( *(?:- )?[a-z_]+:(?: .*)?)$`)

// TestWhatIsCommentedHolds: the file names every key, and removing a # gives a valid configuration.
func TestWhatIsCommentedHolds(t *testing.T) {
	for _, platform := range []string{"local", "mattermost"} {
		a := Answers{Platform: platform, MattermostURL: "https://chat.example.test",
			Approvers: []string{"ana"}}
		if err := complete(&a, Around{Home: "/h", Dir: t.TempDir(), User: "ana"}, nil, nil); err != nil {
			t.Fatal(err)
		}
		page, _, err := render("/h/config.yaml", a)
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		var open []string
		for line := range strings.Lines(string(page)) {
			line = said.ReplaceAllString(strings.TrimSuffix(line, "\n"), "$1$2")
			if name, _, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(name, " #") {
				if keys[name] {
					t.Errorf("%s: %s stands there twice", platform, name)
				}
				keys[name] = true
			}
			open = append(open, line)
		}
		if _, err := config.Parse("/h/config.yaml", []byte(strings.Join(open, "\n"))); err != nil {
			t.Errorf("%s: %v", platform, err)
		}
		text, err := schemas.Read("config")
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		for key := range schema.Properties {
			if key != "question_types" && !keys[key] {
				t.Errorf("%s: nothing says that there is %s", platform, key)
			}
		}
	}
}

func TestWriteReplacesOnlyByForce(t *testing.T) {
	h := home(t)
	a := Answers{Platform: "local", LocalDir: filepath.Join(h.Dir(), "chat"), Agent: "search", Language: "en",
		Approvers: []string{"ana"}}
	if err := os.WriteFile(h.Path(FileName), []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(h, a, Around{}, false, nil, nil); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("%v", err)
	}
	if got, _ := h.ReadFile(FileName); string(got) != "# mine\n" {
		t.Errorf("replaced by %q", got)
	}
	if _, err := Begin(h, a, Around{}, true, nil, nil); err != nil {
		t.Error(err)
	}
}

func TestWriteRefusesWhatCannotBeRead(t *testing.T) {
	h := home(t)
	for _, a := range []Answers{
		{Platform: "local", LocalDir: "x\ny: 1", Agent: "search", Language: "en"},
		{Platform: "mattermost", MattermostURL: "ftp://x", Agent: "search", Language: "en"},
		{Platform: "local", LocalDir: "x", Agent: "gpt", Language: "en"},
	} {
		_, err := Begin(h, a, Around{}, false, nil, nil)
		if status, _ := sysexit.Of(err); status != sysexit.Usage {
			t.Errorf("%+v: %v", a, err)
		}
		if h.Exists(FileName) {
			t.Error("a bad file was written")
		}
	}
}

func TestComplete(t *testing.T) {
	repo := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repo, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(repo, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := Around{Home: "/h", Dir: filepath.Join(repo, "sub"), User: "ben"}
	for _, tt := range []struct {
		name, in string
		given    Answers
		want     Answers
		status   int
	}{
		{"defaults", "", Answers{}, Answers{Platform: "local", LocalDir: "/h/chat", Codebases: []string{repo},
			Agent: "search", Approvers: []string{"ben"}, Language: "en"}, 0},
		{"empty lines are the defaults", "\n\n\n\n\n\n\n", Answers{},
			Answers{Platform: "local", LocalDir: "/h/chat", Codebases: []string{repo}, Agent: "search",
				Approvers: []string{"ben"}, Language: "en"}, 0},
		{"asked again", "pigeon\nmattermost\nhttps://m\na b\n/src\nclaude\nana ben\nid", Answers{},
			Answers{Platform: "mattermost", MattermostURL: "https://m", Chats: []string{"a", "b"},
				Codebases: []string{"/src"}, Agent: "claude", Approvers: []string{"ana", "ben"},
				Language: "id"}, 0},
		{"what is given is not asked", "/r\n\nana\n",
			Answers{Platform: "local", Codebases: []string{"../x"}, Language: "de"},
			Answers{Platform: "local", LocalDir: "/r", Codebases: []string{filepath.Join(repo, "x")},
				Agent: "search", Approvers: []string{"ana"}, Language: "de"}, 0},
		{"no end of answers", "local\n", Answers{}, Answers{}, sysexit.NoInput},
		{"no such platform", "", Answers{Platform: "matermost"}, Answers{}, sysexit.Usage},
		{"no address", "", Answers{Platform: "mattermost"}, Answers{}, sysexit.Usage},
		{"two of a name", "", Answers{Codebases: []string{"/a/x", "/b/x"}}, Answers{}, sysexit.Usage},
	} {
		a := tt.given
		var out strings.Builder
		var err error
		if tt.in == "" {
			err = complete(&a, at, nil, &out)
		} else {
			err = complete(&a, at, strings.NewReader(tt.in), &out)
		}
		if status, _ := sysexit.Of(err); status != tt.status {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if err == nil && !same(a, tt.want) {
			t.Errorf("%s: %+v, want %+v\n%s", tt.name, a, tt.want, out.String())
		}
	}
}

func same(a, b Answers) bool {
	return a.Platform == b.Platform && a.LocalDir == b.LocalDir && a.MattermostURL == b.MattermostURL &&
		slices.Equal(a.Chats, b.Chats) &&
		slices.Equal(a.Codebases, b.Codebases) && a.Agent == b.Agent &&
		slices.Equal(a.Approvers, b.Approvers) && a.Language == b.Language
}

// TestNext: the last line of tri init can be typed as it is: it fits a line of 80 columns, or is broken where
// a shell continues.
func TestNext(t *testing.T) {
	user := t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("TRI_USER", "ana")
	for _, tt := range []struct{ home, chat, code, want string }{
		{"~/.tri", "~/.tri/chat", "", "  # name a folder of code under codebases in ~/.tri/config.yaml, then\n" +
			"  tri up &&\n  tri-approve tui"},
		{"~/.tri", "~/.tri/chat", "/src",
			"  tri up && echo 'ana: where is main?' >>~/.tri/chat/dev && tri-approve tui"},
		{"/srv/a b", "~/my rooms", "/src", "  export TRI_HOME='/srv/a b' &&\n  tri up &&\n" +
			"  echo 'ana: where is main?' >>'~/my rooms/dev' &&\n  tri-approve tui"},
	} {
		at := func(name string) string { return strings.Replace(name, "~", user, 1) }
		_, cfg, err := render(filepath.Join(at(tt.home), FileName), Answers{Platform: "local", Agent: "search",
			LocalDir: at(tt.chat), Approvers: []string{"ana"}, Codebases: strings.Fields(tt.code), Language: "en"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("TRI_HOME", at(tt.home))
		got := Next(cfg)
		if want := strings.Replace(tt.want, "'~", "'"+user, 1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if out, err := exec.Command("bash", "-nc", got).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestFound: what this machine has is offered first: chats whose token is set, programs that are installed,
// and a repository in the current folder. Any agent that needs no more than its name may be typed.
func TestFound(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"codex", "cn"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "shop", ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("SLACK_BOT_TOKEN", "")
	t.Setenv("TELEGRAM_TOKEN", "x")
	at := Around{Home: "/h", Dir: dir, User: "ana"}
	for answer, status := range map[string]int{"": 0, "claude": 0, "continue": 0, "exec": sysexit.NoInput,
		"nobody": sysexit.NoInput} {
		a := Answers{Chats: []string{"1"}, Approvers: []string{"ana"}, Language: "en"}
		var out strings.Builder
		err := complete(&a, at, strings.NewReader("\n\n"+answer+"\n"), &out)
		if got, _ := sysexit.Of(err); got != status {
			t.Errorf("%q: %v", answer, err)
		}
		if err == nil && (a.Platform != "telegram" || a.Codebases[0] != filepath.Join(dir, "shop") ||
			a.Agent != cmp.Or(answer, "search")) {
			t.Errorf("%q: %+v", answer, a)
		}
		if !strings.Contains(out.String(), "to try tri with (telegram, local, ") ||
			!strings.Contains(out.String(), "no key (search, codex, continue) [search]: ") {
			t.Errorf("asked:\n%s", out.String())
		}
	}
}

// TestEmpty: a question without a default says what no answer means; a local chat has no ids to ask for.
func TestEmpty(t *testing.T) {
	a := Answers{}
	var out strings.Builder
	if err := complete(&a, Around{Home: "/h", Dir: "/nowhere", User: "ana"},
		strings.NewReader(strings.Repeat("\n", 7)), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "answers come from (empty: no question is investigated): ") ||
		strings.Contains(out.String(), "Ids of the chats") {
		t.Errorf("asked:\n%s", out.String())
	}
}

// TestAccount: a name of spaces does not count, so that a new home always has an approver.
func TestAccount(t *testing.T) {
	t.Setenv("TRI_USER", " ")
	for user, want := range map[string]string{" ben ": "ben", "ana": "ana"} {
		t.Setenv("USER", user)
		if got := account(); got != want {
			t.Errorf("USER=%q: %q", user, got)
		}
	}
	t.Setenv("USER", " ")
	h, err := durable.MakeHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	cfg, err := Begin(h, Answers{}, Around{Home: h.Dir(), Dir: t.TempDir()}, false, nil, nil)
	if err != nil || len(cfg.Team.Approvers) != 1 || !strings.Contains(Next(cfg), "export") {
		t.Fatalf("no approver, or no line to copy: %v", err)
	}
}
