package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestAdopt: a session is copied whole, a link that the agent made leads nowhere, and what an interrupted
// try has left is gone.
func TestAdopt(t *testing.T) {
	from, to, out := t.TempDir(), t.TempDir(), t.TempDir()
	secret := filepath.Join(out, "secret")
	for name, text := range map[string]string{
		from + "/home/.claude/projects/x/s.jsonl": "said", from + "/session-usage.json": "{}",
		from + "/state.json": "its own",
		to + "/home/half.db": "left by a killed try", secret: "not for it",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"/home/login", "/session.json"} {
		if err := os.Symlink(secret, from+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(out, from+"/home/folder"); err != nil {
		t.Fatal(err)
	}
	if err := Adopt(from, to); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(to, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(name)
			rel, _ := filepath.Rel(to, name)
			got = append(got, rel+"="+string(text))
		}
		return err
	})
	if err != nil || len(got) != 2 || got[0] != "home/.claude/projects/x/s.jsonl=said" ||
		got[1] != "session-usage.json={}" {
		t.Errorf("%q, %v", got, err)
	}
	if err := Adopt(filepath.Join(out, "gone"), to); !errors.Is(err, ErrNoResume) {
		t.Error(err)
	}
	if err := os.WriteFile(from+"/home/big", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(from+"/home/big", maxAdopted+1); err != nil {
		t.Fatal(err)
	}
	if err := Adopt(from, to); !errors.Is(err, ErrNoResume) {
		t.Error(err)
	}
	if _, err := os.Stat(to + "/home"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("half a session is left")
	}
}
