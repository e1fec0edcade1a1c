package git

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// crlf is a checkout in which git gives every text CRLF ends, the patch of an edit, a
// deletion and a new file, and the files before and after it.
func crlf(t *testing.T) (r *Repo, base string, p *Patch, before, after map[string]string) {
	t.Helper()
	r, base = checkout(t, nil)
	run(t, r.Root, "config", "core.autocrlf", "true")
	run(t, r.Root, "rm", "-q", "--cached", "-r", ".")
	run(t, r.Root, "reset", "-q", "--hard")
	before = dropFolders(read(t, r.Root))
	if !strings.Contains(before["pay/retry.go"], "\r\n") {
		t.Fatalf("git made %q", before["pay/retry.go"])
	}
	dir := grown(t, r, base)
	write(t, dir, map[string]string{"pay/retry.go": "package pay\n\nconst MaxRetries = 7\n",
		"pay/log.go": "-", "new.go": "package n\n"})
	p = checked(t, exported(t, r, dir, base).Patch, Rules{})
	if err := r.Remove(dir); err != nil {
		t.Fatal(err)
	}
	after = maps.Clone(before)
	after["pay/retry.go"], after["new.go"] = "package pay\r\n\r\nconst MaxRetries = 7\r\n", "package n\n"
	delete(after, "pay/log.go")
	return r, base, p, before, after
}

// TestCRLF: a patch is merged into files whose lines end in CRLF there, and they keep
// that; when the merge fails or stops at any change, every byte is put back.
func TestCRLF(t *testing.T) {
	for name, stop := range map[string]func() error{
		"fails": func() error { return syscall.EIO },
		"stops": func() error { runtime.Goexit(); return nil },
	} {
		r, base, p, before, after := crlf(t)
		for n := 1; ; n++ {
			met, err := r.hurdled(t.Context(), p, base, n, stop)
			if !met {
				if got := dropFolders(read(t, r.Root)); err != nil || !maps.Equal(after, got) || n < 4 {
					t.Errorf("%s: in the end, after %d: %v: %q, want %q", name, n, err, got, after)
				}
				break
			}
			if _, err := r.Recover(t.Context(), r.merge(base).Journal); err != nil {
				t.Fatal(err)
			}
			if got := dropFolders(read(t, r.Root)); !maps.Equal(before, got) {
				t.Fatalf("%s: step %d: left %q", name, n, got)
			}
		}
		if whole, err := r.Stands(t.Context(), p, base); err != nil || !whole {
			t.Errorf("%s: merged: %t, %v", name, whole, err)
		}
		if got := run(t, r.Root, "diff", "--stat"); !strings.Contains(got,
			"2 files changed, 1 insertion(+)") {
			t.Errorf("%s: git sees other changes: %s", name, got)
		}
	}
	// A single line with another line end is a change by a person.
	r, base, p, _, _ := crlf(t)
	write(t, r.Root, map[string]string{"pay/retry.go": "package pay\n\r\nconst MaxRetries = 5\r\n"})
	if drift := new(Drift); !errors.As(applied(t, r, p, base), &drift) || len(drift.Dirty) != 1 {
		t.Errorf("%+v", drift)
	}
}

func applied(t *testing.T, r *Repo, p *Patch, base string) error {
	t.Helper()
	_, err := r.Apply(t.Context(), p, r.merge(base))
	return err
}

// TestConverted: files converted by a filter, and files that a sparse checkout omits, are reported
// as such, not as a person's changes.
func TestConverted(t *testing.T) {
	edit := func(r *Repo, base string) *Patch {
		dir := grown(t, r, base)
		write(t, dir, map[string]string{"pay/retry.go": "package pay\n\nconst MaxRetries = 7\n"})
		return checked(t, exported(t, r, dir, base).Patch, Rules{})
	}
	r, base := checkout(t, map[string]string{".gitattributes": "*.go filter=rot\n"})
	p := edit(r, base)
	run(t, r.Root, "config", "filter.rot.smudge", "tr a-z n-za-m")
	run(t, r.Root, "config", "filter.rot.clean", "tr a-z n-za-m")
	if err := os.Remove(filepath.Join(r.Root, "pay/retry.go")); err != nil {
		t.Fatal(err)
	}
	run(t, r.Root, "checkout", "--", "pay/retry.go")
	if drift := new(Drift); !errors.As(applied(t, r, p, base), &drift) || len(drift.Filtered) != 1 ||
		len(drift.Dirty) > 0 ||
		!strings.Contains(drift.hint(), "merge --branch") {
		t.Errorf("filter: %+v", drift)
	}

	r, base = checkout(t, nil)
	p = edit(r, base)
	run(t, r.Root, "reset", "-q", "--hard") // the files are copies: git must look at them first
	run(t, r.Root, "sparse-checkout", "set", "deep")
	err := applied(t, r, p, base)
	if drift := new(Drift); !errors.As(err, &drift) || len(drift.Sparse) != 1 || len(drift.Dirty) > 0 {
		t.Errorf("sparse: %v", err)
	}
}
