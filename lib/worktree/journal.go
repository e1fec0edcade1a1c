package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

	"tri/lib/sysexit"
)

// journal is the folder by which a merge is whole or undone. In it stand, in this
// order: new/ and old/ with every file as it will be and as it was; journal.json,
// durable before the first file of the checkout is touched; and at the end its
// removal, which is the moment that the merge counts. So a killed merge is in one
// of three states: a folder without journal.json, and nothing was touched;
// journal.json and some files new, which are put back; journal.json and all of
// them new, which is a merge that only lacked its last word.
type journal struct {
	root *os.Root // the checkout
	dir  string   // below it
	fs   moves
	lock *os.File // held; a git that writes below dir holds it too
}

// moves are what changes the checkout, for tests to fail.
type moves interface {
	Rename(old, new string) error
	Remove(name string) error
	Mkdir(name string, perm os.FileMode) error
}

// record is journal.json.
type record struct {
	Base  string `json:"base"`
	Patch string `json:"patch_sha256"`
	Steps []step `json:"steps"`
	// Folders that are made for new files, each after those that it is in.
	Folders []string `json:"folders,omitempty"`
}

// Mended is what a merge that was cut short came to.
type Mended struct {
	Done  bool     // every file had been changed; else all that were are put back
	Patch string   // SHA-256 of the patch, in hexadecimal
	Files []string // that were found changed
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func (r *Repo) journal(dir string, lock *os.File) (*journal, error) {
	rel, err := r.below(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	return &journal{root: root, dir: filepath.ToSlash(rel), fs: root, lock: lock}, nil
}

func (j *journal) close() { j.root.Close() }

func (j *journal) name(parts ...string) string {
	return path.Join(append([]string{j.dir}, parts...)...)
}

// run carries the steps out. When it fails, what it did is undone.
func (j *journal) run(ctx context.Context, s *shadow, rec record) (err error) {
	defer func() {
		if err == nil {
			return
		}
		if _, undo := j.mend(); undo != nil {
			err = errors.Join(err, undo)
		}
		err = sysexit.With(sysexit.IO, fmt.Errorf("merge: nothing was changed: %w", err))
	}()
	if err := j.prepare(ctx, s, &rec); err != nil {
		return err
	}
	if err := j.write(rec); err != nil {
		return err
	}
	if err := j.move(rec); err != nil {
		return err
	}
	if err := j.settle(rec); err != nil {
		return err
	}
	j.tidy(rec)
	return nil
}

// prepare lays out both versions of every file, by a checkout of our own.
func (j *journal) prepare(ctx context.Context, s *shadow, rec *record) error {
	if err := j.root.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	at := filepath.Join(j.root.Name(), filepath.FromSlash(j.dir))
	for _, side := range []struct {
		name, tree string
		of         func(step) version
	}{{"new", "", func(st step) version { return st.New }}, {"old", rec.Base, func(st step) version { return st.Old }}} {
		if side.tree != "" { // the index holds the result so far
			if _, err := s.git(ctx, nil, "read-tree", side.tree); err != nil {
				return err
			}
		}
		var names strings.Builder
		for _, st := range rec.Steps {
			if side.of(st).Mode != "" {
				names.WriteString(st.Path + "\x00")
			}
		}
		if names.Len() == 0 {
			continue
		}
		_, err := git(ctx, call{dir: s.dir, env: s.env, tree: at, hold: j.lock, stdin: strings.NewReader(names.String()),
			args: []string{"checkout-index", "-z", "--stdin", "--force", "--quiet", "--prefix=" + side.name + "/"}})
		if err != nil {
			return err
		}
	}
	for i, st := range rec.Steps {
		if err := j.ready(&rec.Steps[i]); err != nil {
			return fmt.Errorf("%q: %w", st.Path, err)
		}
	}
	folders, err := j.missing(rec.Steps)
	rec.Folders = folders
	return err
}

// ready makes both versions of a file durable, checks what git wrote, and gives
// the new one the permissions of the one that it replaces.
func (j *journal) ready(st *step) error {
	now, err := j.root.Lstat(st.Path)
	if err == nil && st.Old.Mode != "" {
		st.Perm = uint32(now.Mode().Perm())
	}
	for side, v := range map[string]version{"new": st.New, "old": st.Old} {
		if v.Mode == "" {
			continue
		}
		name := j.name(side, st.Path)
		if perm := os.FileMode(st.Perm); perm != 0 {
			switch {
			case side == "old" || st.New.Mode == st.Old.Mode:
			case v.Mode == modeExec:
				perm |= perm & 0o444 >> 2
			default:
				perm &^= 0o111
			}
			if err := j.root.Chmod(name, perm); err != nil {
				return err
			}
		}
		got, err := j.hash(name, len(v.ID))
		if err != nil {
			return err
		}
		if got != v.ID {
			return fmt.Errorf("git wrote something else than %s", v.ID)
		}
		if err := j.sync(name); err != nil {
			return err
		}
	}
	return nil
}

// missing are the folders that new files need and that are not there.
func (j *journal) missing(steps []step) ([]string, error) {
	var need []string
	for _, st := range steps {
		if st.New.Mode == "" {
			continue
		}
		for dir := path.Dir(st.Path); dir != "."; dir = path.Dir(dir) {
			info, err := j.root.Lstat(dir)
			if err == nil && info.IsDir() {
				break
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return nil, err
			}
			if !slices.Contains(need, dir) {
				need = append(need, dir)
			}
		}
	}
	slices.Sort(need)
	return need, nil
}

// write makes the journal durable.
func (j *journal) write(rec record) error {
	b, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	tmp := j.name("journal.tmp")
	if err := j.root.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	if err := j.sync(tmp); err != nil {
		return err
	}
	if err := j.root.Rename(tmp, j.name("journal.json")); err != nil {
		return err
	}
	return errors.Join(j.sync(j.dir), j.sync(path.Dir(j.dir)))
}

// move changes the checkout. Deletions come first: a folder may take the place of
// a file, and a file that of a folder.
func (j *journal) move(rec record) error {
	for _, st := range rec.Steps {
		if st.New.Mode == "" {
			if err := j.fs.Remove(st.Path); err != nil {
				return err
			}
		}
	}
	for _, dir := range rec.Folders {
		if err := j.fs.Mkdir(dir, 0o777); err != nil {
			return err
		}
	}
	for _, st := range rec.Steps {
		if st.New.Mode == "" {
			continue
		}
		if info, err := j.root.Lstat(st.Path); err == nil && info.IsDir() {
			if err := j.emptied(st.Path); err != nil {
				return err
			}
		}
		if err := j.fs.Rename(j.name("new", st.Path), st.Path); err != nil {
			return err
		}
	}
	return nil
}

// emptied removes a folder in which no files are left.
func (j *journal) emptied(dir string) error {
	d, err := j.root.Open(dir)
	if err != nil {
		return err
	}
	all, err := d.ReadDir(-1)
	d.Close()
	if err != nil {
		return err
	}
	for _, e := range all {
		if !e.IsDir() {
			return fmt.Errorf("%q: a file is wanted where there is a folder that is not empty", dir)
		}
		if err := j.emptied(path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return j.fs.Remove(dir)
}

// settle makes what was moved durable, and then the journal's end.
func (j *journal) settle(rec record) error {
	synced := map[string]bool{}
	for _, st := range rec.Steps {
		dir := path.Dir(st.Path)
		for ; dir != "."; dir = path.Dir(dir) {
			if _, err := j.root.Lstat(dir); err == nil {
				break // others went with their last file
			}
		}
		if !synced[dir] {
			if err := j.sync(dir); err != nil {
				return err
			}
			synced[dir] = true
		}
	}
	if err := j.root.Remove(j.name("journal.json")); err != nil {
		return err
	}
	return j.sync(j.dir)
}

// tidy removes what a merge leaves behind: its own folder, and folders that have
// lost their last file. Whatever stays does no harm.
func (j *journal) tidy(rec record) {
	for _, st := range rec.Steps {
		if st.New.Mode != "" {
			continue
		}
		for dir := path.Dir(st.Path); dir != "." && j.root.Remove(dir) == nil; dir = path.Dir(dir) {
		}
	}
	_ = j.root.RemoveAll(j.dir)
}

// mend undoes a merge that was cut short, unless it was complete.
func (j *journal) mend() (*Mended, error) {
	b, err := j.root.ReadFile(j.name("journal.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sysexit.With(sysexit.IO, j.root.RemoveAll(j.dir)) // nothing was touched
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("mend merge: %w", err))
	}
	var rec record
	if err := json.Unmarshal(b, &rec); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("mend merge: %q: %w", j.name("journal.json"), err))
	}
	m, err := j.undo(rec)
	if err != nil {
		return m, sysexit.With(sysexit.IO, fmt.Errorf("mend merge that was cut short: %w", err))
	}
	j.tidy(rec)
	return m, nil
}

func (j *journal) undo(rec record) (*Mended, error) {
	m := &Mended{Patch: rec.Patch}
	var foreign []string
	for _, st := range rec.Steps {
		now, err := j.stands(st)
		switch {
		case err != nil:
			return m, err
		case now == isNew:
			m.Files = append(m.Files, st.Path)
		case now == isOther:
			foreign = append(foreign, st.Path)
		}
	}
	if len(foreign) > 0 {
		return m, sysexit.Hint(fmt.Errorf("changed by somebody since: %s", few(foreign)),
			fmt.Sprintf("as they were, and as the patch has them, these files are in %q and %q: put them right, then remove %q and merge again", j.name("old"), j.name("new"), j.dir))
	}
	if m.Done = len(m.Files) == len(rec.Steps); m.Done {
		return m, j.settle(rec)
	}
	return m, j.putBack(rec)
}

// putBack undoes in the opposite order of move.
func (j *journal) putBack(rec record) error {
	for _, st := range rec.Steps {
		if st.Old.Mode == "" {
			if err := j.root.Remove(st.Path); err != nil && !absent(err) {
				return err
			}
		}
	}
	for _, dir := range slices.Backward(rec.Folders) {
		if info, err := j.root.Lstat(dir); err == nil && info.IsDir() {
			if err := j.root.Remove(dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
				return err
			}
		}
	}
	for _, st := range rec.Steps {
		if now, err := j.stands(st); err != nil || st.Old.Mode == "" || now == isOld {
			if err != nil {
				return err
			}
			continue
		}
		if err := j.root.MkdirAll(path.Dir(st.Path), 0o777); err != nil {
			return err
		}
		if err := j.root.Rename(j.name("old", st.Path), st.Path); err != nil {
			return err
		}
	}
	return j.settle(rec)
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// What stands where a file of a step is.
const (
	isOld = iota
	isNew
	isOther
)

func (j *journal) stands(st step) (int, error) {
	for what, v := range []version{st.Old, st.New} {
		same, err := j.is(st.Path, v, st.Old.ID == st.New.ID)
		if err != nil || same {
			return what, err
		}
	}
	return isOther, nil
}

// is reports whether a file is that version. Its mode counts where only that
// tells the versions apart.
func (j *journal) is(name string, v version, byMode bool) (bool, error) {
	info, err := j.root.Lstat(name)
	if absent(err) || err == nil && info.IsDir() && v.Mode == "" {
		return v.Mode == "", nil
	}
	if err != nil {
		return false, err
	}
	if v.Mode == "" || !info.Mode().IsRegular() || byMode && (info.Mode()&0o100 != 0) != (v.Mode == modeExec) {
		return false, nil
	}
	id, err := j.hash(name, len(v.ID))
	return id == v.ID, err
}

// fits reports whether a step can be done: its file is as it was, and where it is
// new, nothing is in the way but what the patch removes.
func (j *journal) fits(st step, gone map[string]bool) (bool, error) {
	for dir := path.Dir(st.Path); dir != "."; dir = path.Dir(dir) {
		if info, err := j.root.Lstat(dir); err == nil && !info.IsDir() && !gone[dir] {
			return false, nil
		}
	}
	if st.Old.Mode == "" {
		info, err := j.root.Lstat(st.Path)
		if err == nil && info.IsDir() {
			for name := range gone {
				if strings.HasPrefix(name, st.Path+"/") {
					return true, nil
				}
			}
		}
		return absent(err), nil
	}
	return j.is(st.Path, st.Old, st.Old.ID == st.New.ID)
}

// hash names what is in a file as git does; digits tells which kind of id.
func (j *journal) hash(name string, digits int) (string, error) {
	f, err := j.root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	format := "sha1"
	if digits == 64 {
		format = "sha256"
	}
	h := newHash(format)
	fmt.Fprintf(h, "blob %d\x00", info.Size())
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (j *journal) sync(name string) error {
	f, err := j.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
