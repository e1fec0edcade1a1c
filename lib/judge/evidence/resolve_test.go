package evidence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"tri/lib/record/draft"
)

const retry = `package retry

import "time"

// MaxRetries is how often Fetch tries again.
const MaxRetries = 3

// Wait is the pause between two tries.
const Wait = 30 * time.Second

func Fetch(url string) error {
	for i := 0; i < MaxRetries; i++ {
		if err := get(url); err == nil {
			return nil
		}
		time.Sleep(Wait)
	}
	return errGone
}
`

// codebase makes a folder to cite from.
func codebase(t testing.TB) (dir string, root *os.Root) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "lib/retry.go", retry)
	write(t, dir, "lib/long.txt", strings.Repeat("filler\n", 60)+"the limit is forty two\n"+
		strings.Repeat("filler\n", 5))
	write(t, dir, "empty.txt", "")
	write(t, dir, "binary.dat", "a\x00b\n")
	write(t, dir, ".git/config", "[core]\n\tsecret = 1234567\n")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Place
		bad  string
	}{
		{"a/b.go", Place{"a/b.go", 0, 0}, ""},
		{"a/b.go:12", Place{"a/b.go", 12, 12}, ""},
		{"./a/b.go:12-20", Place{"a/b.go", 12, 20}, ""},
		{"a/b.go:12–20", Place{"a/b.go", 12, 20}, ""},
		{"a/b.go:12:5", Place{"a/b.go", 12, 12}, ""},
		{"a/b.go#L12", Place{"a/b.go", 12, 12}, ""},
		{"a/b.go#L12-L20", Place{"a/b.go", 12, 20}, ""},
		{"a/b.go#L12-20", Place{"a/b.go", 12, 20}, ""},
		{" a b.go:1 ", Place{"a b.go", 1, 1}, ""},
		{".gitignore:1", Place{".gitignore", 1, 1}, ""},
		{"a/b.go:9999999999", Place{"a/b.go:9999999999", 0, 0}, ""},
		{"", Place{}, "path:line"},
		{"a/b.go:0", Place{}, "cannot be"},
		{"a/b.go:20-12", Place{}, "cannot be"},
		{"/etc/passwd:1", Place{}, "absolute"},
		{"../x:1", Place{}, ".."},
		{"a/../../x:1", Place{}, ".."},
		{"a/..:1", Place{}, ".."},
		{".git/config:2", Place{}, ".git"},
		{"sub/.GIT/config", Place{}, ".git"},
		{".git./config", Place{}, ".git"},
		{"a\x00b:1", Place{}, "control"},
		{"a\nb:1", Place{}, ""},
		{"a\x1b[2J:1", Place{}, "control"},
	} {
		got, err := Parse(c.in)
		if c.in == "a\nb:1" {
			if err == nil {
				t.Errorf("%q was taken", c.in)
			}
			continue
		}
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("Parse(%q): %v, want %q", c.in, err, c.bad)
			}
		} else if err != nil || got != c.want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", c.in, got, err, c.want)
		}
	}
}

func TestResolve(t *testing.T) {
	_, root := codebase(t)
	for _, c := range []struct {
		name             string
		ref, quote, says string
		want             string
		note             string
		drift            int
	}{
		{"quote at the line", "lib/retry.go:6", "const MaxRetries = 3", "`MaxRetries` is 3", Supports, "", 0},
		{"quote with other white space", "lib/retry.go:12-14",
			"for i := 0;   i < MaxRetries; i++ {\nif err := get(url); err == nil {",
			"it loops over `MaxRetries`", Supports, "", 0},
		{"quote with line numbers", "lib/retry.go:6", "     6\tconst MaxRetries = 3", "is 3",
			Supports, "", 0},
		{"quote with lines left out", "lib/retry.go:11-17",
			"func Fetch(url string) error {\n...\n\ttime.Sleep(Wait)", "`Fetch` sleeps", Supports, "", 0},
		{"quote a little off", "lib/retry.go:2", "const MaxRetries = 3", "`MaxRetries` is 3", Supports,
			"line 6, 4 lines", 4},
		{"quote far off", "lib/long.txt:2", "the limit is forty two", "", Contradicts, "at line 61", 59},
		{"quote, whole file", "lib/retry.go", "const MaxRetries = 3", "`MaxRetries` is 3", Supports, "", 0},
		{"quote made up", "lib/retry.go:6", "const MaxRetries = 5", "", Fabricated, "nowhere", 0},
		{"quote cut in a number", "lib/retry.go:9", "const Wait = 3", "", Fabricated, "nowhere", 0},
		{"quote cut in a word", "lib/retry.go:6", "const MaxRetr", "", Fabricated, "nowhere", 0},
		{"right quote, wrong number", "lib/retry.go:6", "const MaxRetries = 3", "gives up after 7 tries",
			Uncheckable, `"7"`, 0},
		{"right quote, name from elsewhere in the file", "lib/retry.go:9", "const Wait = 30 * time.Second",
			"`Fetch` waits 30 seconds", Uncheckable, `do not hold "Fetch"`, 0},
		{"the name is in the cited lines, beside the quote", "lib/retry.go:9-11",
			"const Wait = 30 * time.Second", "`Fetch` waits 30 seconds", Supports, "", 0},
		{"right quote, invented name", "lib/retry.go:9", "const Wait = 30 * time.Second", "`Backoff` waits",
			Uncheckable, `"Backoff"`, 0},
		{"a brace is no quote", "lib/retry.go:6", "}", "`Backoff` is here", Uncheckable, `"Backoff"`, 0},

		{"claim's words at the lines", "lib/retry.go:6", "", "`MaxRetries` is 3", Supports, "", 0},
		{"claim's words beside the lines", "lib/retry.go:3", "", "MaxRetries is 3", Uncheckable,
			`do not hold "MaxRetries"`, 0},
		{"claim's words elsewhere", "lib/retry.go:18", "", "`MaxRetries` is 3", Uncheckable,
			`"3"`, 0},
		{"a name that is elsewhere in the file", "lib/retry.go:18", "", "`MaxRetries` is read here",
			Uncheckable, `do not hold "MaxRetries"`, 0},
		{"a figure that any code has", "lib/retry.go:16", "time.Sleep(Wait)",
			"it calls `Sleep` with `Wait`, 2 times", Uncheckable, `do not hold "2"`, 0},
		{"a unit that is not in the lines", "lib/retry.go:6", "const MaxRetries = 3",
			"`MaxRetries` is 3% of all calls", Uncheckable, `do not hold "3%"`, 0},
		{"a count that is not in the lines", "lib/retry.go:6", "const MaxRetries = 3",
			"Four names have `MaxRetries`", Uncheckable, `do not hold "Four"`, 0},
		{"claim's number is wrong", "lib/retry.go:6", "", "`MaxRetries` is 5", Contradicts,
			"says 5, lib/retry.go:6 has 3", 0},
		{"claim in a word", "lib/retry.go:6", "", "`MaxRetries` is three", Supports, "", 0},
		{"another subject", "lib/retry.go:6", "const MaxRetries = 3", "The moon decides about retries",
			Uncheckable, "not \"moon\"", 0},
		{"a quote alone", "lib/retry.go:6", "const MaxRetries = 3", "", Uncheckable,
			"not about the claim", 0},
		{"nothing to check", "lib/retry.go:6", "", "retries are limited", Uncheckable, "", 0},
		{"empty line", "lib/retry.go:4", "", "retries are limited", Contradicts, "empty", 0},
		{"whole file, nothing quoted", "lib/retry.go", "", "`MaxRetries` is 3", Uncheckable, "", 0},

		{"no such file", "lib/retry2.go:6", "", "x", Fabricated, "no such file", 0},
		{"a file is no folder", "lib/retry.go/x.go:6", "", "x", Fabricated, "no such file", 0},
		{"a folder", "lib", "", "x", Fabricated, "regular", 0},
		{"beyond the end", "lib/retry.go:20", "", "x", Fabricated, "the file has 19", 0},
		{"end beyond the end", "lib/retry.go:18-25", "", "return", Fabricated, "the file has 19", 0},
		{"far beyond the end, with a quote", "lib/retry.go:9999", "const MaxRetries = 3", "", Fabricated,
			"the file has 19", 0},
		{"end beyond the end, with a quote", "lib/retry.go:3-9999", "const MaxRetries = 3", "`MaxRetries` is 3",
			Fabricated, "line 9999 is cited, the file has 19", 0},
		{"empty file", "empty.txt:1", "", "x", Fabricated, "the file has 0", 0},
		{"binary", "binary.dat:1", "", "x", Fabricated, "binary", 0},
		{"git's own", ".git/config:2", "secret = 1234567", "", Fabricated, ".git", 0},
		{"absolute", "/etc/passwd:1", "", "", Fabricated, "absolute", 0},
		{"too long a path", strings.Repeat("a", 400) + ":1", "", "", Fabricated, "no such file", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Resolve(root, Repo{}, draft.Ref{Kind: draft.KindFile, Ref: c.ref, Quote: c.quote,
				SupportsClaim: c.says})
			if f.Result != c.want || !strings.Contains(f.Note, c.note) || f.Drift != c.drift {
				t.Errorf("got %s %q drift %d, want %s %q %d", f.Result, f.Note, f.Drift, c.want,
					c.note, c.drift)
			}
			if f.Note == "" {
				t.Error("no note")
			}
		})
	}
	for _, kind := range []string{draft.KindLogQuery, draft.KindExternalDoc, draft.KindMemory,
		draft.KindTriageFile} {
		if f := Resolve(root, Repo{}, draft.Ref{Kind: kind, Ref: "lib/retry.go:6",
			SupportsClaim: "x"}); f.Result != Uncheckable {
			t.Errorf("%s: %v", kind, f)
		}
	}
}

// TestResolveHostileFiles: anything but a regular file inside the codebase is refused with a specific
// error, and nothing blocks: a FIFO without a writer would, forever.
func TestResolveHostileFiles(t *testing.T) {
	dir, root := codebase(t)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("the secret of the house\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"inside": "lib/retry.go", "lib/up": "../lib/retry.go", "out": outside,
		"out2": "../../../../../../../../" + outside,
		"git":  ".git", "gitfile": ".git/config", "loop": "loop", "tty": "/dev/zero", "tofifo": "fifo",
		"gone": "nothing",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	huge, err := os.Create(filepath.Join(dir, "huge.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(MaxFile + 1); err != nil {
		t.Fatal(err)
	}
	huge.Close()
	for _, c := range []struct{ ref, want, note string }{
		{"inside:6", Supports, ""}, {"lib/up:6", Supports, ""},
		{"out:1", Fabricated, "leads out"}, {"out2:1", Fabricated, "leads out"},
		{"tty:1", Fabricated, "leads out"},
		{"git/config:2", Fabricated, ".git"}, {"gitfile:2", Fabricated, ".git"},
		{"loop:1", Fabricated, "too many"}, {"gone:1", Fabricated, "no such file"},
		{"fifo:1", Fabricated, "regular"}, {"tofifo:1", Fabricated, "regular"},
		{"huge.txt:1", Fabricated, "bytes"},
	} {
		done := make(chan Finding, 1)
		go func() {
			done <- Resolve(root, Repo{},
				draft.Ref{Kind: draft.KindFile, Ref: c.ref, SupportsClaim: "`MaxRetries` is 3"})
		}()
		select {
		case f := <-done:
			if f.Result != c.want || !strings.Contains(f.Note, c.note) || strings.Contains(f.Text, "secret") {
				t.Errorf("%s: %+v, want %s %q", c.ref, f, c.want, c.note)
			}
		case <-time.After(time.Minute): // patience, spent on failure only
			t.Fatalf("%s blocks", c.ref)
		}
	}
}

// TestFabricated makes many references, each wrong in one way, all of which must be caught; and as many
// correct ones, which must be confirmed.
func TestFabricated(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and alone: make check has it without the race detector")
	}
	_, root := codebase(t)
	rng := rand.New(rand.NewPCG(1, 2))
	lines := split([]byte(retry))
	for i := range 3000 {
		n := rng.IntN(len(lines))
		if !says(lines[n]) {
			continue
		}
		good := draft.Ref{Kind: draft.KindFile, Ref: fmt.Sprintf("lib/retry.go:%d", n+1), Quote: lines[n],
			SupportsClaim: strings.TrimSpace(lines[n])}
		if f := Resolve(root, Repo{}, good); f.Result != Supports {
			t.Fatalf("right one: %+v: %+v", good, f)
		}
		bad := good
		switch i % 4 {
		case 0:
			bad.Ref = fmt.Sprintf("lib/%c%d.go:%d", 'a'+rune(rng.IntN(26)), rng.IntN(99), n+1)
		case 1:
			bad.Ref = fmt.Sprintf("lib/retry.go:%d", len(lines)+1+rng.IntN(1000))
		case 2:
			at := rng.IntN(len(bad.Quote))
			for bad.Quote[at] == ' ' || bad.Quote[at] == '\t' {
				at = rng.IntN(len(bad.Quote))
			}
			bad.Quote = bad.Quote[:at] + "Q" + bad.Quote[at+1:]
		case 3:
			bad.SupportsClaim = fmt.Sprintf("`inventedName%d` is set there", rng.IntN(1000))
		}
		if f := Resolve(root, Repo{}, bad); f.Result != Fabricated && f.Result != Contradicts &&
			len(f.Lacks) == 0 {
			t.Fatalf("%+v: %+v", bad, f)
		}
	}
}

// git runs git as a developer would, to make histories.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git",
		append([]string{"-C", dir, "-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c",
			"commit.gpgsign=false"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func repository(t testing.TB) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "lib/retry.go", retry)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "retry: raise MaxRetries to 3")
	return dir, git(t, dir, "rev-parse", "HEAD")
}

func TestRepo(t *testing.T) {
	dir, commit := repository(t)
	repo, err := OpenRepo(filepath.Join(dir, "lib"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "lib"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if head, err := repo.Head(context.Background()); err != nil || head != commit {
		t.Errorf("Head: %q %v, want %q", head, err, commit)
	}
	for _, c := range []struct{ ref, quote, says, want string }{
		{commit, "", "`MaxRetries` was raised to 3", Supports},
		{commit[:10], "", "touches `retry.go`", Supports},
		{commit, "raise MaxRetries", "", Uncheckable},
		{commit, "raise MaxRetries", "it raises MaxRetries", Supports},
		{commit, "lower MaxRetries", "", Fabricated},
		{commit, "", "it fixed the outage", Uncheckable},
		{commit, "", "`Backoff` was raised", Uncheckable},
		{strings.Repeat("0", 40), "", "x", Fabricated},
		{"HEAD", "", "x", Fabricated},
		{"--help", "", "x", Fabricated},
		{"$(id)", "", "x", Fabricated},
	} {
		if f := Resolve(root, repo, draft.Ref{Kind: draft.KindGitCommit, Ref: c.ref, Quote: c.quote,
			SupportsClaim: c.says}); f.Result != c.want {
			t.Errorf("%+v: %+v", c, f)
		}
	}
	none, err := OpenRepo(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if head, err := none.Head(context.Background()); head != "" || err != nil {
		t.Errorf("no repository: %q %v", head, err)
	}
	if f := Resolve(root, none, draft.Ref{Kind: draft.KindGitCommit, Ref: commit}); f.Result != Uncheckable {
		t.Errorf("no repository: %+v", f)
	}
	if _, err := OpenRepo(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a folder that is not there was opened")
	}
}

// TestGitRunsNothing: a hostile repository's settings start no program.
func TestGitRunsNothing(t *testing.T) {
	dir, commit := repository(t)
	trap := filepath.Join(t.TempDir(), "sprung")
	script := filepath.Join(t.TempDir(), "trap")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+trap+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "pager.log", "diff.external", "core.sshCommand", "gpg.program",
		"core.editor",
		"diff.x.textconv", "diff.x.command", "filter.x.smudge", "filter.x.clean", "credential.helper",
		"alias.log", "core.alternateRefsCommand",
	} {
		git(t, dir, "config", key, script)
	}
	git(t, dir, "config", "log.showSignature", "true")
	write(t, dir, ".gitattributes", "* diff=x filter=x\n")
	write(t, dir, ".git/hooks/post-index-change", "#!/bin/sh\ntouch "+trap+"\n")
	t.Setenv("GIT_EXTERNAL_DIFF", script)
	t.Setenv("GIT_DIR", "/nonexistent")
	repo, err := OpenRepo(dir)
	if err != nil {
		t.Fatal(err)
	}
	if head, err := repo.Head(context.Background()); head != commit || err != nil {
		t.Errorf("Head: %q %v", head, err)
	}
	if _, ok, err := repo.commit(context.Background(), commit); !ok || err != nil {
		t.Errorf("commit: %v %v", ok, err)
	}
	if data, err := repo.blob(context.Background(), commit, "lib/retry.go"); err != nil ||
		string(data) != retry {
		t.Errorf("blob: %v", err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a program of the repository's settings ran")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a/b.go:12-20", "a#L1-L2", "../x", ".git/x", "a:1:2", "::::", "a:\u20131",
		"0:0:1:0", "./ a:1", "a:3/", "a#L5/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		if filepath.IsAbs(p.Path) || !filepath.IsLocal(p.Path) || p.Start < 0 || p.End < p.Start ||
			p.Start == 0 && p.End != 0 {
			t.Fatalf("%q: %+v", s, p)
		}
		again, err := Parse(p.String())
		if err != nil || again != p {
			t.Fatalf("%q: %+v, read again %+v %v", s, p, again, err)
		}
	})
}

// TestQuoteIsQuick: a file of nothing but beginnings of the quote.
func TestQuoteIsQuick(t *testing.T) {
	dir, root := codebase(t)
	write(t, dir, "same.txt", strings.Repeat("same same same same\n", MaxFile/20-1))
	start := time.Now()
	for _, quote := range []string{"same same", "same same\n...\nother",
		"same\n...\nsame same\n...\nnothing"} {
		Resolve(root, Repo{}, draft.Ref{Kind: draft.KindFile, Ref: "same.txt:9", Quote: quote})
	}
	if took := time.Since(start); took > 5*time.Minute { // what it guards against takes hours
		t.Errorf("it takes %v", took)
	} else {
		t.Log(took)
	}
}
