package git

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Recovered is the result of recovering an interrupted merge.
type Recovered struct {
	Done  bool     // all files had been changed; otherwise they were restored
	Patch string   // SHA-256 of the patch, in hexadecimal
	Files []string // files that were found changed
}

// recoverMerge undoes an interrupted merge, unless it is complete.
func (j *journal) recoverMerge() (*Recovered, error) {
	if j.linked(j.name("journal.json")) {
		return nil, sysexit.Errorf(sysexit.NoPerm, "recover merge: %q is, or is below, a link", j.dir)
	}
	b, err := durable.ReadFile(j.root, j.name("journal.json"))
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(j.seal)
		return nil, sysexit.With(sysexit.IO, j.root.RemoveAll(j.dir)) // nothing was changed
	}
	if err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "recover merge: %w", err)
	}
	if seal, _ := os.ReadFile(j.seal); string(seal) != text.SHA256(b) {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.NoPerm,
			"recover merge: %q was not written by a merge in this checkout", j.name("journal.json")),
			fmt.Sprintf("nothing was changed; remove %q, unless files of an interrupted merge are in it",
				j.dir))
	}
	var rec record
	if err := json.Unmarshal(b, &rec); err != nil {
		return nil, sysexit.Errorf(sysexit.Data, "recover merge: %q: %w", j.name("journal.json"), err)
	}
	m, err := j.undo(rec)
	if err != nil {
		return m, sysexit.Errorf(sysexit.IO, "recover interrupted merge: %w", err)
	}
	j.tidy(rec)
	return m, nil
}

func (j *journal) undo(rec record) (*Recovered, error) {
	m := &Recovered{Patch: rec.Patch}
	var foreign []string
	for _, st := range rec.Steps {
		now, err := j.stands(st)
		switch {
		case badPath(st.Path) != "", j.linked(st.Path):
			foreign = append(foreign, st.Path)
		case err != nil:
			return m, err
		case now == isNew:
			m.Files = append(m.Files, st.Path)
		case now == isOther:
			foreign = append(foreign, st.Path)
		}
	}
	if len(foreign) > 0 {
		return m, sysexit.Hint(fmt.Errorf("changed since: %s", text.Few(foreign, 5)),
			fmt.Sprintf("the files before the merge are in %q, those of the patch in %q: correct the checkout, then remove %q and merge again", j.name("old"), j.name("new"), j.dir))
	}
	if m.Done = len(m.Files) == len(rec.Steps); m.Done {
		return m, j.finish(rec)
	}
	return m, j.putBack(rec)
}

// linked reports whether a folder of a path is a link.
func (j *journal) linked(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := j.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// putBack undoes move, in the opposite order.
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
	return j.finish(rec)
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// States of a step's file in the checkout.
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

// is reports whether a file is that version. byMode also compares the mode, for versions that
// differ only in it.
func (j *journal) is(name string, v version, byMode bool) (bool, error) {
	info, err := j.root.Lstat(name)
	if absent(err) || err == nil && info.IsDir() && v.Mode == "" {
		return v.Mode == "", nil
	}
	if err != nil {
		return false, err
	}
	if v.Mode == "" || !info.Mode().IsRegular() || byMode &&
		(info.Mode()&0o100 != 0) != (v.Mode == modeExec) {
		return false, nil
	}
	id, err := j.hash(name, len(v.ID))
	if err != nil || id == v.ID {
		return err == nil, err
	}
	return j.isCRLF(name, v)
}

// isCRLF reports whether a file is that version with CRLF line ends, as a checkout has it if the
// configuration or .gitattributes says so.
func (j *journal) isCRLF(name string, v version) (bool, error) {
	info, err := j.root.Lstat(name)
	if err != nil || info.Size() > MaxFile {
		return false, err
	}
	text, err := durable.ReadFile(j.root, name)
	plain := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if err != nil || len(text) == len(plain) || !canCRLF(plain) ||
		len(text)-len(plain) != bytes.Count(plain, []byte("\n")) {
		return false, err
	}
	id, _, err := blobID(hashOf(len(v.ID)), int64(len(plain)), bytes.NewReader(plain))
	return id == v.ID, err
}

// canCRLF reports whether a text can be converted to CRLF and back without loss.
func canCRLF(text []byte) bool { return !bytes.ContainsAny(text, "\r\x00") }

// fits reports whether a step can be done: its file is unchanged or, if the file is new, only
// paths that the patch removes are in the way.
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

// hashOf returns the hash whose ids have that many hexadecimal digits.
func hashOf(digits int) hash.Hash {
	if digits == 64 {
		return newHash("sha256")
	}
	return newHash("sha1")
}

// hash returns git's id of a file's content; digits selects the hash.
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
	id, _, err := blobID(hashOf(digits), info.Size(), f)
	return id, err
}
