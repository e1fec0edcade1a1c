package codesearch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/base/durable"
)

// large writes a folder that is worth an index on disk.
func large(t *testing.T) string {
	dir := t.TempDir()
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"a.go", "b.go"} {
		write(t, dir, name, "package x\n\n// flux in "+name+"\nvar flux = 1\n"+
			strings.Repeat("\n// some more words\nfunc more() {}\n", worthIt/30))
		if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func kept(t *testing.T, dir string, home *durable.Home) *Index {
	x := open(t, dir)
	x.Keep(home)
	return x
}

// TestKept: the second process reads the index and no file, and still sees what has changed meanwhile.
func TestKept(t *testing.T) {
	dir := large(t)
	home, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	first := kept(t, dir, home)
	want := search(t, first, "where is the flux?")
	if len(want) == 0 {
		t.Fatal("nothing found")
	}
	second := kept(t, dir, home)
	second.load()
	if second.base == nil || len(second.base.files) != 2 {
		t.Fatal("nothing was kept")
	}
	was := second.base
	if got := search(t, second, "where is the flux?"); !slices.Equal(got, want) || second.base != was {
		t.Errorf("from disk %v, before %v", got, want)
	}
	write(t, dir, "c.go", "package x\n\n// The gear.\nvar gear = 2\n")
	third := kept(t, dir, home)
	if got := search(t, third, "where is the gear?"); len(got) != 1 || third.extra == nil ||
		len(third.extra.files) != 1 {
		t.Errorf("a new file: %v", got)
	}
	if err := os.Remove(filepath.Join(dir, "b.go")); err != nil {
		t.Fatal(err)
	}
	for _, place := range search(t, kept(t, dir, home), "where is the flux?") {
		if strings.HasPrefix(place, "b.go") {
			t.Errorf("a file that is gone: %v", place)
		}
	}
}

// TestShared: processes that keep the same index at the same time, each changing the folder, do not
// disturb each other: all find what exists, and the index left on disk is intact.
func TestShared(t *testing.T) {
	dir, below := large(t), t.TempDir()
	want := search(t, open(t, dir), "where is the flux?")
	var all sync.WaitGroup
	for range 4 {
		home, err := durable.Open(below)
		if err != nil {
			t.Fatal(err)
		}
		x := kept(t, dir, home)
		all.Go(func() {
			for range 3 {
				found, err := x.Search(t.Context(), "where is the flux?", 8)
				if err != nil || len(found.Hits) != len(want) {
					t.Errorf("%d of %d places: %v", len(found.Hits), len(want), err)
				}
				x.mu.Lock()
				x.save()                   // while the others read and write it
				x.base, x.extra = nil, nil // and begin again, as the next process
				clear(x.known)
				x.mu.Unlock()
			}
		})
	}
	all.Wait()
	home, err := durable.Open(below)
	if err != nil {
		t.Fatal(err)
	}
	next := kept(t, dir, home)
	if next.load(); next.base == nil || len(next.base.files) != 2 {
		t.Fatal("what was kept is not whole")
	}
	if got := search(t, next, "where is the flux?"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDamaged: an index that was cut, changed or is of another version is rebuilt, and so is one that is a
// link.
func TestDamaged(t *testing.T) {
	dir := large(t)
	home, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := kept(t, dir, home)
	want := search(t, x, "where is the flux?")
	name := home.Path(x.name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for what, text := range map[string][]byte{"empty": {}, "cut": whole[:len(whole)/2], "flipped": flipped,
		"other": []byte("tri index 0\nrest")} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := search(t, kept(t, dir, home), "where is the flux?"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		if now, err := os.ReadFile(name); err != nil || !slices.Equal(now, whole) {
			t.Errorf("%s: the index was not made anew: %v", what, err)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "o")
	if err := os.WriteFile(outside, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, name); err != nil {
		t.Fatal(err)
	}
	y := kept(t, dir, home)
	if y.load(); y.base != nil {
		t.Error("a link was followed")
	}
}

// TestPrune: the folder of indexes holds few, and the oldest go.
func TestPrune(t *testing.T) {
	home, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range most + 3 {
		name := folder + "/" + string(rune('a'+i))
		if err := home.Replace(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-100) * time.Hour)
		if err := os.Chtimes(home.Path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	x := &Index{home: home}
	x.prune()
	names, err := home.List(folder)
	if err != nil || len(names) != most || names[0] != "d" {
		t.Errorf("%v, %v", names, err)
	}
}

func FuzzDecode(f *testing.F) {
	r := newReader()
	s := assemble([]entry{{path: "a.go", size: 9}},
		[][]span{r.read(0, "a.go", []byte("package a\n\n// Flux.\nfunc flux() {}\n"))}, []*reader{r})
	f.Add(s.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decode(b)
		if err != nil {
			return
		}
		for i := range s.ends {
			s.each(i, func(uint32, fields) {})
		}
	})
}
