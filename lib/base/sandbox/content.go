package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Files of these endings, and those without one, are where a key is put by
// mistake. Code is not looked into: what reads it would be worth nothing without
// it, and a key there is in the hands of all who have the code.
var settings = []string{"", ".yaml", ".yml", ".json", ".toml", ".ini", ".conf", ".cfg", ".cnf", ".properties", ".xml", ".txt", ".env", ".tf", ".tfvars", ".hcl", ".log", ".ps1", ".bat"}

const (
	maxSettings = 256 << 10 // bytes: what is longer was not written by a person
	// fewSettings are read anew each time, in a few milliseconds; of more is kept
	// which had no secret.
	fewSettings = 200
	keptFor     = 90 * 24 * time.Hour
	// settled is the age from which a file's time tells a change of it.
	settled = 3 * time.Second
)

// mayHold reports whether the content of a file is looked at, which stands at path
// below the program's folder.
func mayHold(path, name string) bool {
	return slices.Contains(settings, filepath.Ext(name)) && !inTests(path)
}

// looked is what is known of a folder's files: how one was when it had no secret
// in it, by its path below the folder.
type looked struct {
	file  string // "" keeps nothing
	clean map[string]string
	now   time.Time
}

// holding are those of the files, paths below dir, that hold a secret.
func holding(dir string, files []string, secret func([]byte) bool) []string {
	l := &looked{clean: map[string]string{}, now: time.Now()}
	if len(files) >= fewSettings {
		l.load(dir)
	}
	var found []string
	known, next := l.clean, map[string]string{}
	for _, path := range files {
		at := filepath.Join(dir, path)
		info, err := os.Lstat(at)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings || info.Size() == 0 {
			continue
		}
		state := stateOf(info)
		if known[path] == state {
			next[path] = state
			continue
		}
		text, err := readSome(at)
		if err != nil { // who cannot be read by us cannot be read by the program
			continue
		}
		switch {
		case bytes.IndexByte(text[:min(len(text), 8<<10)], 0) < 0 && secret(text):
			found = append(found, path)
		case l.now.Sub(info.ModTime()) > settled:
			next[path] = state
		}
	}
	if l.clean = next; l.file != "" && !same(known, next) {
		l.keep()
	}
	return found
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// stateOf changes when a file does.
func stateOf(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d %d", info.Size(), info.ModTime().UnixNano(), inode(info))
}

func readSome(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSettings))
}

// load reads what was kept of dir: lines of a state and a path. What cannot be read
// is looked at again.
func (l *looked) load(dir string) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return
	}
	sum := sha256.Sum256([]byte(dir))
	l.file = filepath.Join(cache, "tri", "clean", hex.EncodeToString(sum[:12]))
	text, err := os.ReadFile(l.file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(fields) == 4 {
			l.clean[fields[3]] = strings.Join(fields[:3], " ")
		}
	}
}

// keep writes what is known, and removes what was kept of folders that nobody has
// looked at for long. That it can be kept is no condition of anything.
func (l *looked) keep() {
	var text bytes.Buffer
	for path, state := range l.clean {
		if !strings.ContainsAny(path, "\n\r") {
			fmt.Fprintf(&text, "%s %s\n", state, path)
		}
	}
	folder := filepath.Dir(l.file)
	if os.MkdirAll(folder, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return
	}
	_, err = f.Write(text.Bytes())
	if closed := f.Close(); err != nil || closed != nil || os.Rename(f.Name(), l.file) != nil {
		_ = os.Remove(f.Name())
		return
	}
	old, _ := os.ReadDir(folder)
	for _, e := range old {
		if info, err := e.Info(); err == nil && l.now.Sub(info.ModTime()) > keptFor {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}
