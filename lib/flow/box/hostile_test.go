package box

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// TestHostileTasks: whatever a task says, it makes a run with a name of our own
// alphabet, and nothing anywhere else.
func TestHostileTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and alone: make check has it without the race detector")
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // no disk to wait for, 600 times over
	}
	b := newBench(t)
	outside := filepath.Dir(b.dir)
	before := b.tree()
	tasks := append(hostile(t), "../../../"+outside+"/pwned", "$(touch "+outside+"/pwned)",
		"`touch "+outside+"/pwned`", "--help", "-x\x00y", "a\nstatus: DONE", strings.Repeat("x", MaxTask))
	x := b.open()
	x.Say = func(string, ...any) {}
	n := 0
	b.agent.play = func(_ context.Context, task agent.Task) (agent.Result, error) {
		return agent.Result{Text: task.Question}, nil // an agent that repeats it
	}
	for _, task := range tasks {
		r, err := x.Start(context.Background(), Request{Type: Scout, Task: task})
		if task == "-" || strings.TrimSpace(task) == "" {
			continue
		}
		n++
		if err != nil || !runName.MatchString(r.Meta.RunName) ||
			r.Meta.Task != strings.ToValidUTF8(task, "\ufffd") {
			t.Errorf("%.60q: %v", task, err)
		}
	}
	if n < 500 {
		t.Errorf("only %d tasks", n)
	}
	if got := b.tree(); got != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, got)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside the checkout: %v, %v", entries, err)
	}
	for _, page := range []string{"INDEX.md", "INDEX.jsonl"} {
		text := b.read(Folder + "/" + page)
		if strings.ContainsAny(text, "\x1b\x07\x00") ||
			page == "INDEX.md" && strings.Contains(text, "\u202e") {
			t.Errorf("%s has control characters", page)
		}
		if page == "INDEX.md" && strings.Count(text, "\n") != maxIndexed+4 {
			t.Errorf("%s has %d lines", page, strings.Count(text, "\n"))
		}
	}
	if err := x.List(0); err != nil || strings.ContainsAny(b.out.String(), "\x1b\x07\u202e") {
		t.Errorf("list: %v", err)
	}
}

// hostile is what people have collected to break programs with.
func hostile(t *testing.T) []string {
	t.Helper()
	dir := "../../../../shared/data/hostile/text"
	var all []string
	for _, name := range []string{"blns.json", "bipia_text_attack_train.json",
		"bipia_code_attack_train.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("left out: the hostile texts are not here")
		}
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, texts(v)...)
	}
	return all
}

func texts(v any) []string {
	var all []string
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for k, e := range v {
			all = append(append(all, k), texts(e)...)
		}
	}
	return all
}

// TestBroughtByTheRepository: a box that a repository contains is neither read nor changed, whatever its
// files are; once they are untracked it is the caller's own.
func TestBroughtByTheRepository(t *testing.T) {
	b := newBench(t)
	b.agent.play = change
	name := b.start(Fix, "make it six").Meta.RunName
	patch := ".agents/runs/" + name + "/changes.patch"
	b.write(patch, strings.ReplaceAll(b.read(patch), "= 6", "= 666"))
	b.write(".agents/trees/x", "") // else git takes the worktree for a submodule
	for _, brought := range []string{patch, ".agents/INDEX.jsonl", ".agents/trees/x", ".agents/latest"} {
		b.git("add", "-f", brought)
		b.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", brought)
		clone := filepath.Join(t.TempDir(), "clone")
		b.git("clone", "-q", ".", clone)
		for _, existing := range []bool{false, true} {
			x, err := Open(context.Background(), clone, Box{Config: b.cfg, Say: t.Logf, Existing: existing})
			if status(err) != sysexit.NoPerm || !strings.Contains(err.Error(), brought) {
				t.Errorf("%s: %v, %v", brought, x, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(clone, ".agents/.gitignore")); err == nil {
			t.Errorf("%s: the folder was changed", brought)
		}
		b.git("rm", "-q", "--cached", brought)
	}
	if s, err := b.open().State(name); err != nil || s.Status != run.Review {
		t.Errorf("its own runs: %+v, %v", s, err)
	}
}

// TestReadOnlyHome: gc removes the home of a program that made folders of it read-only, as Go makes its
// module cache.
func TestReadOnlyHome(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may remove what is in them")
	}
	b := newBench(t)
	b.agent.play = func(ctx context.Context, task agent.Task) (agent.Result, error) {
		cache := filepath.Join(task.Dir, "home", "go", "pkg", "mod", "m@v1")
		if err := errors.Join(os.MkdirAll(cache, 0o700),
			os.WriteFile(filepath.Join(cache, "go.mod"), nil, 0o400), os.Chmod(cache, 0o500)); err != nil {
			return agent.Result{}, err
		}
		return says("done")(ctx, task)
	}
	r := b.start(Scout, "build it")
	if err := b.open().GC(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "raw", "home")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its home is still there: %v", err)
	}
}

// TestHomeOfTests: gc removes the home of a fix's tests, where a compiler keeps its cache, not their output.
func TestHomeOfTests(t *testing.T) {
	b := newBench(t)
	b.cfg.Box.FixTest = []string{"sh", "-c", "mkdir $HOME/.cache; echo fits"}
	b.agent.play = change
	r := b.start(Fix, "make it six")
	if err := b.open().GC(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, testDir, "home")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("their home is still there: %v", err)
	}
	if got := b.read(Folder + "/runs/" + r.Meta.RunName + "/" + testDir + "/output.txt"); got != "fits\n" {
		t.Errorf("their output is %q", got)
	}
}

func TestSlug(t *testing.T) {
	for task, want := range map[string]string{
		"why is db latency high?": "why-is-db-latency-high", "../../etc/passwd": "etc-passwd", "修复登录": "task",
		"-": "task", "": "task",
		"A.B:C": "a-b-c", strings.Repeat("long ", 30): "long-long-long-long-long-long-long-long",
		strings.Repeat("x", 99): strings.Repeat("x", 40),
		"\x00\xff\u202e":        "task", "ſK": "k",
	} {
		if got := slug(task); got != want {
			t.Errorf("%.20q: %q, want %q", task, got, want)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("fix ../../x")
	f.Fuzz(func(t *testing.T, task string) {
		if s := slug(task); !runName.MatchString("26-01-02_0304__"+s+"__abcdef") || len(s) > maxSlug {
			t.Errorf("%q makes %q", task, s)
		}
	})
}

func TestParseEnv(t *testing.T) {
	got, err := parseEnv("# x\nexport A=1\nB = \"two words\"\n\nC='$(x)'\nLD_PRELOAD=x\n",
		[]string{"A", "B", "C", "D"})
	if err != nil || strings.Join(got, "|") != "A=1|B=two words|C=$(x)" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"A", "1A=2", "A=\x00"} {
		if env, err := parseEnv(bad, []string{"A"}); err == nil {
			t.Errorf("%q gives %q", bad, env)
		}
	}
}
