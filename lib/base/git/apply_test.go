package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/sysexit"
)

// everything is one edit with each kind of step in it.
var everything = map[string]string{
	"README.md": "-", "README.md/now/a/folder": "x\n", "pay/retry.go": "package pay\n",
	"pay/a/b.go": "package a\n", "pay/log.go": "-",
	"logo.gif": "\x00", "deep": "-", "run.sh": "#!/bin/sh\necho\n", "no newline": "more",
}

var (
	everythingOnce  sync.Once
	everythingPatch []byte
	everythingAfter map[string]string
)

// fixed is a checkout, the patch of everything, and the files after it.
func fixed(t *testing.T) (r *Repo, base string, p *Patch, after map[string]string) {
	t.Helper()
	r, base = checkout(t, nil)
	everythingOnce.Do(func() {
		dir := grown(t, r, base)
		write(t, dir, everything)
		everythingPatch, everythingAfter = exported(t, r, dir, base).Patch, dropFolders(read(t, dir))
		if err := r.Remove(dir); err != nil {
			t.Fatal(err)
		}
	})
	return r, base, checked(t, everythingPatch, Rules{}), everythingAfter
}

func TestDrift(t *testing.T) {
	for name, tt := range map[string]struct {
		change        func(t *testing.T, r *Repo)
		moved, staged string
		dirty         string
		fits          bool
	}{
		"another file committed": {change: commitIn("other.txt", "x\n"), fits: true},
		"another file dirty":     {change: writeIn("other.txt", "x\n"), fits: true},
		"the file committed": {change: commitIn("pay/retry.go", "package other\n"),
			moved: "pay/retry.go"},
		"the deleted one gone":  {change: commitIn("pay/log.go", "-"), moved: "pay/log.go"},
		"the new one there":     {change: commitIn("pay/a/b.go", "mine\n"), moved: "pay/a/b.go"},
		"the file dirty":        {change: writeIn("pay/retry.go", "package mine\n"), dirty: "pay/retry.go"},
		"the deleted one dirty": {change: writeIn("pay/log.go", "package mine\n"), dirty: "pay/log.go"},
		"the file removed":      {change: writeIn("pay/retry.go", "-"), dirty: "pay/retry.go"},
		"the new one made":      {change: writeIn("pay/a/b.go", "mine\n"), dirty: "pay/a/b.go"},
		"the same one made":     {change: writeIn("pay/a/b.go", "package a\n"), dirty: "pay/a/b.go"},
		"a file in the way":     {change: writeIn("pay/a", "mine\n"), dirty: "pay/a/b.go"},
		"a link in the way":     {change: writeIn("pay/a", "->/tmp"), dirty: "pay/a/b.go"},
		"a link for the file":   {change: writeIn("pay/retry.go", "->log.go"), dirty: "pay/retry.go"},
		"the file staged": {change: func(t *testing.T, r *Repo) {
			writeIn("pay/retry.go", "package mine\n")(t, r)
			run(t, r.Root, "add", "-A")
			writeIn("pay/retry.go", start["pay/retry.go"])(t, r)
		}, staged: "pay/retry.go"},
	} {
		t.Run(name, func(t *testing.T) {
			r, base, p, _ := fixed(t)
			tt.change(t, r)
			before := read(t, r.Root)
			_, err := r.Apply(t.Context(), p, r.merge(base))
			if tt.fits {
				if err != nil {
					t.Error(err)
				}
				return
			}
			d := new(Drift)
			if !errors.As(err, &d) {
				t.Fatalf("got %v", err)
			}
			if got := []string{strings.Join(d.Moved, " "), strings.Join(d.Staged, " "),
				strings.Join(d.Dirty, " ")}; got[0] != tt.moved || got[1] != tt.staged || got[2] != tt.dirty {
				t.Errorf("moved, staged, dirty: %q", got)
			}
			if status, _ := sysexit.Of(err); status != sysexit.No || len(sysexit.Hints(err)) != 1 {
				t.Errorf("status %d, hints %q", status, sysexit.Hints(err))
			}
			if !maps.Equal(before, read(t, r.Root)) {
				t.Error("something was changed")
			}
			noJournal(t, r, base)
			id, err := r.Branch(t.Context(), p,
				Commit{Base: base, Branch: "tri/way-out", Message: "m", When: time.Unix(1e9, 0)})
			if err != nil || run(t, r.Root, "rev-parse", "tri/way-out^") != base {
				t.Errorf("the way out: %s, %v", id, err)
			}
		})
	}
}

func writeIn(name, text string) func(*testing.T, *Repo) {
	return func(t *testing.T, r *Repo) { write(t, r.Root, map[string]string{name: text}) }
}

func commitIn(name, text string) func(*testing.T, *Repo) {
	return func(t *testing.T, r *Repo) {
		writeIn(name, text)(t, r)
		run(t, r.Root, "add", "-A")
		run(t, r.Root, "commit", "-qm", "since")
	}
}

func noJournal(t *testing.T, r *Repo, base string) {
	t.Helper()
	if _, err := os.Lstat(r.merge(base).Journal); err == nil {
		t.Error("the journal stays behind")
	}
	if seals, err := filepath.Glob(r.gitDir + "/tri-merge-*"); err != nil || seals != nil {
		t.Errorf("the seal stays behind: %q, %v", seals, err)
	}
	empty(t, r.scratch)
}

func TestDryRunChangesNothing(t *testing.T) {
	r, base, p, _ := fixed(t)
	before := read(t, r.Root)
	m := r.merge(base)
	m.DryRun = true
	if stands, err := r.Stands(t.Context(), p, base); stands || err != nil {
		t.Errorf("stands before: %v, %v", stands, err)
	}
	a, err := r.Apply(t.Context(), p, m)
	if err != nil || len(a.Files) != 9 || !maps.Equal(before, read(t, r.Root)) {
		t.Errorf("%+v, %v", a, err)
	}
	noJournal(t, r, base)
}

// TestPermissionsStay: what a file's owner allowed is not changed with its text.
func TestPermissionsStay(t *testing.T) {
	r, base, p, _ := fixed(t)
	for name, perm := range map[string]os.FileMode{"pay/retry.go": 0o600, "run.sh": 0o750} {
		if err := os.Chmod(filepath.Join(r.Root, name), perm); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Apply(t.Context(), p, r.merge(base)); err != nil {
		t.Fatal(err)
	}
	if stands, err := r.Stands(t.Context(), p, base); !stands || err != nil {
		t.Errorf("stands: %v, %v", stands, err)
	}
	for name, perm := range map[string]os.FileMode{"pay/retry.go": 0o600, "run.sh": 0o640} {
		if info, err := os.Stat(filepath.Join(r.Root, name)); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// hurdle stops a merge before its n-th change of the checkout, or fails it.
type hurdle struct {
	*os.Root
	left int
	stop func() error
}

func (h *hurdle) jump(do func() error) error {
	if h.left--; h.left == 0 {
		if err := h.stop(); err != nil {
			return err
		}
	}
	return do()
}

func (h *hurdle) Rename(a, b string) error {
	return h.jump(func() error { return h.Root.Rename(a, b) })
}

func (h *hurdle) Remove(a string) error { return h.jump(func() error { return h.Root.Remove(a) }) }

func (h *hurdle) Mkdir(a string, m os.FileMode) error {
	return h.jump(func() error { return h.Root.Mkdir(a, m) })
}

// hurdled runs a merge with a hurdle and reports whether it was met.
func (r *Repo) hurdled(ctx context.Context, p *Patch, base string, n int,
	stop func() error) (met bool, err error) {
	j, err := r.journal(ctx, r.merge(base).Journal)
	if err != nil {
		return false, err
	}
	defer j.close()
	h := &hurdle{Root: j.root, left: n, stop: stop}
	j.fs = h
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = r.apply(ctx, j, p, r.merge(base), new(Applied))
	}()
	<-done
	return h.left <= 0, err
}

// TestFaultAtEveryStep: a disk that fails at any change leaves the checkout as it
// was.
func TestFaultAtEveryStep(t *testing.T) {
	r, base, p, after := fixed(t)
	before := dropFolders(read(t, r.Root))
	for n := 1; ; n++ {
		met, err := r.hurdled(t.Context(), p, base, n, func() error { return syscall.EIO })
		if !met {
			if err != nil || !maps.Equal(after, dropFolders(read(t, r.Root))) || n < 12 {
				t.Errorf("in the end, after %d: %v", n, err)
			}
			return
		}
		if status, _ := sysexit.Of(err); !errors.Is(err, syscall.EIO) || status != sysexit.IO {
			t.Errorf("step %d: %v", n, err)
		}
		if got := dropFolders(read(t, r.Root)); !maps.Equal(before, got) {
			t.Fatalf("step %d: left %q", n, got)
		}
		noJournal(t, r, base)
	}
}

// TestStopAtEveryStep: a merge that is interrupted at any change is recovered by the next one,
// which reports it and then does its work.
func TestStopAtEveryStep(t *testing.T) {
	for n := 1; ; n++ {
		r, base, p, after := fixed(t)
		before := dropFolders(read(t, r.Root))
		met, _ := r.hurdled(t.Context(), p, base, n, func() error {
			runtime.Goexit()
			return nil
		})
		if !met {
			return
		}
		if n%2 == 0 {
			m, err := r.Recover(t.Context(), r.merge(base).Journal)
			if err != nil || m == nil || m.Done {
				t.Fatalf("step %d: recovered %+v, %v", n, m, err)
			}
			if got := dropFolders(read(t, r.Root)); !maps.Equal(before, got) {
				t.Fatalf("step %d: recovered to %q", n, got)
			}
			noJournal(t, r, base)
		}
		a, err := r.Apply(t.Context(), p, r.merge(base))
		if err != nil || (a.Recovered == nil) != (n%2 == 0) {
			t.Fatalf("step %d: %+v, %v", n, a, err)
		}
		if got := dropFolders(read(t, r.Root)); !maps.Equal(after, got) {
			t.Fatalf("step %d: applied %q", n, got)
		}
	}
}

// TestMendSparesOthers: a file changed by a person after the interruption is not touched; it is
// reported, and both versions are kept.
func TestMendSparesOthers(t *testing.T) {
	r, base, p, _ := fixed(t)
	if _, err := r.hurdled(t.Context(), p, base, 9, func() error {
		runtime.Goexit()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	writeIn("pay/retry.go", "mine\n")(t, r)
	before := read(t, r.Root)
	_, err := r.Apply(t.Context(), p, r.merge(base))
	if err == nil || !strings.Contains(err.Error(), `"pay/retry.go"`) || len(sysexit.Hints(err)) == 0 ||
		!maps.Equal(before, read(t, r.Root)) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.merge(base).Journal, "old/pay/retry.go")); err != nil {
		t.Error(err)
	}
}

// TestForgedJournal: a journal that no merge in this checkout wrote changes nothing; nor does one that was
// sealed and whose paths, or whose own folder, lead through a link or into .git.
func TestForgedJournal(t *testing.T) {
	for name, tt := range map[string]struct {
		path, link, to string
		sealed         bool
	}{
		"no seal":      {path: "pay/more.go"},
		"a link":       {path: "link/hooks/pre-commit", link: "link", to: ".git", sealed: true},
		".git":         {path: ".git/hooks/pre-commit", sealed: true},
		".GIT":         {path: ".GIT/hooks/pre-commit", sealed: true},
		"the box":      {path: ".agents/latest", sealed: true},
		"out":          {path: "../out", sealed: true},
		"its own link": {path: "pay/more.go", link: ".agents/runs", to: "../elsewhere", sealed: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, base := checkout(t, nil)
			dir := r.merge(base).Journal
			write(t, r.Root, map[string]string{"elsewhere/x": ""})
			if tt.link != "" {
				write(t, r.Root, map[string]string{tt.link: "->" + tt.to})
			}
			id := run(t, r.Root, "hash-object", "pay/log.go")
			text := fmt.Sprintf(`{"steps": [{"path": %q, "old": {"mode": "100755", "id": %q}, "new": {}},
				{"path": "pay/retry.go", "old": {"mode": "100644", "id": %q}, "new": {}}]}`, tt.path, id,
				run(t, r.Root, "hash-object", "pay/retry.go"))
			write(t, dir, map[string]string{"journal.json": text,
				"old/" + tt.path + "+x": start["pay/log.go"]})
			j, err := r.journal(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if tt.sealed {
				err = j.bind([]byte(text))
			}
			if j.close(); err != nil {
				t.Fatal(err)
			}
			before := read(t, r.Root)
			if m, err := r.Recover(t.Context(), dir); err == nil {
				t.Errorf("recovered %+v", m)
			}
			_, err = os.Lstat(filepath.Join(r.Root, tt.path))
			if !maps.Equal(before, read(t, r.Root)) || err == nil {
				t.Error("something was changed")
			}
		})
	}
}

// TestTracked: a folder of the index is found in every spelling that some file system takes for it.
func TestTracked(t *testing.T) {
	for name, want := range map[string]bool{".agents": true, ".agents/x": true, ".AGENTS/x": true,
		".agent\u017f/x": true, ".agents./x": true, ".a\u200cgents/x": true,
		".agentsx/x": false, "a/.agents/x": false,
	} {
		r, _ := checkout(t, nil)
		write(t, r.Root, map[string]string{name: "x\n"})
		run(t, r.Root, "add", "-f", name)
		got, err := r.Tracked(t.Context(), ".agents")
		if err != nil || (got == name) != want || !want && got != "" {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestTwoMergesAtOnce(t *testing.T) {
	r, base, p, _ := fixed(t)
	lock, err := r.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Apply(t.Context(), p, r.merge(base))
	if status, _ := sysexit.Of(err); status != sysexit.TempFail {
		t.Errorf("got %v", err)
	}
	lock.Close()
	if _, err := r.Apply(t.Context(), p, r.merge(base)); err != nil {
		t.Error(err)
	}
}

func TestPatchThatLies(t *testing.T) {
	r, base, p, _ := fixed(t)
	q := *p
	q.Changes = q.Changes[1:] // as if the reader had been led past a file
	before := read(t, r.Root)
	if _, err := r.Apply(t.Context(), &q, r.merge(base)); err == nil ||
		!strings.Contains(err.Error(), "does not list") {
		t.Errorf("got %v", err)
	}
	if other := checked(t, []byte(file("pay/retry.go", "100644")), Rules{}); other != nil {
		if _, err := r.Apply(t.Context(), other, r.merge(base)); err == nil {
			t.Error("a patch of another commit was applied")
		}
	}
	if !maps.Equal(before, read(t, r.Root)) {
		t.Error("something was changed")
	}
	for _, name := range []string{"", "-x", "../x", "a b", "A", "refs//x", "x.lock/../y", "x/", "HEAD", "ö",
		strings.Repeat("x", 201)} {
		if _, err := r.Branch(t.Context(), p, Commit{Base: base, Branch: name, Message: "m"}); err == nil {
			t.Errorf("branch %q was made", name)
		}
	}
}
