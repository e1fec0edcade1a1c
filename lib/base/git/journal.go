package git

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// journal is the folder that makes a merge atomic. It is written in this order: new/ and old/,
// with every file after and before the merge; journal.json, durable before the first file of the
// checkout is changed. At the end journal.json is removed, which commits the merge. An
// interrupted merge is therefore in one of three states: no journal.json, and nothing was changed;
// journal.json and some files changed, which are restored; journal.json and all files changed, a
// merge that only lacked its commit. The seal, in the git folder, is the SHA-256 of journal.json:
// a repository can contain a journal, and no file of its own .git.
type journal struct {
	root *os.Root // the checkout
	dir  string   // the journal, below root
	seal string
	fs   moves
	lock *os.File // held; inherited by a git that writes below dir
}

// moves are the operations that change the checkout; tests make them fail.
type moves interface {
	Rename(old, new string) error
	Remove(name string) error
	Mkdir(name string, perm os.FileMode) error
}

// record is the format of journal.json.
type record struct {
	Base  string `json:"base"`
	Patch string `json:"patch_sha256"`
	Steps []step `json:"steps"`
	// Folders to create for new files, parents first.
	Folders []string `json:"folders,omitempty"`
}

// journal opens the journal of a merge, and waits until no other merge is under way.
func (r *Repo) journal(ctx context.Context, dir string) (*journal, error) {
	rel, err := r.below(dir)
	if err != nil {
		return nil, err
	}
	lock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		lock.Close()
		return nil, sysexit.With(sysexit.IO, err)
	}
	rel = filepath.ToSlash(rel)
	return &journal{root: root, dir: rel, seal: filepath.Join(r.gitDir, "tri-merge-"+text.SHA256(rel)[:16]),
		fs: root, lock: lock}, nil
}

func (j *journal) close() {
	j.root.Close()
	j.lock.Close()
}

func (j *journal) name(parts ...string) string {
	return path.Join(append([]string{j.dir}, parts...)...)
}

// run executes the steps, and undoes them if one fails.
func (j *journal) run(ctx context.Context, s *shadow, rec record) (err error) {
	defer func() {
		if err == nil {
			return
		}
		if _, undo := j.recoverMerge(); undo != nil {
			err = errors.Join(err, undo)
		}
		err = sysexit.Errorf(sysexit.IO, "merge: nothing was changed: %w", err)
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
	if err := j.finish(rec); err != nil {
		return err
	}
	j.tidy(rec)
	return nil
}

// prepare writes both versions of every file, with a checkout of our own.
func (j *journal) prepare(ctx context.Context, s *shadow, rec *record) error {
	if err := j.root.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	at := filepath.Join(j.root.Name(), filepath.FromSlash(j.dir))
	for _, side := range []struct {
		name, tree string
		of         func(step) version
	}{{"new", "", func(st step) version {
		return st.New
	}}, {"old", rec.Base, func(st step) version { return st.Old }}} {
		if side.tree != "" { // the index already holds the result
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
		_, err := git(ctx, call{dir: s.dir, env: s.env, tree: at, hold: j.lock,
			stdin: strings.NewReader(names.String()),
			args: []string{"checkout-index", "-z", "--stdin", "--force", "--quiet",
				"--prefix=" + side.name + "/"}})
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

// ready makes both versions of a file durable, checks what git wrote, and gives the new one the
// permissions of the old.
func (j *journal) ready(st *step) error {
	now, err := j.root.Lstat(st.Path)
	crlf := false
	if err == nil && st.Old.Mode != "" {
		st.Perm = uint32(now.Mode().Perm())
		if crlf, err = j.isCRLF(st.Path, st.Old); err != nil {
			return err
		}
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
			return fmt.Errorf("git wrote an object other than %s", v.ID)
		}
		if crlf {
			if err := j.toCRLF(name); err != nil {
				return err
			}
		}
		if err := j.sync(name); err != nil {
			return err
		}
	}
	return nil
}

// toCRLF converts a file to CRLF line ends, like the file that it replaces or copies.
func (j *journal) toCRLF(name string) error {
	text, err := durable.ReadFile(j.root, name)
	if err != nil || !canCRLF(text) {
		return err
	}
	info, err := j.root.Lstat(name)
	if err != nil {
		return err
	}
	perm := info.Mode().Perm()
	return errors.Join(
		j.root.Chmod(name, perm|0o200),
		j.root.WriteFile(name, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), 0o600),
		j.root.Chmod(name, perm))
}

// missing returns the folders that new files need and that do not exist.
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
	b = append(b, '\n')
	tmp := j.name("journal.tmp")
	if err := j.root.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	if err := errors.Join(j.sync(tmp), j.bind(b)); err != nil {
		return err
	}
	if err := j.root.Rename(tmp, j.name("journal.json")); err != nil {
		return err
	}
	return errors.Join(j.sync(j.dir), j.sync(path.Dir(j.dir)))
}

// bind writes the seal of a journal durably.
func (j *journal) bind(b []byte) error {
	err := os.WriteFile(j.seal, []byte(text.SHA256(b)), 0o600)
	for _, name := range []string{j.seal, filepath.Dir(j.seal)} {
		f, e := os.Open(name)
		if e == nil {
			e = errors.Join(f.Sync(), f.Close())
		}
		err = errors.Join(err, e)
	}
	return err
}

// move changes the checkout. Deletions come first: a folder may replace a file, and a file a
// folder.
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

// emptied removes a folder that contains no files.
func (j *journal) emptied(dir string) error {
	all, err := fs.ReadDir(j.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if !e.IsDir() {
			return fmt.Errorf("%q: should become a file, and is a folder that is not empty", dir)
		}
		if err := j.emptied(path.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return j.fs.Remove(dir)
}

// finish makes the moved files durable, and then the removal of the journal.
func (j *journal) finish(rec record) error {
	synced := map[string]bool{}
	for _, st := range rec.Steps {
		dir := path.Dir(st.Path)
		for ; dir != "."; dir = path.Dir(dir) {
			if _, err := j.root.Lstat(dir); err == nil {
				break // the others were removed with their last file
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

// tidy removes the merge's own folder, and folders that have lost their last file. Anything left
// is harmless.
func (j *journal) tidy(rec record) {
	for _, st := range rec.Steps {
		if st.New.Mode != "" {
			continue
		}
		for dir := path.Dir(st.Path); dir != "." && j.root.Remove(dir) == nil; dir = path.Dir(dir) {
		}
	}
	_, _ = os.Remove(j.seal), j.root.RemoveAll(j.dir)
}

func (j *journal) sync(name string) error {
	f, err := j.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
