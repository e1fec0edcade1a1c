package codesearch

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"tri/lib/base/durable"
	"tri/lib/base/text"
)

// Where indexes are kept, and how many.
const (
	folder  = "index"   // in the home
	most    = 16        // indexes; the one written longest ago is removed first
	worthIt = 512 << 10 // bytes of text; a smaller index is made as fast as it is read
)

// Keep makes the index persist on disk in home, so that the next process need not read everything. A file
// that is damaged or of another version is rebuilt. If the index cannot be kept, only time is lost.
func (x *Index) Keep(home *durable.Home) {
	x.mu.Lock()
	defer x.mu.Unlock()
	dir, err := filepath.Abs(x.root.Name())
	if err != nil {
		return
	}
	x.home, x.name = home, path.Join(folder, text.SHA256(dir)[:32])
}

// load reads the index from disk, if there is one.
func (x *Index) load() {
	if x.home == nil {
		return
	}
	info, err := x.home.Root().Lstat(x.name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 2*MaxBytes {
		return
	}
	b, err := x.home.ReadFile(x.name)
	if err != nil {
		return
	}
	s, err := decode(b)
	if err != nil {
		return
	}
	x.base = s
	for _, f := range s.files {
		x.known[f.path] = file{entry: f}
	}
}

// save writes the index to disk atomically.
func (x *Index) save() {
	if x.home == nil || x.base.bytes < worthIt || x.fault != nil {
		return
	}
	if err := x.home.Replace(x.name, x.base.encode()); err != nil {
		return // read only, or full: the next process reads the files again
	}
	x.prune()
}

// prune removes old indexes beyond most.
func (x *Index) prune() {
	names, err := x.home.List(folder)
	if err != nil || len(names) <= most {
		return
	}
	written := func(name string) int64 {
		info, err := x.home.Root().Lstat(path.Join(folder, name))
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(names, func(a, b string) int { return int(min(1, max(-1, written(a)-written(b)))) })
	for _, name := range names[:len(names)-most] {
		if err := x.home.Remove(path.Join(folder, name)); err != nil && !os.IsNotExist(err) {
			return
		}
	}
}
