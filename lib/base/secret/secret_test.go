package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

const value = "sk-ant-test/0123456789+abcdef="

func open(t *testing.T) (s *Store, key string) {
	t.Helper()
	h, err := durable.MakeHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	key = filepath.Join(t.TempDir(), "tri", "key")
	if s, err = Open(h, key); err != nil {
		t.Fatal(err)
	}
	return s, key
}

func set(t *testing.T, s *Store, name, value string) {
	t.Helper()
	if err := s.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

func TestKeeps(t *testing.T) {
	s, _ := open(t)
	if err := s.Set("a", Keep); err == nil {
		t.Error("*** kept what there was not")
	}
	set(t, s, "a", value)
	first, _ := s.home.ReadFile("secrets/a")
	set(t, s, "a", Keep)
	if got, err := s.Get("a"); got != value || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	set(t, s, "a", value) // with another nonce
	if again, _ := s.home.ReadFile("secrets/a"); bytes.Equal(first, again) {
		t.Error("the same bytes twice: the nonce is not random")
	}
	if _, err := s.Get("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no secret: %v", err)
	}
	if err := s.Remove("a"); err != nil || s.Has("a") {
		t.Errorf("remove: %v", err)
	}
}

// TestHomeAloneDecryptsNothing: no file of the home has the secret or the key, in any of five encodings.
func TestHomeAloneDecryptsNothing(t *testing.T) {
	s, key := open(t)
	set(t, s, "a", value)
	line, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, clear := range []string{value, strings.TrimSpace(string(line))} {
		for _, form := range []string{
			clear, base64.StdEncoding.EncodeToString([]byte(clear)),
			base64.RawURLEncoding.EncodeToString([]byte(clear)),
			hex.EncodeToString([]byte(clear)), url.QueryEscape(clear),
		} {
			err := filepath.WalkDir(s.home.Dir(), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				b, err := os.ReadFile(path)
				if strings.Contains(string(b), form) {
					t.Errorf("%s has it as %.8q…", path, form)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("a"); err == nil {
		t.Error("read without the key")
	}
	if err := s.Set("b", value); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("a second key beside the first one's secrets: %v", err)
	}
}

func TestRefuses(t *testing.T) {
	s, key := open(t)
	set(t, s, "a", value)
	set(t, s, "b", value+"2")
	b, _ := s.home.ReadFile("secrets/b")
	if err := s.home.Replace("secrets/a", b); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("a"); !errors.Is(err, durable.ErrChanged) {
		t.Errorf("the file of another name: %v", err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if err := s.home.Replace("secrets/b", bad); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get("b"); err == nil {
			t.Errorf("byte %d flipped: %q", i, got)
		}
	}
	if err := os.Chmod(key, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("a"); err == nil || !strings.Contains(err.Error(), "others can read") {
		t.Errorf("a key that others can read: %v", err)
	}
	for _, name := range []string{"", "../a", "a/b", ".a", strings.Repeat("a", 101)} {
		if err := s.Set(name, value); err == nil {
			t.Errorf("name %q", name)
		}
	}
	for _, v := range []string{"", " ", "a\nb", strings.Repeat("a", maxValue+1)} {
		if err := s.Set("c", v); err == nil {
			t.Errorf("value %.10q", v)
		}
	}
}

func TestWrongKeySaysSo(t *testing.T) {
	s, key := open(t)
	set(t, s, "a", value)
	other := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	if err := os.WriteFile(key, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get("a")
	if err == nil || !strings.Contains(err.Error(), "wrong key") || len(sysexit.Hints(err)) == 0 ||
		strings.Contains(err.Error(), other) {
		t.Errorf("%v", err)
	}
}

func TestKeyLiesOutside(t *testing.T) {
	s, _ := open(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.home.Dir(), link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{s.home.Path("key"), s.home.Path("a/b/key"), filepath.Join(link, "key")} {
		if _, err := Open(s.home, at); err == nil {
			t.Errorf("%s", at)
		}
	}
}
