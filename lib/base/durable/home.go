// Package durable appends to and replaces files so that they survive kills and power cuts, and
// locks them, below one folder that no path escapes.
//
// A durable append cuts off any torn line that a killed writer left, writes whole lines with one
// write under the file's lock, and calls fsync. A durable replace writes a temporary file in the
// same folder, calls fsync, renames it, and calls fsync on the folder. A failed fsync is final:
// the kernel may have dropped the pages, so a retry cannot be trusted and the program must end.
package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"tri/lib/base/sysexit"
)

// Home is the folder of one team's logs and state, by default ~/.tri. Names are relative and use
// '/'; os.Root refuses names that lead outside.
type Home struct {
	dir  string
	root *os.Root
}

// DefaultDir returns $TRI_HOME, or .tri in the user's home. If neither is known, it is a folder that does not
// exist, never one in the working folder, which may be a stranger's.
func DefaultDir() string {
	if dir := os.Getenv("TRI_HOME"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "/nonexistent/.tri"
	}
	return filepath.Join(home, ".tri")
}

// Open opens dir and, if it does not exist, creates it durably with mode 0700; "" means
// DefaultDir.
func Open(dir string) (*Home, error) {
	if dir == "" {
		dir = DefaultDir()
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	if err := makeAll(abs); err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "make %q: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "open %q: %w", dir, err)
	}
	remember(abs)
	return &Home{dir: abs, root: root}, nil
}

var known struct {
	sync.Mutex
	dirs []string
}

// remember adds dir to the known homes, unless a known one contains it.
func remember(dir string) {
	known.Lock()
	defer known.Unlock()
	for _, home := range known.dirs {
		if dir == home || strings.HasPrefix(dir, home+"/") {
			return
		}
	}
	known.dirs = append(known.dirs, dir)
}

// Homes returns DefaultDir and the folders that this process has opened, except those below
// another.
func Homes() []string {
	known.Lock()
	defer known.Unlock()
	return append([]string{DefaultDir()}, known.dirs...)
}

// Dir returns the folder's absolute path.
func (h *Home) Dir() string { return h.dir }

// Root returns the folder for direct reads.
func (h *Home) Root() *os.Root { return h.root }

// Path returns the absolute path of name, for messages and for programs that need one.
func (h *Home) Path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

// Contains reports whether a file lies below the folder, as the two are named or as links lead.
func (h *Home) Contains(file string) bool {
	below := func(dir, file string) bool {
		rel, err := filepath.Rel(dir, file)
		return err == nil && filepath.IsLocal(rel)
	}
	dir, err1 := filepath.EvalSymlinks(h.dir)
	at, err2 := filepath.EvalSymlinks(filepath.Dir(file))
	return below(h.dir, file) || err1 == nil && err2 == nil && below(dir, at)
}

// Close closes the folder.
func (h *Home) Close() error { return h.root.Close() }

// ReadFile reads a whole file, as the function does.
func (h *Home) ReadFile(name string) ([]byte, error) { return ReadFile(h.root, name) }

// Exists reports whether name exists.
func (h *Home) Exists(name string) bool {
	_, err := h.root.Lstat(name)
	return err == nil
}

// List returns the names in a folder, sorted, without those that begin with a dot (unfinished
// files). A missing folder is empty.
func (h *Home) List(dir string) ([]string, error) {
	f, err := h.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ioError("list", dir, err)
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	if err != nil {
		return nil, ioError("list", dir, err)
	}
	names := slices.DeleteFunc(all, func(n string) bool { return strings.HasPrefix(n, ".") })
	slices.Sort(names)
	return names, nil
}

// MkdirAll durably creates a folder and its parents.
func (h *Home) MkdirAll(dir string) error {
	if dir == "." || dir == "" {
		return nil
	}
	if !filepath.IsLocal(dir) {
		return sysexit.Errorf(sysexit.NoPerm, "make %q: leads out of %q", dir, h.dir)
	}
	if info, err := h.root.Stat(dir); err == nil {
		if !info.IsDir() {
			return ioError("make", dir, syscall.ENOTDIR)
		}
		return nil
	}
	if err := h.MkdirAll(path.Dir(dir)); err != nil {
		return err
	}
	if err := h.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return ioError("make", dir, err)
	}
	return h.SyncDir(path.Dir(dir))
}

// Replace durably makes data the whole content of name. A reader sees the old or the new content,
// also after a power cut.
func (h *Home) Replace(name string, data []byte) error {
	dir, base := path.Split(name)
	if err := h.MkdirAll(path.Clean(dir)); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%s.%d", dir, base, os.Getpid())
	f, err := h.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return ioError("write", name, err)
	}
	if err := fill(f, data); err != nil {
		_ = h.root.Remove(tmp) // report the first error
		return ioError("write", name, err)
	}
	if err := h.root.Rename(tmp, name); err != nil {
		_ = h.root.Remove(tmp)
		return ioError("replace", name, err)
	}
	return h.SyncDir(path.Clean(dir))
}

// Swap makes data the whole content of name for current readers, without waiting for the disk: a
// power cut may leave the old content, the new, or nothing. It is for data that can be
// regenerated, in a folder that exists.
func (h *Home) Swap(name string, data []byte) error {
	dir, base := path.Split(name)
	tmp := fmt.Sprintf("%s.%s.%d", dir, base, os.Getpid())
	err := h.root.WriteFile(tmp, data, 0o600)
	if err == nil {
		err = h.root.Rename(tmp, name)
	}
	if err != nil {
		_ = h.root.Remove(tmp) // report the first error
		return ioError("replace", name, err)
	}
	return nil
}

func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Move durably renames a file, and creates the target folder if it is missing.
func (h *Home) Move(from, to string) error {
	if err := h.MkdirAll(path.Dir(to)); err != nil {
		return err
	}
	if err := h.root.Rename(from, to); err != nil {
		return ioError("move", from, err)
	}
	if err := h.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	return h.SyncDir(path.Dir(from))
}

// Remove durably deletes a file. A missing file is not an error.
func (h *Home) Remove(name string) error {
	if err := h.root.Remove(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return ioError("remove", name, err)
	}
	return h.SyncDir(path.Dir(name))
}

// SyncDir makes the entries of a folder durable.
func (h *Home) SyncDir(dir string) error {
	f, err := h.root.Open(dir)
	if err != nil {
		return ioError("sync folder", dir, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return ioError("sync folder", dir, err)
	}
	return nil
}

func ioError(op, name string, err error) error {
	return sysexit.Errorf(sysexit.IO, "%s %q: %w", op, name, err)
}

// Holder returns the process that holds the lock called name, and whether one does. It reads the
// kernel's lock table: trying the lock could make a program that is just starting believe that
// another one runs. On a system without such a table the error is errors.ErrUnsupported.
func (h *Home) Holder(name string) (pid int, held bool, err error) {
	info, err := h.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, ioError("look at lock", name, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false, fmt.Errorf("look at lock %q: no inode: %w", name, errors.ErrUnsupported)
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0, false, fmt.Errorf("look at lock %q: %w: %w", name, errors.ErrUnsupported, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if pid, ok := flockOn(lines.Text(), st.Ino); ok {
			return pid, true, nil
		}
	}
	return 0, false, sysexit.With(sysexit.IO, lines.Err())
}

// flockOn parses a line of /proc/locks (proc(5)) such as "1: FLOCK  ADVISORY  WRITE 708
// 08:02:1048580 0 EOF". Devices are not compared: overlay and btrfs report another device there
// than stat does.
func flockOn(line string, inode uint64) (pid int, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "FLOCK" {
		return 0, false
	}
	parts := strings.Split(f[5], ":")
	if parts[len(parts)-1] != strconv.FormatUint(inode, 10) {
		return 0, false
	}
	pid, err := strconv.Atoi(f[4])
	return pid, err == nil
}
