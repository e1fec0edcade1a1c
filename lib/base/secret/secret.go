// Package secret keeps secrets below a home, one encrypted file each, with a key that lies outside of it.
// The cipher is AES-256-GCM with a random nonce of 96 bits; the secret's name is the additional data, so
// that a file under another name is refused. A copy of the home alone decrypts nothing.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

const (
	// Dir is the folder of the secrets below a home.
	Dir = "secrets"
	// Keep, as a value, leaves the secret as it is.
	Keep = "***"
	// maxValue is the maximum length of a secret, in bytes.
	maxValue = 16 << 10
)

var names = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// file is secrets/<name>.
type file struct {
	Cipher string `json:"cipher"` // AES-256-GCM
	KeyID  string `json:"key_id"` // the first 8 bytes of the key's SHA-256, in hex
	Nonce  []byte `json:"nonce"`
	Data   []byte `json:"data"` // with the tag
}

// Store is the secrets of a home.
type Store struct {
	home    *durable.Home
	keyFile string
}

// Open returns the secrets of a home. Their key is in keyFile; "" means DefaultKeyFile.
func Open(h *durable.Home, keyFile string) (*Store, error) {
	if keyFile == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil, sysexit.Errorf(sysexit.Config, "find key: %w", err)
		}
		keyFile = filepath.Join(dir, "tri", "key")
	}
	if h.Contains(keyFile) {
		return nil, sysexit.Errorf(sysexit.Config, "key %q: lies in the home, beside what it protects",
			keyFile)
	}
	return &Store{home: h, keyFile: keyFile}, nil
}

// Set encrypts a secret. The value Keep leaves the one that there is; it is an error if there is none.
func (s *Store) Set(name, value string) error {
	switch {
	case !names.MatchString(name):
		return sysexit.Errorf(sysexit.Usage,
			"secret %q: want letters, digits, dot, dash and underscore, at most 100", name)
	case value == Keep && s.home.Exists(Dir+"/"+name):
		return nil
	case value == Keep:
		return sysexit.Errorf(sysexit.NoInput, "secret %q: %s keeps what there is, and there is none", name,
			Keep)
	case strings.TrimSpace(value) == "" || len(value) > maxValue || strings.ContainsAny(value, "\r\n\x00"):
		return sysexit.Errorf(sysexit.Data, "secret %q: want one line of at most %d bytes", name, maxValue)
	}
	key, err := s.makeKey()
	if err != nil {
		return err
	}
	f := file{Cipher: "AES-256-GCM", KeyID: idOf(key), Nonce: make([]byte, 12)}
	rand.Read(f.Nonce)
	f.Data = sealer(key).Seal(nil, f.Nonce, []byte(value), []byte(name))
	b, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write secret %q: %w", name, err)
	}
	if err := s.home.MkdirAll(Dir); err != nil {
		return err
	}
	return s.home.ReplaceSealed(Dir+"/"+name, b)
}

// Get decrypts a secret. The error wraps fs.ErrNotExist if there is none.
func (s *Store) Get(name string) (string, error) {
	if !names.MatchString(name) {
		return "", sysexit.Errorf(sysexit.Usage, "secret %q: no such name", name)
	}
	b, err := s.home.ReadSealed(Dir + "/" + name)
	if err != nil {
		return "", sysexit.Errorf(sysexit.NoPerm, "read secret %q: %w", name, err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return "", sysexit.Errorf(sysexit.Data, "read secret %q: %w", name, err)
	}
	key, err := s.key()
	if err != nil {
		return "", err
	}
	if id := idOf(key); id != f.KeyID {
		return "", sysexit.Hint(sysexit.Errorf(sysexit.NoPerm,
			"read secret %q: wrong key: it was encrypted with %q, and %q is %q", name, f.KeyID, s.keyFile,
			id), "put back the key's file, or set the secret again")
	}
	if len(f.Nonce) != 12 {
		return "", sysexit.Errorf(sysexit.Data, "read secret %q: %w", name, durable.ErrChanged)
	}
	value, err := sealer(key).Open(nil, f.Nonce, f.Data, []byte(name))
	if err != nil {
		return "", sysexit.Errorf(sysexit.Data, "read secret %q: %w", name, durable.ErrChanged)
	}
	return string(value), nil
}

// Has reports whether there is a secret of that name.
func (s *Store) Has(name string) bool { return names.MatchString(name) && s.home.Exists(Dir+"/"+name) }

// Names returns the names of all secrets, sorted.
func (s *Store) Names() ([]string, error) { return s.home.List(Dir) }

// Remove removes a secret.
func (s *Store) Remove(name string) error {
	if !s.Has(name) {
		return sysexit.Errorf(sysexit.NoInput, "secret %q: not found", name)
	}
	return s.home.Remove(Dir + "/" + name)
}

// key reads the key, which only its owner may be able to read.
func (s *Store) key() ([]byte, error) {
	line, err := config.ReadSecret(s.keyFile)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.NoPerm, "read key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(line)
	if err != nil || len(key) != 32 {
		return nil, sysexit.Errorf(sysexit.NoPerm, "read key %q: want 32 bytes in base64", s.keyFile)
	}
	return key, nil
}

// makeKey reads the key, or makes one if there is none and no secret needs an earlier one.
func (s *Store) makeKey() ([]byte, error) {
	if _, err := os.Lstat(s.keyFile); !errors.Is(err, fs.ErrNotExist) {
		return s.key()
	}
	if all, err := s.Names(); err != nil || len(all) > 0 {
		return nil, errors.Join(err, sysexit.Hint(sysexit.Errorf(sysexit.NoPerm,
			"key %q: is missing, and %d secrets need it", s.keyFile, len(all)),
			"put it back, or remove the files in "+Dir+"/ of the home"))
	}
	dir, err := durable.MakeHome(filepath.Dir(s.keyFile))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	key := make([]byte, 32)
	rand.Read(key)
	return key, dir.Replace(filepath.Base(s.keyFile), []byte(base64.StdEncoding.EncodeToString(key)+"\n"))
}

func idOf(key []byte) string {
	return text.SHA256(key)[:16]
}

func sealer(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // of every block cipher of 16 bytes
	}
	return gcm
}
