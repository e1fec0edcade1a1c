package subcommand

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/sysexit"
)

func TestFind(t *testing.T) {
	bin := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tri-one": 0o755, "tri-two": 0o644, "other": 0o755,
		"tri-Bad_name": 0o755} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(bin, "tri-dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/no/such/folder")
	if got, err := Find("tri-one"); err != nil || got != filepath.Join(bin, "tri-one") {
		t.Errorf("%q, %v", got, err)
	}
	if names := names(); !slices.Equal(names, []string{"one"}) {
		t.Errorf("%q", names)
	}
	for name, hint := range map[string]string{
		"two": "tri help", "dir": "", "ones": `"one"`, "../one": "", "": "tri help", "-h": "tri help",
		"inti": `"init"`, "one\n": "",
	} {
		_, err := Find(prefix + name)
		if status, _ := sysexit.Of(err); status != sysexit.Usage ||
			!strings.Contains(strings.Join(sysexit.Hints(err), " "), hint) {
			t.Errorf("%q: %v, hints %q", name, err, sysexit.Hints(err))
		}
	}
}
