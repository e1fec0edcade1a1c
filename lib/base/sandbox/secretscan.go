package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/filename"
	"tri/lib/base/text"
)

const (
	maxSettings = filename.MaxSettings
	// Up to fewSettings files are read each time, which takes a few milliseconds. With more, the
	// files found without a secret are cached.
	fewSettings = 200
	keptFor     = 90 * 24 * time.Hour
	// settled is the age of a file from which its modification time reveals a change.
	settled = 3 * time.Second
)

// looked is the cache for a folder: the state of each file that had no secret in it, by path below
// the folder.
type looked struct {
	file  string // "" means no cache
	clean map[string]string
	now   time.Time
}

// holding returns those of the files, paths below dir, that contain a secret.
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
		text, err := readSome(at, maxSettings)
		if err != nil { // a file that we cannot read the program cannot read either
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

// stateOf returns a string that changes when the file does.
func stateOf(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d %d", info.Size(), info.ModTime().UnixNano(), inode(info))
}

// readSome returns the first most bytes of a regular file. It does not wait for a pipe.
func readSome(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("read %q: not a file", path))
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// load reads the cache of dir: lines of a state and a path. If it is unreadable, the files are
// searched again.
func (l *looked) load(dir string) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return
	}
	l.file = filepath.Join(cache, "tri", "clean", text.SHA256(dir)[:24])
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

// keep writes the cache, and removes caches of folders that were not used for long. Errors are
// ignored: the cache is optional.
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
