package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const keyText = "the-key"

func isKey(text []byte) bool { return bytes.Contains(text, []byte(keyText)) }

func put(t testing.TB, file, text string, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// Settings with a key in them are covered from who only reads; code, tests and what
// has none are shown.
func TestHidesByContent(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, text := range map[string]string{
		"deploy/prod.yaml": "token: " + keyText, "notes": keyText, "app.json": keyText, "plain.yaml": "a: b",
		"client.go": keyText, "README.md": keyText,
		"testdata/a.yaml": keyText, "node_modules/x/a.yaml": keyText,
		"big.txt": keyText + string(make([]byte, maxSettings)), "binary": "\x00" + keyText,
		"a.env.example": keyText,
	} {
		put(t, filepath.Join(dir, name), text, time.Hour)
	}
	if err := os.Symlink("deploy/prod.yaml", filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, write := range []bool{false, true} {
		p, err := newPlan(Spec{Dir: dir, Write: write, Secret: isKey}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var hidden []string
		for _, e := range p.entries {
			if e.from == nothing {
				hidden = append(hidden, e.at[len(p.dir)+1:])
			}
		}
		want := []string{"app.json", "deploy/prod.yaml", "notes"}
		if write {
			want = nil
		}
		if !slices.Equal(hidden, want) {
			t.Errorf("write %v: hidden %q, want %q", write, hidden, want)
		}
	}
}

// A file is searched again only if it has changed; a file with a key in it is found each time.
func TestLooksOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var files []string
	for i := range fewSettings + 5 {
		name := fmt.Sprintf("d/%03d.yaml", i)
		files = append(files, name)
		put(t, filepath.Join(dir, name), "a: b", time.Hour)
	}
	put(t, filepath.Join(dir, "d/007.yaml"), keyText, time.Hour)
	put(t, filepath.Join(dir, "d/008.yaml"), "new", 0) // too new for its time to reveal a change
	read := 0
	look := func(want int, keys ...string) {
		t.Helper()
		read = 0
		found := holding(dir, files, func(text []byte) bool { read++; return isKey(text) })
		if !slices.Equal(found, keys) || read != want {
			t.Errorf("found %q in %d files read, want %q in %d", found, read, keys, want)
		}
	}
	look(len(files), "d/007.yaml")
	look(2, "d/007.yaml")
	put(t, filepath.Join(dir, "d/100.yaml"), keyText, 30*time.Minute)
	put(t, filepath.Join(dir, "d/007.yaml"), "gone", time.Hour)
	look(3, "d/100.yaml")
	// A replacement of the same size and time is another file.
	put(t, filepath.Join(dir, "d/other"), "x: y", time.Hour)
	info, err := os.Stat(filepath.Join(dir, "d/101.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "d/other"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "d/other"), filepath.Join(dir, "d/101.yaml")); err != nil {
		t.Fatal(err)
	}
	look(3, "d/100.yaml")
	// Foreign content of the cache is not trusted.
	kept, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "tri/clean/*"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	put(t, kept[0], "garbage\n1 2\n\n", 0)
	look(len(files), "d/100.yaml")
}

// BenchmarkHidePrivate is of a checkout with 5,000 settings among 30,000 files.
func BenchmarkHidePrivate(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	for i := range 30_000 {
		name := fmt.Sprintf("d%d/f%d.go", i/100, i)
		if i%6 == 0 {
			name = fmt.Sprintf("d%d/f%d.yaml", i/100, i)
		}
		put(b, filepath.Join(dir, name), string(bytes.Repeat([]byte("kind: Deployment\n"), 50)), time.Hour)
	}
	for name, secret := range map[string]func([]byte) bool{"by name": nil, "by content too": isKey} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := (&plan{dir: dir}).hidePrivate(Spec{Dir: dir, Secret: secret}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
