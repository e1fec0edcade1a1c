package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tri/lib/base/sysexit"
)

// Limits of an export.
const (
	MaxPatch   = 64 << 20 // bytes of a patch
	MaxFile    = 64 << 20 // bytes of one changed file
	MaxChanges = 10_000   // files of a patch
	maxEntries = 2_000_000
	maxRules   = 1 << 20 // bytes of a .gitignore
)

// Finding is a remark on a file for a person.
type Finding struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Export is the changes made in a worktree.
type Export struct {
	Patch   []byte    // for Check, Apply and Branch; empty if there are no changes
	Ignored int       // new files that .gitignore excludes
	Skipped []Finding // what a patch cannot or must not contain, such as sockets
}

// mode of a tree entry, as git writes it.
const (
	modeFile = "100644"
	modeExec = "100755"
	modeLink = "120000"
	modeRepo = "160000" // a submodule
)

// entry is a file of a tree.
type entry struct{ mode, id string }

// Export compares the files of a worktree with a commit. It ignores the worktree's HEAD, index,
// configuration and .git, so the result is the same whether or not the agent has committed. The
// agent must have ended.
func (r *Repo) Export(ctx context.Context, dir, base string) (*Export, error) {
	if err := commit(base); err != nil {
		return nil, err
	}
	s, err := r.shadow(false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	x, err := r.export(ctx, s, dir, base)
	if err != nil {
		return nil, fmt.Errorf("export %q: %w", dir, err)
	}
	return x, nil
}

func (r *Repo) export(ctx context.Context, s *shadow, dir, base string) (*Export, error) {
	tree, err := s.entries(ctx, base)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	defer root.Close()
	w := &walk{ctx: ctx, root: root, shadow: s, tree: tree, now: map[string]entry{}, format: r.format,
		folders: map[string]bool{".": true}}
	for name := range tree {
		for dir := path.Dir(name); !w.folders[dir]; dir = path.Dir(dir) {
			w.folders[dir] = true
		}
	}
	if err := w.folder("."); err != nil {
		return nil, err
	}
	if err := w.news(); err != nil {
		return nil, err
	}
	patch, err := w.patch(base)
	return &Export{Patch: patch, Ignored: w.ignored, Skipped: w.skipped}, err
}

// entries reads the files of a commit.
func (s *shadow) entries(ctx context.Context, id string) (map[string]entry, error) {
	out, err := s.git(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", id)
	if err != nil {
		return nil, err
	}
	tree := map[string]entry{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 {
			if line == "" {
				continue // an empty tree
			}
			return nil, fmt.Errorf("git ls-tree: %q", line)
		}
		tree[name] = entry{mode: f[0], id: f[2]}
	}
	return tree, nil
}

// walk reads a worktree.
type walk struct {
	ctx     context.Context
	root    *os.Root
	shadow  *shadow
	format  string
	tree    map[string]entry // of the commit
	folders map[string]bool  // of the commit
	now     map[string]entry // of the worktree
	fresh   []fresh          // files that are not in the commit
	rules   []string         // every .gitignore
	seen    int

	ignored int
	skipped []Finding
}

func (w *walk) skip(name, reason string) { w.skipped = append(w.skipped, Finding{name, reason}) }

func (w *walk) folder(dir string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	d, err := w.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrPermission) {
		w.skip(dir, "folder that cannot be read")
		for name, old := range w.tree {
			if !w.folders[dir] {
				break
			}
			if dir == "." || strings.HasPrefix(name, dir+"/") {
				w.now[name] = old
			}
		}
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	all, err := d.ReadDir(-1)
	d.Close()
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	if w.seen += len(all); w.seen > maxEntries {
		return sysexit.Errorf(sysexit.Data, "over %d files", maxEntries)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, d := range all {
		if err := w.entry(path.Join(dir, d.Name()), d); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(name string, d fs.DirEntry) error {
	old := w.tree[name]
	if bad := badPath(name); bad != "" && old.id == "" {
		switch {
		case name == ".git": // the worktree's own
		case isDotGit(path.Base(name)):
			w.skip(name, "a repository inside the worktree")
		case d.IsDir() && w.folders[name]:
			return w.folder(name)
		default:
			w.skip(name, bad)
		}
		return nil
	}
	switch {
	case old.mode == modeRepo:
		if d.IsDir() { // empty in our worktrees: its content belongs to another repository
			w.now[name] = old
			if inside, err := fs.ReadDir(w.root.FS(), name); err != nil || len(inside) > 0 {
				w.skip(name, fmt.Sprintf("%d files in a submodule, which is another repository", len(inside)))
			}
			return nil
		}
		return w.file(name, d.Type())
	case d.IsDir():
		return w.folder(name)
	case old.id == "":
		w.fresh = append(w.fresh, fresh{name, d.Type()})
		return nil
	default:
		if path.Base(name) == ".gitignore" && d.Type().IsRegular() {
			w.rules = append(w.rules, name)
		}
		return w.file(name, d.Type())
	}
}

// file reads a file and, if it is new or changed, stores it for the patch.
func (w *walk) file(name string, kind fs.FileMode) error {
	switch {
	case kind == fs.ModeSymlink:
		to, err := w.root.Readlink(name)
		if err != nil {
			return sysexit.With(sysexit.IO, err)
		}
		return w.keep(name, modeLink, []byte(to))
	case !kind.IsRegular():
		w.skip(name, "not a file: "+kind.String())
		return nil
	}
	f, err := w.open(name)
	if errors.Is(err, fs.ErrPermission) {
		w.now[name] = w.tree[name]
		w.skip(name, "file that cannot be read")
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return sysexit.Errorf(sysexit.IO, "%q: changed while it was read", name)
	}
	mode := modeFile
	if info.Mode()&0o100 != 0 {
		mode = modeExec
	}
	return w.contents(name, mode, f, info.Size())
}

func (w *walk) open(name string) (*os.File, error) {
	return w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

// contents hashes before it stores: most files are unchanged, and large ones are then not read
// into memory. A large file of another size than the recorded one is not read at all: it may be sparse, and
// have more bytes than could ever be read.
func (w *walk) contents(name, mode string, f *os.File, size int64) error {
	if size > MaxFile {
		if old, err := w.size(w.tree[name]); err != nil || old != size {
			w.tooLarge(name, size)
			return err
		}
	}
	id, n, err := blobID(newHash(w.format), size, io.LimitReader(f, size+1))
	if err != nil || n != size {
		return sysexit.With(sysexit.IO, errors.Join(fmt.Errorf("%q: changed while it was read", name), err))
	}
	if id == w.tree[name].id {
		w.now[name] = entry{mode, id}
		return nil
	}
	if size > MaxFile {
		w.tooLarge(name, size)
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, size))
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	return w.keep(name, mode, data)
}

func (w *walk) tooLarge(name string, size int64) {
	w.now[name] = w.tree[name]
	w.skip(name, fmt.Sprintf("%d bytes, over %d", size, MaxFile))
}

// size returns the size of a recorded file, -1 if there is none.
func (w *walk) size(of entry) (int64, error) {
	if of.id == "" || of.mode == modeRepo {
		return -1, nil
	}
	text, err := w.shadow.line(w.ctx, nil, "cat-file", "-s", of.id)
	if err != nil {
		return -1, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// keep records an entry and stores its content among the shadow's objects.
func (w *walk) keep(name, mode string, data []byte) error {
	id, err := w.shadow.store(w.format, data, w.tree[name].id)
	w.now[name] = entry{mode, id}
	return err
}

func newHash(format string) hash.Hash {
	if format == "sha256" {
		return sha256.New()
	}
	return sha1.New() // git's object id; it is not relied on for security
}

// blobID returns git's id of a content of that size, and how many bytes of it were read.
func blobID(h hash.Hash, size int64, content io.Reader) (id string, n int64, err error) {
	fmt.Fprintf(h, "blob %d\x00", size)
	n, err = io.Copy(h, content)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// store writes a blob (gitformat-loose), unless its id is known.
func (s *shadow) store(format string, data []byte, known string) (string, error) {
	id, _, _ := blobID(newHash(format), int64(len(data)), bytes.NewReader(data)) // neither fails
	file := filepath.Join(s.objects, id[:2], id[2:])
	if _, err := os.Lstat(file); id == known || err == nil {
		return id, nil
	}
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err != nil {
		return "", err
	}
	_, e1 := fmt.Fprintf(z, "blob %d\x00", len(data))
	_, e2 := z.Write(data)
	err = errors.Join(e1, e2, z.Close(), os.MkdirAll(filepath.Dir(file), 0o700))
	if err == nil {
		err = os.WriteFile(file, b.Bytes(), 0o400)
	}
	return id, sysexit.With(sysexit.IO, err)
}

// patch makes git write the difference of two trees; git reads no file of the worktree.
func (w *walk) patch(base string) ([]byte, error) {
	var changes strings.Builder
	count := 0
	for name, old := range w.tree { // deletions first, so that a folder can replace a file
		// A submodule's folder is empty here, and not a deletion.
		if _, still := w.now[name]; !still && old.mode != modeRepo {
			count++
			fmt.Fprintf(&changes, "0 %s\t%s\x00", strings.Repeat("0", len(old.id)), name)
		}
	}
	for name, now := range w.now {
		if old := w.tree[name]; old != now && now.id != "" {
			count++
			fmt.Fprintf(&changes, "%s %s\t%s\x00", now.mode, now.id, name)
		}
	}
	if count == 0 {
		return nil, nil
	}
	if count > MaxChanges {
		return nil, sysexit.Errorf(sysexit.Data, "%d files changed, over %d", count, MaxChanges)
	}
	return w.shadow.difference(w.ctx, base, changes.String())
}

// difference returns the patch from a commit to that commit with changes applied, which are lines
// of update-index --index-info.
func (s *shadow) difference(ctx context.Context, base, changes string) ([]byte, error) {
	if _, err := s.git(ctx, nil, "read-tree", base); err != nil {
		return nil, err
	}
	if _, err := s.git(ctx, strings.NewReader(changes), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	tree, err := s.line(ctx, nil, "write-tree")
	if err != nil {
		return nil, err
	}
	return git(ctx, call{dir: s.dir, env: s.env, max: MaxPatch,
		args: []string{"diff-tree", "-r", "--patch", "--binary", "--full-index", "--no-renames",
			"--no-color", "--no-textconv", "--no-ext-diff", "--unified=3", "--src-prefix=a/",
			"--dst-prefix=b/",
			"--end-of-options", base, tree}})
}
