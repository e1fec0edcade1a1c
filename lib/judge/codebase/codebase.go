// Package codebase is a folder of code as an agent may read it: without .git, links, and what the
// sandbox hides as well: hidden files, settings of agents, and files with secrets by name or content.
// Every operation is bounded: answers by size, searches by number of files.
//
// It is for agents that run in this process or request files from it. An agent that opens files itself is
// confined by its sandbox.
package codebase

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"tri/lib/base/filename"
	"tri/lib/base/sysexit"
	"tri/lib/judge/safety"
)

// Limits of one answer.
const (
	MaxText  = 256 << 10 // bytes of a file at once
	MaxLines = 2000      // lines of a file at once
	maxLine  = 2000      // bytes shown of a line
	maxFile  = 8 << 20   // maximum bytes of a readable file
)

// Tree is one codebase. It is safe for concurrent use.
type Tree struct {
	root   *os.Root
	dirs   []string // absolute names of the folder, with links and resolved
	hidden []string
	write  bool
}

// Open opens the folder dir. hidden are names of files and folders that are invisible anywhere below it;
// write says that the agent may change what is there.
func Open(dir string, hidden []string, write bool) (*Tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("open codebase: %w", err))
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase: %w", err))
	}
	t := &Tree{root: root, dirs: []string{abs}, hidden: append([]string{".git"}, hidden...),
		write: write}
	if resolved, err := filepath.EvalSymlinks(abs); err == nil && resolved != abs {
		t.dirs = append(t.dirs, resolved)
	}
	return t, nil
}

// Close closes the folder.
func (t *Tree) Close() error { return t.root.Close() }

// errHidden is the error for a path that is hidden.
var errHidden = errors.New("not to be seen")

// Name returns the path relative to the folder for an agent's path p, which may be relative to it, or
// absolute and below it.
func (t *Tree) Name(p string) (string, error) {
	if filepath.IsAbs(p) {
		rel := ""
		for _, dir := range t.dirs {
			if r, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(r) {
				rel = r
			}
		}
		if rel == "" {
			return "", fmt.Errorf("%q: outside the codebase", p)
		}
		p = rel
	}
	if p = filepath.Clean(p); !filepath.IsLocal(p) || strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("%q: outside the codebase", p)
	}
	if p == "." {
		return p, nil
	}
	parts := strings.Split(p, "/")
	for i := range parts {
		name := path.Join(parts[:i+1]...)
		info, err := t.root.Lstat(name)
		if !t.visible(name, i < len(parts)-1 || err == nil && info.IsDir()) {
			return "", fmt.Errorf("%q: %w", p, errHidden)
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%q: a link, which is not followed", p)
		}
	}
	return p, nil
}

// visible reports whether a file or folder is visible, by its path.
func (t *Tree) visible(name string, folder bool) bool {
	return !filename.Private(name, folder, t.write) && !slices.ContainsFunc(t.hidden, func(h string) bool {
		return strings.EqualFold(h, path.Base(name))
	})
}

// holds reports whether a file is hidden for its content.
func (t *Tree) holds(name string, text []byte) bool {
	return !t.write && filename.MayHold(name) && !filename.InVendored(name) &&
		len(text) <= filename.MaxSettings && !binary(text) && safety.HoldsSecret(text)
}

// open opens a regular file for reading.
func (t *Tree) open(p string) (*os.File, fs.FileInfo, error) {
	name, err := t.Name(p)
	if err != nil {
		return nil, nil, err
	}
	// Non-blocking, since the file may be a FIFO without a writer.
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, bare(name, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = bare(name, err)
	case info.IsDir():
		err = fmt.Errorf("%q: a folder", name)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%q: not a plain file", name)
	case info.Size() > maxFile:
		err = fmt.Errorf("%q: %d bytes, more than %d", name, info.Size(), maxFile)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// bare returns an error that names a file as the agent does, without the path of the folder.
func bare(name string, err error) error {
	if pe := new(fs.PathError); errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%q: %w", name, err)
}

// ReadFile returns a file's content, at most maxFile bytes.
func (t *Tree) ReadFile(p string) ([]byte, error) {
	text, err := t.readFile(p)
	if err == nil && t.holds(filepath.Clean(p), text) {
		return nil, fmt.Errorf("%q: %w", p, errHidden)
	}
	return text, err
}

// readFile is ReadFile for a file that may hold secrets.
func (t *Tree) readFile(p string) ([]byte, error) {
	f, _, err := t.open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, bare(p, err)
	}
	return text, nil
}

// Lines returns lines of a text file with their numbers, starting at line from (from 1), at most n (0:
// MaxLines). If there are more, the last line says where to continue.
func (t *Tree) Lines(p string, from, n int) (string, error) {
	text, err := t.ReadFile(p)
	if err != nil {
		return "", err
	}
	if binary(text) {
		return "", fmt.Errorf("%q: not text", p)
	}
	from = max(from, 1)
	if n <= 0 || n > MaxLines {
		n = MaxLines
	}
	var out strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	at := 0
	for lines.Scan() {
		if at++; at < from {
			continue
		}
		if at-from == n || out.Len() > MaxText {
			fmt.Fprintf(&out, "(the file goes on at line %d)\n", at)
			return out.String(), nil
		}
		fmt.Fprintf(&out, "%d\t%s\n", at, clip(lines.Bytes(), maxLine))
	}
	if out.Len() == 0 && at > 0 {
		return "", fmt.Errorf("%q: has only %d lines", p, at)
	}
	return out.String(), nil
}

func binary(text []byte) bool { return bytes.IndexByte(text[:min(len(text), 8<<10)], 0) >= 0 }

// clip returns the beginning of a line as valid UTF-8.
func clip(line []byte, most int) string {
	if len(line) <= most {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	for most > 0 && !utf8.RuneStart(line[most]) {
		most--
	}
	return strings.ToValidUTF8(string(line[:most]), "\uFFFD") + "…"
}

// WriteFile replaces a file, creating it and its folders if needed. The old file is not modified: a hard
// link to it elsewhere is unchanged.
func (t *Tree) WriteFile(p string, text []byte) error {
	name, err := t.Name(p)
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("%q: %d bytes, more than %d", name, len(text), maxFile)
	}
	mode := fs.FileMode(0o644)
	switch info, err := t.root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%q: not a plain file", name)
	case err == nil:
		mode = info.Mode().Perm()
	}
	if err := t.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return bare(name, err)
	}
	temp := path.Join(path.Dir(name), ".tri-"+rand.Text())
	if err := t.root.WriteFile(temp, text, mode); err != nil {
		return errors.Join(bare(name, err), t.remove(temp))
	}
	if err := t.root.Rename(temp, name); err != nil {
		return errors.Join(bare(name, err), t.remove(temp))
	}
	return nil
}

func (t *Tree) remove(name string) error {
	if err := t.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return bare(name, err)
	}
	return nil
}

// walk calls yield for every visible file and folder below a folder, in order, until it returns false, ctx
// ends or too many have been seen.
func (t *Tree) walk(ctx context.Context, from string, yield func(name string, d fs.DirEntry) bool) error {
	from, err := t.Name(from)
	if err != nil {
		return err
	}
	seen := 0
	stop := errors.New("stop")
	err = fs.WalkDir(t.root.FS(), from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == from {
				return bare(name, err)
			}
			return nil // deleted or unreadable: continue with the others
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if seen++; seen > maxSeen {
			return fmt.Errorf("%q: more than %d files: look in a folder below it", from, maxSeen)
		}
		switch {
		case name == from:
			if !d.IsDir() && !yield(name, d) {
				return stop
			}
			return nil
		case !t.visible(name, d.IsDir()), d.IsDir() && filename.Vendored(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			return nil
		case !yield(name, d):
			return stop
		}
		return nil
	})
	if errors.Is(err, stop) {
		return nil
	}
	return err
}
