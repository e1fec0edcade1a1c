package git

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// large is a checkout of 5,000 files of 4 KiB and a worktree in which 20 are
// changed.
func large(b *testing.B) (r *Repo, dir, base string) {
	b.Helper()
	t := &testing.T{}
	root := b.TempDir()
	files := map[string]string{}
	for i := range 5000 {
		files[fmt.Sprintf("d%02d/s%d/f%d.go", i%50, i%7, i)] =
			strings.Repeat(fmt.Sprintf("line %d of a file\n", i), 200)
	}
	write(t, root, files)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		run(t, root, args...)
	}
	r, err := Open(b.Context(), root, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if base, err = r.Head(b.Context()); err != nil {
		b.Fatal(err)
	}
	dir = filepath.Join(r.Root, ".agents/trees/run1")
	if err := r.Create(b.Context(), dir, base); err != nil {
		b.Fatal(err)
	}
	for i := range 20 {
		write(t, dir, map[string]string{fmt.Sprintf("d%02d/s%d/f%d.go", i%50, i%7, i): "changed\n"})
	}
	return r, dir, base
}

func BenchmarkLarge(b *testing.B) {
	r, dir, base := large(b)
	x, err := r.Export(b.Context(), dir, base)
	if err != nil {
		b.Fatal(err)
	}
	p, err := Check(x.Patch, Rules{})
	if err != nil || len(p.Changes) != 20 {
		b.Fatal(err, len(p.Changes))
	}
	made := 0
	for name, work := range map[string]func() error{
		"create": func() error {
			made++
			return r.Create(b.Context(), fmt.Sprintf("%s-%d", dir, made), base)
		},
		"export": func() error { _, err := r.Export(b.Context(), dir, base); return err },
		"dry run": func() error {
			_, err := r.Apply(b.Context(), p,
				Merge{Base: base, Journal: filepath.Join(r.Root, ".agents/m"), DryRun: true})
			return err
		},
		"apply": func() error {
			_, err := r.Apply(b.Context(), p, Merge{Base: base, Journal: filepath.Join(r.Root, ".agents/m")})
			run(&testing.T{}, r.Root, "checkout", "-q", ".")
			return err
		},
		"branch": func() error {
			_, err := r.Branch(b.Context(), p,
				Commit{Base: base, Branch: "tri/x", Message: "m", When: time.Unix(1e9, 0)})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
