package evidence

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func TestStamp(t *testing.T) {
	dir, commit := repository(t)
	repo, err := OpenRepo(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	forged := &draft.Receipt{Commit: "forged"}
	in := []draft.Ref{
		{Kind: draft.KindFile, Ref: "lib/retry.go:6", Receipt: forged},
		{Kind: draft.KindFile, Ref: "../lib/retry.go:6", Receipt: forged},
		{Kind: draft.KindFile, Ref: "lib/gone.go:6", Receipt: forged},
		{Kind: draft.KindLogQuery, Ref: "level=error", Receipt: forged},
		{Kind: draft.KindFile, Ref: "lib/retry.go"},
	}
	got := Stamp(root, repo, in, now)
	r := got[0].Receipt
	if r == nil || r.Commit != commit || r.SHA256 != text.SHA256(retry) ||
		r.Lines != text.SHA256("const MaxRetries = 3") || r.ReadAt != "2026-03-01T09:00:00Z" {
		t.Errorf("receipt: %+v", r)
	}
	for _, i := range []int{1, 2, 3} {
		if got[i].Receipt != nil {
			t.Errorf("%s has a receipt: %+v", got[i].Ref, got[i].Receipt)
		}
	}
	if got[4].Receipt == nil || got[4].Receipt.Lines != "" {
		t.Errorf("whole file: %+v", got[4].Receipt)
	}
	if in[0].Receipt != forged {
		t.Error("the caller's references were changed")
	}
}

func TestStillStands(t *testing.T) {
	for _, c := range []struct {
		name, ref, quote string
		edit             func(string) string // of the file; "" removes it
		ok               bool
		why              string
	}{
		{"unchanged", "lib/retry.go:6", "", func(s string) string { return s }, true, ""},
		{"changed elsewhere", "lib/retry.go:6", "", func(s string) string {
			return strings.Replace(s, "30", "60", 1)
		}, true, ""},
		{"moved down", "lib/retry.go:6", "", func(s string) string {
			return strings.Repeat("// more\n", 40) + s
		}, true, "line 46"},
		{"moved, with a quote", "lib/retry.go:5-6", "const MaxRetries = 3", func(s string) string {
			return "// more\n" + s
		}, true, ""},
		{"changed", "lib/retry.go:6", "", func(s string) string {
			return strings.Replace(s, "= 3", "= 5", 1)
		}, false, "no longer"},
		{"quote changed", "lib/retry.go:5-6", "const MaxRetries = 3", func(s string) string {
			return strings.Replace(s, "= 3", "= 5", 1)
		}, false, "no longer"},
		{"one of two lines changed", "lib/retry.go:5-6", "", func(s string) string {
			return strings.Replace(s, "how often", "as often as", 1)
		}, false, "no longer"},
		{"file removed", "lib/retry.go:6", "", func(string) string { return "" }, false, "no such file"},
		{"whole file changed", "lib/retry.go", "", func(s string) string {
			return s + "// more\n"
		}, false, "changed"},
		{"whole file unchanged", "lib/retry.go", "", func(s string) string { return s }, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, root := codebase(t)
			ref := Stamp(root, Repo{}, []draft.Ref{{Kind: draft.KindFile, Ref: c.ref, Quote: c.quote}},
				now)[0]
			if text := c.edit(retry); text != "" {
				write(t, dir, "lib/retry.go", text)
			} else if err := os.Remove(dir + "/lib/retry.go"); err != nil {
				t.Fatal(err)
			}
			ok, why, err := StillStands(root, Repo{}, ref)
			if err != nil {
				t.Fatal(err)
			}
			if ok != c.ok || !strings.Contains(why, c.why) {
				t.Errorf("got %v %q, want %v %q", ok, why, c.ok, c.why)
			}
		})
	}
	_, root := codebase(t)
	if ok, _, _ := StillStands(root, Repo{}, draft.Ref{Kind: draft.KindFile, Ref: "lib/retry.go:6"}); ok {
		t.Error("a reference without a receipt stands")
	}
}

// TestNotReadIsNotChanged: where a file cannot be looked at just now, nothing is
// said of it; an answer was taken back for that once.
func TestNotReadIsNotChanged(t *testing.T) {
	_, root := codebase(t)
	ref := Stamp(root, Repo{}, []draft.Ref{{Kind: draft.KindFile, Ref: "lib/retry.go:6"}}, now)[0]
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	_, why, err := StillStands(root, Repo{}, ref)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("%q, %v", why, err)
	}
}

// TestRightBytes: a citation is judged by the version that was read, not by a later one.
func TestRightBytes(t *testing.T) {
	dir, _ := repository(t)
	repo, err := OpenRepo(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ref := Stamp(root, repo,
		[]draft.Ref{{Kind: draft.KindFile, Ref: "lib/retry.go:6", Quote: "const MaxRetries = 3",
			SupportsClaim: "`MaxRetries` is 3"}}, now)[0]
	write(t, dir, "lib/retry.go", "package retry\n")
	if f := Resolve(root, repo, ref); f.Result != Supports || !strings.Contains(f.Note, "changed since") {
		t.Errorf("changed: %+v", f)
	}
	if err := os.Remove(dir + "/lib/retry.go"); err != nil {
		t.Fatal(err)
	}
	if f := Resolve(root, repo, ref); f.Result != Supports {
		t.Errorf("removed: %+v", f)
	}
	write(t, dir, "lib/retry.go", "package retry\n")
	ref.Receipt.SHA256 = strings.Repeat("0", 64) // of no version that there is
	if f := Resolve(root, repo, ref); f.Result != Fabricated {
		t.Errorf("forged receipt: %+v", f)
	}
	ref.Receipt.Commit = "--output=x"
	if f := Resolve(root, repo, ref); f.Result != Fabricated {
		t.Errorf("hostile commit: %+v", f)
	}
}
